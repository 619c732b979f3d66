/* SPDX-License-Identifier: Apache-2.0 */
/* Files of certificates: cut at each byte, exchanged, not fitting together. Certificates are made
 * here, so that their dates are near. */
#include <errno.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io.h"
#include "tls_expiry.h"
#include "tls_files.h"
#include "token.h"
#include "trust.h"

struct made {
	X509 *x;
	EVP_PKEY *key;
	char *cert_text, *key_text;
};

static char *take_bio_text(BIO *bio)
{
	char *bytes, *text;
	long len = BIO_get_mem_data(bio, &bytes);

	text = strndup(bytes, (size_t)len);
	BIO_free(bio);
	return text;
}

static void add_extension(X509 *x, int nid, const char *value)
{
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	assert_non_null(e);
	X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
}

/* ca NULL: it signs itself. Valid from `begin` to `end`, in seconds from now. Takes the key. */
static struct made make_signed(const char *name, const struct made *ca, long begin, long end,
			       const char *names, EVP_PKEY *own_key, const EVP_MD *digest)
{
	struct made m = {X509_new(), own_key, NULL, NULL};
	BIO *cert = BIO_new(BIO_s_mem()), *key = BIO_new(BIO_s_mem());
	X509_NAME *subject = X509_get_subject_name(m.x);

	X509_set_version(m.x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(m.x), 1);
	X509_gmtime_adj(X509_getm_notBefore(m.x), begin);
	X509_gmtime_adj(X509_getm_notAfter(m.x), end);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const uint8_t *)name, -1, -1, 0);
	X509_set_issuer_name(m.x, ca ? X509_get_subject_name(ca->x) : subject);
	X509_set_pubkey(m.x, m.key);
	if (!ca)
		add_extension(m.x, NID_basic_constraints, "critical,CA:TRUE");
	if (names)
		add_extension(m.x, NID_subject_alt_name, names);
	assert_true(X509_sign(m.x, ca ? ca->key : m.key, digest) > 0);
	PEM_write_bio_X509(cert, m.x);
	PEM_write_bio_PKCS8PrivateKey(key, m.key, NULL, NULL, 0, NULL, NULL);
	m.cert_text = take_bio_text(cert);
	m.key_text = take_bio_text(key);
	return m;
}

static struct made make_certificate(const char *name, const struct made *ca, long begin, long end,
				    const char *names)
{
	return make_signed(name, ca, begin, end, names, EVP_EC_gen("P-256"), EVP_sha256());
}

static void free_made(struct made *m)
{
	X509_free(m->x);
	EVP_PKEY_free(m->key);
	free(m->cert_text);
	free(m->key_text);
}

static void write_text(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static const struct tls_files files = {"cert", "key", "ca"};

static int read_all(struct err *err)
{
	struct tls_texts texts = {0};
	int rc = tls_texts_read(&texts, &files, err);

	tls_texts_done(&texts);
	return rc;
}

/* Whatever is missing at the end of one of them is an error, but for the line end behind it. */
static void test_cut(void **state _unused_)
{
	struct made ca = make_certificate("ca", NULL, -60, 3600, NULL);
	struct made leaf = make_certificate("leaf", &ca, -60, 3600, "DNS:a");
	char chain[8192];
	const struct {
		const char *path, *text;
	} rows[] = {{"ca", ca.cert_text}, {"key", leaf.key_text}, {"cert", chain}};
	struct err err;

	snprintf(chain, sizeof(chain), "%s%s", leaf.cert_text, ca.cert_text);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		write_text(rows[i].path, rows[i].text, strlen(rows[i].text));
	assert_int_equal(read_all(&err), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const size_t len = strlen(rows[i].text);

		for (size_t n = 0; n + 1 < len; n += rows[i].text[n] == '-' ? 1 : 5) {
			write_text(rows[i].path, rows[i].text, n);
			/* A chain may end behind its first certificate: then it is another. */
			if (i == 2 &&
			    (n == strlen(leaf.cert_text) - 1 || n == strlen(leaf.cert_text)))
				continue;
			if (!read_all(&err))
				fail_msg("%s of %zu of %zu bytes is taken", rows[i].path, n, len);
			assert_non_null(strstr(err.message, rows[i].path));
		}
		write_text(rows[i].path, rows[i].text, len);
	}
	assert_int_equal(read_all(&err), 0);
	free_made(&leaf);
	free_made(&ca);
}

static void test_refused(void **state _unused_)
{
	struct made ca = make_certificate("ca", NULL, -60, 3600, NULL);
	struct made leaf = make_certificate("leaf", &ca, -60, 3600, NULL);
	struct made late = make_certificate("late", &ca, -60, -30, NULL);
	struct made early = make_certificate("early", &ca, 3600, 7200, NULL);
	const struct {
		const char *cert, *key, *ca;
		int code;
		const char *text;
	} rows[] = {
		{leaf.cert_text, leaf.key_text, ca.cert_text, 0, ""},
		{leaf.cert_text, late.key_text, ca.cert_text, ERR_MISMATCH,
		 "key is not the key of"},
		{late.cert_text, late.key_text, ca.cert_text, ERR_DENIED,
		 "cert: the certificate of CN=late expired"},
		{early.cert_text, early.key_text, ca.cert_text, ERR_DENIED,
		 "CN=early is not valid before"},
		{leaf.key_text, leaf.key_text, ca.cert_text, ERR_DATA,
		 "cert: no certificate in it"},
		{leaf.cert_text, leaf.cert_text, ca.cert_text, ERR_DATA,
		 "key: no private key in it"},
		{leaf.cert_text, leaf.key_text, "nothing", ERR_DATA, "ca: no certificate in it"},
	};
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		err.message[0] = 0;
		write_text("cert", rows[i].cert, strlen(rows[i].cert));
		write_text("key", rows[i].key, strlen(rows[i].key));
		write_text("ca", rows[i].ca, strlen(rows[i].ca));
		assert_int_equal(read_all(&err), rows[i].code);
		if (!strstr(err.message, rows[i].text))
			fail_msg("row %zu: %s", i, err.message);
	}
	write_text("ca", "a\0b", 3);
	assert_int_equal(read_all(&err), ERR_DATA);
	assert_int_equal(
		tls_texts_read(&(struct tls_texts){0}, &(struct tls_files){.cert = "cert"}, &err),
		ERR_USAGE);
	free_made(&ca);
	free_made(&leaf);
	free_made(&late);
	free_made(&early);
}

/* What OpenSSL would refuse in each handshake is refused when the files are read. */
static void test_weak(void **state _unused_)
{
	struct made ca = make_certificate("ca", NULL, -60, 3600, NULL);
	struct made leaf = make_certificate("leaf", &ca, -60, 3600, NULL);
	struct made strong =
		make_signed("strong", &ca, -60, 3600, NULL, EVP_RSA_gen(2048), EVP_sha256());
	struct made weak =
		make_signed("weak", &ca, -60, 3600, NULL, EVP_RSA_gen(1024), EVP_sha256());
	struct made sha1 =
		make_signed("sha1", &ca, -60, 3600, NULL, EVP_EC_gen("P-256"), EVP_sha1());
	char longest[12 * 2048] = "", chain[4096];
	const struct {
		const char *cert, *key;
		int code;
		const char *text;
	} rows[] = {
		{leaf.cert_text, leaf.key_text, 0, ""},
		{strong.cert_text, strong.key_text, 0, ""},
		{weak.cert_text, weak.key_text, ERR_UNSUPPORTED,
		 "cert: certificate 1 in it is refused by OpenSSL (security level 2): ee key too "
		 "small"},
		{sha1.cert_text, sha1.key_text, ERR_UNSUPPORTED, "ca md too weak"},
		{chain, leaf.key_text, ERR_UNSUPPORTED, "cert: certificate 2 in it is refused"},
		{longest, leaf.key_text, 0, ""},
	};
	struct err err;

	snprintf(chain, sizeof(chain), "%s%s", leaf.cert_text, weak.cert_text);
	for (int i = 0; i < 11; i++)
		strcat(longest, i ? ca.cert_text : leaf.cert_text);
	write_text("ca", ca.cert_text, strlen(ca.cert_text));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		err.message[0] = 0;
		write_text("cert", rows[i].cert, strlen(rows[i].cert));
		write_text("key", rows[i].key, strlen(rows[i].key));
		if (read_all(&err) != rows[i].code || !strstr(err.message, rows[i].text))
			fail_msg("row %zu: %s", i, err.message);
	}
	strcat(longest, ca.cert_text);
	write_text("cert", longest, strlen(longest));
	assert_int_equal(read_all(&err), ERR_LIMIT);
	assert_non_null(strstr(err.message, "cert: 12 certificates: at most 10 may follow"));
	free_made(&ca);
	free_made(&leaf);
	free_made(&strong);
	free_made(&weak);
	free_made(&sha1);
}

/* A warning comes when the certificate is taken, then once a day, and only near its end. */
static void test_expiry(void **state _unused_)
{
	enum {
		DAY = 86400
	};
	static const uint64_t day_ns = UINT64_C(86400000000000);
	struct made ca = make_certificate("ca", NULL, -60, 3600L * 24 * 365, NULL);
	struct made leaf = make_certificate("leaf", &ca, -60, 90L * DAY - 60, NULL);
	struct made brief = make_certificate("brief", &ca, -60, 3540, NULL);
	const int64_t now = (int64_t)(io_system()->real_ns(NULL) / UINT64_C(1000000000));
	struct tls_texts texts = {.cert = leaf.cert_text};
	struct tls_expiry e;
	char text[512];

	tls_expiry_init(&e);
	assert_false(tls_expiry_is_due(&e, now, 1, text, sizeof(text)));
	assert_int_equal(tls_expiry_end(&e), 0);
	tls_expiry_take(&e, &texts, "x.pem");
	assert_true(llabs(tls_expiry_end(&e) - (now + 90L * DAY - 60)) < 600);
	assert_false(tls_expiry_is_due(&e, now + 75L * DAY, 1, text, sizeof(text)));
	/* It is looked at again within the day. */
	assert_true(tls_expiry_is_due(&e, now + 77L * DAY, day_ns, text, sizeof(text)));
	assert_non_null(
		strstr(text, "the certificate of CN=leaf in x.pem expires in 12 days and "));
	assert_false(tls_expiry_is_due(&e, now + 77L * DAY, 2 * day_ns - 1, text, sizeof(text)));
	assert_true(tls_expiry_is_due(&e, now + 91L * DAY, 2 * day_ns, text, sizeof(text)));
	assert_non_null(strstr(text, "CN=leaf in x.pem expired on "));
	texts.cert = brief.cert_text;
	tls_expiry_take(&e, &texts, "x.pem");
	assert_false(tls_expiry_is_due(&e, now + 1200, 1, text, sizeof(text)));
	assert_true(tls_expiry_is_due(&e, now + 3000, day_ns, text, sizeof(text)));
	/* A new one ends the warnings, and one that is near its end begins them at once. */
	texts.cert = leaf.cert_text;
	tls_expiry_take(&e, &texts, "x.pem");
	assert_false(tls_expiry_is_due(&e, now, day_ns + 1, text, sizeof(text)));
	tls_expiry_take(&e, &texts, "x.pem");
	assert_true(tls_expiry_is_due(&e, now + 80L * DAY, day_ns + 2, text, sizeof(text)));
	tls_expiry_done(&e);
	free_made(&ca);
	free_made(&leaf);
	free_made(&brief);
}

/* A watch keeps what it has until something better comes, and tells each change once. */
static void test_watch(void **state _unused_)
{
	struct made ca = make_certificate("ca", NULL, -60, 3600, NULL);
	struct made a = make_certificate("a", &ca, -60, 3600, NULL);
	struct made b = make_certificate("b", &ca, -60, 3600, NULL);
	struct tls_texts texts = {0};
	struct tls_watch *w = NULL;
	uint64_t version;
	char text[256];
	struct err err;

	write_text("ca", ca.cert_text, strlen(ca.cert_text));
	write_text("cert", a.cert_text, strlen(a.cert_text));
	write_text("key", a.key_text, strlen(a.key_text));
	assert_int_equal(tls_watch_open(&w, &files, &err), 0);
	assert_int_equal(tls_watch_version(w), 1);
	assert_int_equal(tls_watch_look(w, false, &err), 0);
	write_text("cert", b.cert_text, strlen(b.cert_text));
	assert_int_equal(tls_watch_look(w, true, &err), ERR_MISMATCH);
	assert_int_equal(tls_watch_version(w), 1);
	assert_int_equal(tls_watch_look(w, false, &err), 0); /* told already */
	write_text("key", b.key_text, strlen(b.key_text));
	assert_int_equal(tls_watch_look(w, true, &err), 1);
	assert_int_equal(tls_watch_version(w), 2);
	assert_int_equal(tls_watch_texts(w, &texts, &version, &err), 0);
	assert_int_equal(version, 2);
	assert_string_equal(texts.cert, b.cert_text);
	tls_texts_describe(&texts, text, sizeof(text));
	assert_non_null(strstr(text, "CN=b, valid until "));
	tls_texts_done(&texts);
	tls_watch_close(w);
	free_made(&ca);
	free_made(&a);
	free_made(&b);
}

static void test_trust(void **state _unused_)
{
	struct made ca = make_certificate("ca", NULL, -60, 3600, NULL);
	struct made other = make_certificate("other", NULL, -60, 3600, NULL);
	struct made leaf = make_certificate("leaf", &ca, -60, 3600, "DNS:a.example,IP:127.0.0.1");
	struct made late = make_certificate("late", &ca, -60, -30, "DNS:a.example");
	struct made alien = make_certificate("alien", &other, -60, 3600, "DNS:a.example");
	const struct {
		const char *shown, *host, *text; /* NULL: it is believed */
	} rows[] = {
		{leaf.cert_text, NULL, NULL},
		{leaf.cert_text, "a.example", NULL},
		{leaf.cert_text, "127.0.0.1", NULL},
		{leaf.cert_text, "b.example",
		 "CN=leaf is not for b.example (its alternative names: "
		 "DNS:a.example, IP:127.0.0.1)"},
		{leaf.cert_text, "127.0.0.2", "not for 127.0.0.2"},
		{leaf.cert_text, "leaf", "not for leaf"}, /* the common name is none */
		{late.cert_text, "a.example", "CN=late expired on"},
		{alien.cert_text, "a.example",
		 "CN=alien is of no CA in cas (its issuer is CN=other)"},
		{"", NULL, "no certificate in it"},
	};
	struct trust *t = NULL;
	int64_t end = 0;
	struct err err;

	assert_int_equal(trust_open(&t, ca.cert_text, "cas", &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct trust_shown shown = {rows[i].shown, NULL};
		int rc = trust_check(t, &shown, TRUST_SERVER, rows[i].host, &end, &err);

		if (!rc != !rows[i].text || (rc && !strstr(err.message, rows[i].text)))
			fail_msg("row %zu: %d %s", i, rc, rc ? err.message : "");
	}
	assert_true(end * INT64_C(1000000000) > (int64_t)io_system()->real_ns(NULL));
	trust_close(t);
	assert_int_equal(trust_open(&t, "nothing", "cas", &err), ERR_DATA);
	free_made(&ca);
	free_made(&other);
	free_made(&leaf);
	free_made(&late);
	free_made(&alien);
}

static void test_token(void **state _unused_)
{
	static const struct {
		const char *bytes, *token; /* NULL: refused */
	} rows[] = {{"abc", "abc"}, {"abc\n", "abc"}, {"abc\r\n", "abc"}, {"", NULL},
		    {"\n", NULL},   {"a b\n", NULL},  {"a\nb\n", NULL},   {"\303\244", NULL}};
	char *token = NULL;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		write_text("token", rows[i].bytes, strlen(rows[i].bytes));
		assert_int_equal(token_read("token", &token, &err), rows[i].token ? 0 : ERR_DATA);
		if (!rows[i].token)
			continue;
		assert_string_equal(token, rows[i].token);
		token_free(token);
	}
	write_text("token", "a\0b", 3);
	assert_int_equal(token_read("token", &token, &err), ERR_DATA);
	assert_true(token_read("no token", &token, &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut),    cmocka_unit_test(test_refused),
		cmocka_unit_test(test_watch),  cmocka_unit_test(test_trust),
		cmocka_unit_test(test_token),  cmocka_unit_test(test_weak),
		cmocka_unit_test(test_expiry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
