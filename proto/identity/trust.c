/* SPDX-License-Identifier: Apache-2.0 */
#include "trust.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "certificate.h"

enum {
	AUTH_LEVEL = 2, /* 112 bits: RSA of 2,048, no SHA-1; Debian's TLS demands the same */
	NAMES_LEN = 160,
};

struct trust {
	X509_STORE *store;
	const char *name;
};

void trust_close(struct trust *t)
{
	if (!t)
		return;
	X509_STORE_free(t->store);
	free(t);
}

int trust_open(struct trust **ret, const char *ca, const char *name, struct err *err)
{
	_cleanup_(certificate_list_free) STACK_OF(X509) *list = NULL;
	_cleanup_(trust_closep) struct trust *t = calloc(1, sizeof(*t));
	int rc = t ? certificate_list_parse(&list, ca, err) : err_no_memory(err);

	if (rc)
		return rc;
	t->name = name;
	t->store = X509_STORE_new();
	if (!t->store)
		return err_no_memory(err);
	for (int i = 0; i < sk_X509_num(list); i++)
		if (!X509_STORE_add_cert(t->store, sk_X509_value(list, i)))
			return err_no_memory(err);
	/* An intermediate CA in the file is trusted like the one above it. */
	X509_STORE_set_flags(t->store, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
	*ret = TAKE_PTR(t);
	return 0;
}

static int refuse_certificate(const struct trust *t, X509_STORE_CTX *ctx, enum trust_use use,
			      struct err *err)
{
	const int why = X509_STORE_CTX_get_error(ctx);
	const X509 *at = X509_STORE_CTX_get_current_cert(ctx);
	char subject[CERTIFICATE_NAME_LEN] = "?", issuer[CERTIFICATE_NAME_LEN] = "?";

	if (at) {
		certificate_subject(at, subject);
		certificate_issuer(at, issuer);
	}
	switch (why) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
	case X509_V_ERR_CERT_NOT_YET_VALID:
		if (at && certificate_check_dates(at, err))
			return ERR_DENIED;
		break;
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
		return err_set(err, ERR_DENIED,
			       "the certificate of %s is of no CA in %s (its issuer is %s)",
			       subject, t->name, issuer);
	case X509_V_ERR_INVALID_PURPOSE:
		return err_set(err, ERR_DENIED,
			       "the certificate of %s is not for %s (extended key usage)", subject,
			       use == TRUST_SERVER ? "servers" : "clients");
	default:
		break;
	}
	return err_set(err, ERR_DENIED, "the certificate of %s: %s", subject,
		       X509_verify_cert_error_string(why));
}

static int check_host(const X509 *leaf, const char *host, struct err *err)
{
	char subject[CERTIFICATE_NAME_LEN], names[NAMES_LEN];
	union {
		const X509 *in;
		X509 *out;
	} x = {leaf}; /* OpenSSL reads only; its functions lack the const */
	uint8_t address[16];
	bool is_address =
		inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;

	if (is_address ? X509_check_ip_asc(x.out, host, 0) == 1
		       : X509_check_host(x.out, host, 0,
					 X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
						 X509_CHECK_FLAG_NEVER_CHECK_SUBJECT,
					 NULL) == 1)
		return 0;
	certificate_subject(leaf, subject);
	certificate_names(leaf, names, sizeof(names));
	return err_set(err, ERR_DENIED,
		       "the certificate of %s is not for %s (its alternative names: %s)", subject,
		       host, names);
}

static int verify_chain(const struct trust *t, X509 *leaf, STACK_OF(X509) * chain,
			enum trust_use use, struct err *err)
{
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	int rc = 0;

	if (!ctx || !X509_STORE_CTX_init(ctx, t->store, leaf, chain)) {
		rc = err_no_memory(err);
	} else {
		X509_STORE_CTX_set_purpose(ctx, use == TRUST_SERVER ? X509_PURPOSE_SSL_SERVER
								    : X509_PURPOSE_SSL_CLIENT);
		X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(ctx), AUTH_LEVEL);
		if (X509_verify_cert(ctx) != 1)
			rc = refuse_certificate(t, ctx, use, err);
	}
	X509_STORE_CTX_free(ctx);
	ERR_clear_error();
	return rc;
}

int trust_check(const struct trust *t, const struct trust_shown *shown, enum trust_use use,
		const char *host, int64_t *ret_end, struct err *err)
{
	_cleanup_(certificate_list_free) STACK_OF(X509) *leaf = NULL;
	_cleanup_(certificate_list_free) STACK_OF(X509) *chain = NULL;
	int rc = certificate_list_parse(&leaf, shown->leaf, err);

	if (!rc && shown->chain && shown->chain[0])
		rc = certificate_list_parse(&chain, shown->chain, err);
	if (rc)
		return err_prefix(err, "the peer's certificate");
	TRY(verify_chain(t, sk_X509_value(leaf, 0), chain, use, err));
	if (host)
		TRY(check_host(sk_X509_value(leaf, 0), host, err));
	if (ret_end)
		*ret_end = certificate_end(sk_X509_value(leaf, 0));
	return 0;
}
