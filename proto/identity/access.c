/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "certificate.h"
#include "file_stamp.h"
#include "io.h"
#include "limits.h"
#include "log.h"
#include "tls_files.h"
#include "tokens.h"
#include "trust.h"

enum {
	KEPT = 1024, /* verdicts that are kept, a power of two */
	NAME_MAX_LEN = 1024,
	FILES = 3,
};

static const uint64_t LOOK_NS = UINT64_C(1000000000);     /* between two looks at the files */
static const uint64_t REFUSED_NS = UINT64_C(10000000000); /* how long a refusal is kept */

/* The verdict on one certificate. */
struct kept_verdict {
	uint8_t digest[SHA256_DIGEST_LENGTH];
	uint64_t until_ns; /* CLOCK_REALTIME: until it expires, or is to be judged again; 0: free */
	int code;
	struct access_verdict verdict;
	char message[ERR_MESSAGE_MAX];
};

struct access {
	struct access_config config;
	pthread_mutex_t lock; /* guards the members below */
	struct trust *trust;
	struct roles *roles;
	struct tokens *tokens;
	struct file_stamp stamps[FILES];
	uint64_t looked_ns;
	struct kept_verdict *kept;
};

static void take_access_stamps(const struct access_config *c, struct file_stamp to[static FILES])
{
	to[0] = file_stamp_of(c->client_ca);
	to[1] = file_stamp_of(c->roles);
	to[2] = file_stamp_of(c->tokens);
}

static int read_trust(struct trust **ret, const char *path, struct err *err)
{
	struct tls_texts texts = {0};
	int rc = tls_texts_read(&texts, &(struct tls_files){.ca = path}, err);

	if (!rc)
		rc = trust_open(ret, texts.ca, path, err);
	tls_texts_done(&texts);
	return rc;
}

/* Reads the files. Their content is exchanged only if all of them can be read. */
static int read_access(struct access *a, struct err *err)
{
	_cleanup_(trust_closep) struct trust *trust = NULL;
	_cleanup_(roles_freep) struct roles *roles = NULL;
	_cleanup_(tokens_freep) struct tokens *tokens = NULL;
	const struct access_config *c = &a->config;
	int rc;

	take_access_stamps(c, a->stamps);
	if ((rc = c->client_ca ? read_trust(&trust, c->client_ca, err) : 0) ||
	    (rc = c->roles ? roles_read(&roles, c->roles, err) : 0) ||
	    (rc = c->tokens ? tokens_read(&tokens, c->tokens, err) : 0))
		return rc;
	trust_close(a->trust);
	roles_free(a->roles);
	tokens_free(a->tokens);
	a->trust = TAKE_PTR(trust);
	a->roles = TAKE_PTR(roles);
	a->tokens = TAKE_PTR(tokens);
	memset(a->kept, 0, KEPT * sizeof(*a->kept));
	return 0;
}

void access_tell_open_files(const struct access *a)
{
	file_tell_open_to_write(a->config.client_ca);
	file_tell_open_to_write(a->config.roles);
	if (a->tokens && tokens_has_plain(a->tokens))
		file_tell_open_secret(a->config.tokens);
	else
		file_tell_open_to_write(a->config.tokens);
}

int access_open(struct access **ret, const struct access_config *config, struct err *err)
{
	_cleanup_(access_closep) struct access *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return err_no_memory(err);
	a->config = *config;
	pthread_mutex_init(&a->lock, NULL);
	a->kept = calloc(KEPT, sizeof(*a->kept));
	a->looked_ns = io_mono_ns();
	rc = a->kept ? read_access(a, err) : err_no_memory(err);
	if (!rc)
		*ret = TAKE_PTR(a);
	return rc;
}

void access_close(struct access *a)
{
	if (!a)
		return;
	trust_close(a->trust);
	roles_free(a->roles);
	tokens_free(a->tokens);
	free(a->kept);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

int access_reload(struct access *a, struct err *err)
{
	int rc;

	pthread_mutex_lock(&a->lock);
	rc = read_access(a, err);
	if (!rc)
		access_tell_open_files(a);
	pthread_mutex_unlock(&a->lock);
	return rc;
}

/* Reads the files again if one has changed. The caller holds the lock. */
static void look_at_access(struct access *a)
{
	struct file_stamp now[FILES];
	bool same = true;
	struct err err;

	if (io_mono_ns() - a->looked_ns < LOOK_NS)
		return;
	a->looked_ns = io_mono_ns();
	take_access_stamps(&a->config, now);
	for (size_t i = 0; i < FILES; i++)
		same = same && file_stamp_same(&now[i], &a->stamps[i]);
	if (same)
		return;
	if (read_access(a, &err))
		log_warn("%s; what was there before stays", err.message);
	else
		access_tell_open_files(a);
}

/* --- certificates ---------------------------------------------------------------------------- */

/* Copies an alternative name as "DNS:a", or as the URI itself. Returns false if it is of another
 * kind, has zero bytes in it, or is too long. */
static bool copy_san(const GENERAL_NAME *name, char to[static NAME_MAX_LEN], bool *ret_is_uri)
{
	int type, len;
	const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &type);

	if (type != GEN_DNS && type != GEN_URI)
		return false;
	*ret_is_uri = type == GEN_URI;
	len = ASN1_STRING_length(value);
	if (len <= 0 || memchr(ASN1_STRING_get0_data(value), 0, (size_t)len))
		return false;
	return snprintf(to, NAME_MAX_LEN, "%s%.*s", *ret_is_uri ? "" : "DNS:", len,
			ASN1_STRING_get0_data(value)) < NAME_MAX_LEN;
}

/* Sets the name of the client and its key. */
static void name_caller(struct access_verdict *v, const char *name)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];

	SHA256((const uint8_t *)name, strlen(name), digest);
	memcpy(&v->key, digest, sizeof(v->key));
	snprintf(v->who, sizeof(v->who), "%s", name);
}

static void set_quota_of(const struct access *a, const char *name, struct access_verdict *v)
{
	struct roles_quota quota = ROLES_QUOTA_INIT;

	if (a->roles)
		roles_add_quota(a->roles, name, &quota);
	v->quota = quota.limits;
}

static void name_certificate(const struct access *a, const X509 *x, struct access_verdict *ret)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
	char name[NAME_MAX_LEN], subject[CERTIFICATE_NAME_LEN];
	struct roles_quota quota = ROLES_QUOTA_INIT;
	bool is_uri, has_dns = false;
	int uris = 0;

	certificate_subject(x, subject);
	name_caller(ret, subject);
	ret->roles = ROLE_ANONYMOUS;
	if (!a->roles)
		ret->roles |= ROLE_READ | ROLE_WRITE;
	for (int i = 0; i < sk_GENERAL_NAME_num(names); i++)
		uris += copy_san(sk_GENERAL_NAME_value(names, i), name, &is_uri) && is_uri;
	for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
		if (!copy_san(sk_GENERAL_NAME_value(names, i), name, &is_uri) ||
		    (is_uri && uris != 1))
			continue;
		/* The name is the URI, else the first DNS name, else the subject. */
		if (is_uri || (!has_dns && uris != 1))
			name_caller(ret, name);
		has_dns = has_dns || !is_uri;
		if (!a->roles)
			continue;
		ret->roles |= roles_of_name(a->roles, name);
		roles_add_quota(a->roles, name, &quota);
	}
	/* A certificate without names has the quotas of "default". */
	if (a->roles)
		roles_add_quota(a->roles, "", &quota);
	ret->quota = quota.limits;
	GENERAL_NAMES_free(names);
}

/* Fills *k with the verdict on a certificate that was not seen before. The caller holds the lock.
 */
static void judge_certificate(struct access *a, const struct access_shown *shown,
			      struct kept_verdict *k)
{
	_cleanup_(certificate_list_free) STACK_OF(X509) *list = NULL;
	_cleanup_(freep) char *leaf = strndup(shown->leaf, shown->leaf_len);
	_cleanup_(freep) char *chain = strndup(shown->chain ? shown->chain : "", shown->chain_len);
	const uint64_t now = io_system()->real_ns(NULL);
	struct err err;
	int64_t end = 0;

	k->until_ns = now + REFUSED_NS;
	k->verdict = (struct access_verdict){.roles = ROLE_ANONYMOUS, .who = "a certificate"};
	k->code = leaf && chain ? certificate_list_parse(&list, leaf, &err) : err_no_memory(&err);
	if (!k->code) {
		name_certificate(a, sk_X509_value(list, 0), &k->verdict);
		k->code = trust_check(a->trust, &(struct trust_shown){leaf, chain}, TRUST_CLIENT,
				      NULL, &end, &err);
	}
	if (k->code) {
		k->verdict.roles = ROLE_ANONYMOUS;
		k->code = ERR_UNAUTHENTICATED;
		snprintf(k->message, sizeof(k->message), "%s", err.message);
	} else {
		k->until_ns = (uint64_t)end * UINT64_C(1000000000);
	}
}

static int find_certificate(struct access *a, const struct access_shown *shown,
			    struct access_verdict *ret, struct err *err)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	struct kept_verdict *k;
	size_t slot;

	SHA256((const uint8_t *)shown->leaf, shown->leaf_len, digest);
	memcpy(&slot, digest, sizeof(slot));
	k = &a->kept[slot % KEPT];
	if (memcmp(k->digest, digest, sizeof(digest)) != 0 ||
	    k->until_ns <= io_system()->real_ns(NULL)) {
		memcpy(k->digest, digest, sizeof(digest));
		judge_certificate(a, shown, k);
	}
	*ret = k->verdict;
	return k->code ? err_set(err, k->code, "%s", k->message) : 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

static int find_token(struct access *a, const struct access_shown *shown,
		      struct access_verdict *ret, struct err *err)
{
	const char *name;
	char full[128];

	snprintf(ret->who, sizeof(ret->who), "a token");
	if (shown->is_plain && !shown->is_local)
		return err_set(err, ERR_UNAUTHENTICATED,
			       "a token came in plain text: it is known to the network now");
	name = a->tokens ? tokens_find(a->tokens, shown->token) : NULL;
	if (!name)
		return err_set(err, ERR_UNAUTHENTICATED, "the token is not known");
	snprintf(full, sizeof(full), "token:%s", name);
	name_caller(ret, full);
	set_quota_of(a, full, ret);
	ret->roles |= a->roles ? roles_of_name(a->roles, ret->who) : ROLE_READ | ROLE_WRITE;
	return 0;
}

static int judge_locked(struct access *a, const struct access_shown *shown,
			struct access_verdict *ret, struct err *err)
{
	struct access_verdict by_token = {.roles = ROLE_ANONYMOUS};
	bool has_certificate = shown->leaf && a->trust;
	int rc = 0;

	if (has_certificate)
		rc = find_certificate(a, shown, ret, err);
	if (!rc && shown->token) {
		rc = find_token(a, shown, &by_token, err);
		by_token.roles |= ret->roles;
		*ret = by_token;
	}
	if (rc || has_certificate || shown->token)
		return rc;
	if (!shown->is_local && (a->trust || a->tokens) && !shown->is_plain)
		return err_set(err, ERR_UNAUTHENTICATED,
			       "neither a certificate nor a token was shown");
	name_caller(ret, shown->is_local ? "local" : "anonymous");
	set_quota_of(a, ret->who, ret);
	ret->roles |= a->config.local_roles;
	return 0;
}

int access_judge(struct access *a, const struct access_shown *shown, struct access_verdict *ret,
		 struct err *err)
{
	int rc;

	*ret = (struct access_verdict){
		.roles = ROLE_ANONYMOUS, .who = "nobody", .quota = quota_no_limits};
	pthread_mutex_lock(&a->lock);
	look_at_access(a);
	rc = judge_locked(a, shown, ret, err);
	pthread_mutex_unlock(&a->lock);
	if (rc)
		ret->roles = ROLE_ANONYMOUS;
	return rc;
}
