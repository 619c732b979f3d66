/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CERTIFICATE_H
#define RAWSTACK_CERTIFICATE_H
/* Parses certificates (X.509, RFC 5280) in PEM texts and describes them for people. Internal to
 * proto/identity: the rest of the tree sees no type of OpenSSL. Safe from any thread. */
#include <openssl/x509.h>

#include "base.h"
#include "err.h"

/* The most certificates of one text: a chain has two or three, and a distribution has 150 CAs. */
#define CERTIFICATES_MAX 512

/* Parses all certificates of a text that ends in NUL; free them with certificate_list_free().
 * Returns ERR_DATA if one does not parse (the file may be truncated) or there is none, or
 * ERR_LIMIT. */
int certificate_list_parse(STACK_OF(X509) * *ret, const char *pem, struct err *err) _must_check_;

static inline void certificate_list_free(STACK_OF(X509) * *list)
{
	sk_X509_pop_free(*list, X509_free);
}

#define CERTIFICATE_NAME_LEN 128
#define CERTIFICATE_DATE_LEN 32

/* Writes the subject, or the issuer, as "CN=a,O=b" (RFC 2253), cut. A subject without names gives
 * its first alternative name, or "no name". */
void certificate_subject(const X509 *certificate, char to[static CERTIFICATE_NAME_LEN]);
void certificate_issuer(const X509 *certificate, char to[static CERTIFICATE_NAME_LEN]);

/* Writes a date as "2026-01-31 12:00:00 UTC". */
void certificate_date(const ASN1_TIME *time, char to[static CERTIFICATE_DATE_LEN]);

/* Writes the alternative names as "DNS:a, IP:127.0.0.1", cut, or "none". */
void certificate_names(const X509 *certificate, char *to, size_t len);

/* Checks that now is between its dates. Returns 0, or ERR_DENIED with the date at fault. */
int certificate_check_dates(const X509 *certificate, struct err *err) _must_check_;

/* Return the times from which and until which it is valid, in seconds since 1970. */
int64_t certificate_begin(const X509 *certificate);
int64_t certificate_end(const X509 *certificate);

#endif
