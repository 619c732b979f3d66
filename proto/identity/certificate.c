/* SPDX-License-Identifier: Apache-2.0 */
#include "certificate.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Counts the BEGIN lines of certificates, because PEM_read_bio_X509() skips certificates that it
 * cannot read. */
static size_t count_begins(const char *pem)
{
	static const char begin[] = "-----BEGIN ";
	size_t count = 0;

	for (const char *at = pem; (at = strstr(at, begin)); at += sizeof(begin) - 1) {
		const char *label = at + sizeof(begin) - 1;
		size_t len = strcspn(label, "-\n");
		static const char word[] = "CERTIFICATE";

		if ((at == pem || at[-1] == '\n') && len >= sizeof(word) - 1 &&
		    !memcmp(label + len - (sizeof(word) - 1), word, sizeof(word) - 1))
			count++;
	}
	return count;
}

/* Returns whether the text ends within a line that begins or ends a certificate. */
static bool is_cut(const char *pem)
{
	static const char end[] = "-----END ", dashes[] = "-----";
	const char *line = strrchr(pem, '\n');
	size_t len;

	line = line ? line + 1 : pem;
	len = strlen(line);
	return *line == '-' &&
	       (strncmp(line, end, sizeof(end) - 1) != 0 || len < sizeof(end) + sizeof(dashes) ||
		strcmp(line + len - (sizeof(dashes) - 1), dashes) != 0);
}

/* Adds the certificates that parse. Returns a negative code when memory is out. */
static int read_certificates(STACK_OF(X509) * list, const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *x;

	if (!bio)
		return -1;
	while ((x = PEM_read_bio_X509(bio, NULL, NULL, NULL)))
		if (sk_X509_num(list) >= CERTIFICATES_MAX || !sk_X509_push(list, x)) {
			X509_free(x);
			break;
		}
	BIO_free(bio);
	ERR_clear_error(); /* clears the error that says that there are no more */
	return 0;
}

int certificate_list_parse(STACK_OF(X509) * *ret, const char *pem, struct err *err)
{
	const size_t wanted = count_begins(pem);
	STACK_OF(X509) * list;
	size_t count;

	if (!wanted)
		return err_set(err, ERR_DATA, "no certificate in it (PEM)");
	if (wanted > CERTIFICATES_MAX)
		return err_set(err, ERR_LIMIT, "more than %d certificates in it", CERTIFICATES_MAX);
	list = sk_X509_new_null();
	if (!list || read_certificates(list, pem)) {
		certificate_list_free(&list);
		return err_no_memory(err);
	}
	count = (size_t)sk_X509_num(list);
	if (count != wanted || is_cut(pem)) {
		certificate_list_free(&list);
		return count == wanted
			       ? err_set(err, ERR_DATA, "it ends within a line: is it cut?")
			       : err_set(err, ERR_DATA,
					 "certificate %zu of %zu in it does not parse: is the "
					 "file cut?",
					 count + 1, wanted);
	}
	*ret = list;
	return 0;
}

/* Copies the content of the BIO as text, and frees the BIO. */
static void take_text(BIO *bio, char *to, size_t len)
{
	int got = BIO_read(bio, to, (int)len - 1);

	to[got > 0 ? got : 0] = '\0';
	BIO_free(bio);
}

static void write_distinguished_name(const X509_NAME *name, char to[static CERTIFICATE_NAME_LEN])
{
	BIO *bio = BIO_new(BIO_s_mem());

	to[0] = '\0';
	if (!bio)
		return;
	X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
	take_text(bio, to, CERTIFICATE_NAME_LEN);
}

void certificate_subject(const X509 *certificate, char to[static CERTIFICATE_NAME_LEN])
{
	write_distinguished_name(X509_get_subject_name(certificate), to);
	if (!to[0])
		certificate_names(certificate, to, CERTIFICATE_NAME_LEN);
	if (!strcmp(to, "none"))
		snprintf(to, CERTIFICATE_NAME_LEN, "no name");
}

void certificate_issuer(const X509 *certificate, char to[static CERTIFICATE_NAME_LEN])
{
	write_distinguished_name(X509_get_issuer_name(certificate), to);
}

void certificate_date(const ASN1_TIME *time, char to[static CERTIFICATE_DATE_LEN])
{
	struct tm tm;

	if (!ASN1_TIME_to_tm(time, &tm) ||
	    !strftime(to, CERTIFICATE_DATE_LEN, "%Y-%m-%d %H:%M:%S UTC", &tm))
		snprintf(to, CERTIFICATE_DATE_LEN, "no date");
}

/* Writes one name as text. Returns 0 for kinds that are not shown. */
static int name_text(const GENERAL_NAME *name, char *to, size_t len)
{
	int type;
	const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &type);
	const int value_len = ASN1_STRING_length(value);
	char address[INET6_ADDRSTRLEN];

	if (type == GEN_DNS || type == GEN_URI)
		return snprintf(to, len, "%s:%.*s", type == GEN_DNS ? "DNS" : "URI", value_len,
				ASN1_STRING_get0_data(value));
	if (type == GEN_IPADD && (value_len == 4 || value_len == 16) &&
	    inet_ntop(value_len == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(value), address,
		      sizeof(address)))
		return snprintf(to, len, "IP:%s", address);
	return 0;
}

void certificate_names(const X509 *certificate, char *to, size_t len)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	size_t at = 0;

	to[0] = '\0';
	for (int i = 0; i < sk_GENERAL_NAME_num(names) && at + 3 < len; i++) {
		size_t comma = at ? 2 : 0;
		int n = name_text(sk_GENERAL_NAME_value(names, i), to + at + comma,
				  len - at - comma);

		if (n <= 0) {
			to[at] = '\0';
			continue;
		}
		if (comma)
			memcpy(to + at, ", ", 2);
		at += comma + (size_t)n;
	}
	if (!to[0])
		snprintf(to, len, "none");
	GENERAL_NAMES_free(names);
}

int certificate_check_dates(const X509 *certificate, struct err *err)
{
	char subject[CERTIFICATE_NAME_LEN], date[CERTIFICATE_DATE_LEN];
	const ASN1_TIME *begin = X509_get0_notBefore(certificate);
	const ASN1_TIME *end = X509_get0_notAfter(certificate);

	certificate_subject(certificate, subject);
	if (X509_cmp_current_time(end) <= 0) {
		certificate_date(end, date);
		return err_set(err, ERR_DENIED, "the certificate of %s expired on %s", subject,
			       date);
	}
	if (X509_cmp_current_time(begin) >= 0) {
		certificate_date(begin, date);
		return err_set(err, ERR_DENIED, "the certificate of %s is not valid before %s",
			       subject, date);
	}
	return 0;
}

static int64_t seconds_of_time(const ASN1_TIME *time)
{
	struct tm tm;

	return ASN1_TIME_to_tm(time, &tm) ? (int64_t)timegm(&tm) : 0;
}

int64_t certificate_begin(const X509 *certificate)
{
	return seconds_of_time(X509_get0_notBefore(certificate));
}

int64_t certificate_end(const X509 *certificate)
{
	return seconds_of_time(X509_get0_notAfter(certificate));
}
