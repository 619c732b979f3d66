/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_files.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "certificate.h"
#include "io.h"

static const uint64_t LOOK_NS = UINT64_C(1000000000); /* pause between two checks */

enum {
	FILES = 3,
	/* Certificates behind one's own: each is sent in every handshake, and a CA has one or two
	 * below it. */
	CHAIN_MAX = 10,
};

struct tls_watch {
	struct tls_files files;
	pthread_mutex_t lock;
	struct tls_texts texts;
	struct file_stamp stamps[FILES]; /* of the last attempt */
	uint64_t version, looked_ns;
};

void tls_texts_done(struct tls_texts *texts)
{
	free(texts->cert);
	free(texts->ca);
	if (texts->key)
		OPENSSL_cleanse(texts->key, strlen(texts->key));
	free(texts->key);
	*texts = (struct tls_texts){0};
}

static int read_pem(const char *path, char **ret, struct err *err)
{
	uint8_t *bytes = NULL;
	size_t len = 0;

	if (!path)
		return 0;
	TRY(io_read_file(path, LIMIT_PEM_LEN, &bytes, &len, err));
	*ret = (char *)bytes;
	return memchr(bytes, 0, len)
		       ? err_set(err, ERR_DATA, "%s: not PEM: it has zero bytes", path)
		       : 0;
}

/* Refuses to give a passphrase, because nobody is there to type it. */
static int no_passphrase(char *to _unused_, int len _unused_, int writes _unused_, void *asked)
{
	*(bool *)asked = true;
	return -1;
}

static int read_key(const char *pem, const char *path, EVP_PKEY **ret, struct err *err)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	bool asked = false;

	if (!bio)
		return err_no_memory(err);
	*ret = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, &asked);
	BIO_free(bio);
	ERR_clear_error();
	if (asked)
		return err_set(err, ERR_DATA, "%s: the key has a passphrase, which nobody can type",
			       path);
	return *ret ? 0
		    : err_set(err, ERR_DATA, "%s: no private key in it (PEM), or it is cut", path);
}

/*
 * Offers the pair to an SSL_CTX as gRPC makes one, with the system's security level: a certificate
 * or a key that is too weak for it would be read here, and fail in every handshake.
 */
static int check_level(STACK_OF(X509) * chain, EVP_PKEY *key, const struct tls_files *files,
		       struct err *err)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_method());
	int at = 0, rc = 0;
	bool taken;

	if (!ctx)
		return err_no_memory(err);
	ERR_clear_error();
	taken = SSL_CTX_use_certificate(ctx, sk_X509_value(chain, 0)) == 1;
	while (taken && ++at < sk_X509_num(chain))
		taken = SSL_CTX_add1_chain_cert(ctx, sk_X509_value(chain, at)) == 1;
	if (!taken) {
		const char *why = ERR_reason_error_string(ERR_peek_error());

		rc = err_set(err, ERR_UNSUPPORTED,
			     "%s: certificate %d in it is refused by OpenSSL (security level %d): "
			     "%s",
			     files->cert, at + 1, SSL_CTX_get_security_level(ctx),
			     why ? why : "no reason given");
	} else if (SSL_CTX_use_PrivateKey(ctx, key) != 1) {
		rc = err_set(err, ERR_MISMATCH, "%s is not the key of the certificate in %s",
			     files->key, files->cert);
	}
	ERR_clear_error();
	SSL_CTX_free(ctx);
	return rc;
}

static int check_pair(const struct tls_texts *texts, const struct tls_files *files, struct err *err)
{
	_cleanup_(certificate_list_free) STACK_OF(X509) *chain = NULL;
	EVP_PKEY *key = NULL;
	int rc = certificate_list_parse(&chain, texts->cert, err);

	if (!rc)
		rc = certificate_check_dates(sk_X509_value(chain, 0), err);
	if (rc)
		return err_prefix(err, "%s", files->cert);
	if (sk_X509_num(chain) > CHAIN_MAX + 1)
		return err_set(err, ERR_LIMIT,
			       "%s: %d certificates: at most %d may follow the first (is it a list "
			       "of CAs?)",
			       files->cert, sk_X509_num(chain), CHAIN_MAX);
	TRY(read_key(texts->key, files->key, &key, err));
	rc = check_level(chain, key, files, err);
	EVP_PKEY_free(key);
	return rc;
}

static int check_authorities(const struct tls_texts *texts, const struct tls_files *files,
			     struct err *err)
{
	_cleanup_(certificate_list_free) STACK_OF(X509) *list = NULL;

	return certificate_list_parse(&list, texts->ca, err) ? err_prefix(err, "%s", files->ca) : 0;
}

int tls_texts_read(struct tls_texts *ret, const struct tls_files *files, struct err *err)
{
	_cleanup_(tls_texts_done) struct tls_texts texts = {0};
	int rc;

	if (!files->cert != !files->key)
		return err_set(err, ERR_USAGE, "%s: a certificate and its key go together",
			       files->cert ? files->cert : files->key);
	if ((rc = read_pem(files->cert, &texts.cert, err)) ||
	    (rc = read_pem(files->key, &texts.key, err)) ||
	    (rc = read_pem(files->ca, &texts.ca, err)) ||
	    (rc = texts.cert ? check_pair(&texts, files, err) : 0) ||
	    (rc = texts.ca ? check_authorities(&texts, files, err) : 0))
		return rc;
	*ret = texts;
	texts = (struct tls_texts){0};
	return 0;
}

void tls_texts_describe(const struct tls_texts *texts, char *to, size_t len)
{
	_cleanup_(certificate_list_free) STACK_OF(X509) *chain = NULL;
	char subject[CERTIFICATE_NAME_LEN], date[CERTIFICATE_DATE_LEN];
	const X509 *leaf;

	snprintf(to, len, "no certificate of its own");
	if (!texts->cert || certificate_list_parse(&chain, texts->cert, NULL))
		return;
	leaf = sk_X509_value(chain, 0);
	certificate_subject(leaf, subject);
	certificate_date(X509_get0_notAfter(leaf), date);
	snprintf(to, len, "the certificate of %s, valid until %s", subject, date);
}

/* --- the watch ------------------------------------------------------------------------------- */

static void take_stamps(const struct tls_files *files, struct file_stamp to[static FILES])
{
	to[0] = file_stamp_of(files->cert);
	to[1] = file_stamp_of(files->key);
	to[2] = file_stamp_of(files->ca);
}

static bool same_stamps(const struct file_stamp *a, const struct file_stamp *b)
{
	for (size_t i = 0; i < FILES; i++)
		if (!file_stamp_same(&a[i], &b[i]))
			return false;
	return true;
}

static void tell_open_tls_files(const struct tls_files *files)
{
	file_tell_open_secret(files->key);
	file_tell_open_to_write(files->cert);
	file_tell_open_to_write(files->ca);
}

int tls_watch_open(struct tls_watch **ret, const struct tls_files *files, struct err *err)
{
	_cleanup_(freep) struct tls_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return err_no_memory(err);
	w->files = *files;
	w->version = 1;
	w->looked_ns = io_mono_ns();
	take_stamps(files, w->stamps);
	TRY(tls_texts_read(&w->texts, files, err));
	tell_open_tls_files(files);
	pthread_mutex_init(&w->lock, NULL);
	*ret = TAKE_PTR(w);
	return 0;
}

void tls_watch_close(struct tls_watch *w)
{
	if (!w)
		return;
	tls_texts_done(&w->texts);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static int reread_locked(struct tls_watch *w, bool force, struct err *err)
{
	struct file_stamp stamps[FILES];
	struct tls_texts texts = {0};

	take_stamps(&w->files, stamps);
	if (!force && same_stamps(stamps, w->stamps))
		return 0;
	memcpy(w->stamps, stamps, sizeof(stamps));
	TRY(tls_texts_read(&texts, &w->files, err));
	tell_open_tls_files(&w->files);
	tls_texts_done(&w->texts);
	w->texts = texts;
	w->version++;
	return 1;
}

int tls_watch_look(struct tls_watch *w, bool force, struct err *err)
{
	const uint64_t now = io_mono_ns();
	int rc = 0;

	pthread_mutex_lock(&w->lock);
	if (force || now - w->looked_ns >= LOOK_NS) {
		w->looked_ns = now;
		rc = reread_locked(w, force, err);
	}
	pthread_mutex_unlock(&w->lock);
	return rc;
}

uint64_t tls_watch_version(struct tls_watch *w)
{
	uint64_t version;

	pthread_mutex_lock(&w->lock);
	version = w->version;
	pthread_mutex_unlock(&w->lock);
	return version;
}

static bool copy_pem(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return *to || !from;
}

int tls_watch_texts(struct tls_watch *w, struct tls_texts *ret, uint64_t *ret_version,
		    struct err *err)
{
	struct tls_texts texts = {0};
	bool copied;

	pthread_mutex_lock(&w->lock);
	copied = copy_pem(&texts.cert, w->texts.cert) && copy_pem(&texts.key, w->texts.key) &&
		 copy_pem(&texts.ca, w->texts.ca);
	*ret_version = w->version;
	pthread_mutex_unlock(&w->lock);
	if (!copied) {
		tls_texts_done(&texts);
		return err_no_memory(err);
	}
	*ret = texts;
	return 0;
}
