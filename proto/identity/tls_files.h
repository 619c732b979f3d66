/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TLS_FILES_H
#define RAWSTACK_TLS_FILES_H
/*
 * Reads the files of one side of TLS: its certificate and key, and the CAs that it trusts. They are
 * read and checked as a whole before gRPC sees any of it, because core 1.51 accepts a truncated
 * file without an error and says nothing of a key that does not fit.
 *
 * A watch reads the files again when they were changed: written in place, renamed over, or reached
 * by a link that points elsewhere now. If they do not fit together, that is logged once, and the
 * old ones stay. Safe from any thread, except tls_watch_open() and tls_watch_close().
 */
#include "base.h"
#include "err.h"
#include "file_stamp.h"
#include "limits.h"

/* The most bytes of one of the files: the CAs of a distribution are 220 KB. */
#define LIMIT_PEM_LEN MIB

/* Paths of PEM files, borrowed; NULL: none. cert and key go together. */
struct tls_files {
	const char *cert; /* the certificate, then those that lead to a CA */
	const char *key;  /* without a passphrase */
	const char *ca;   /* the trusted CAs */
};

/* The content of the files, each ending in NUL; NULL if there is no file. */
struct tls_texts {
	char *cert, *key, *ca;
};

/*
 * Reads and checks the files. The message names the file. Returns an error of io_read_file(), or:
 *
 *	ERR_LIMIT     longer than LIMIT_PEM_LEN, or more than ten certificates behind the first
 *	ERR_DATA      not PEM, truncated, or a key with a passphrase
 *	ERR_UNSUPPORTED  too weak for the security level of the system's OpenSSL
 *	ERR_MISMATCH  the key belongs to another certificate
 *	ERR_DENIED    the certificate expired, or is not yet valid
 *	ERR_USAGE     one of cert and key without the other
 */
int tls_texts_read(struct tls_texts *ret, const struct tls_files *files,
		   struct err *err) _must_check_;
void tls_texts_done(struct tls_texts *texts); /* the key is overwritten */

struct tls_watch;

/* Opens a watch and reads the files for the first time. The paths are borrowed until the close.
 * Errors as above. */
int tls_watch_open(struct tls_watch **ret, const struct tls_files *files,
		   struct err *err) _must_check_;
void tls_watch_close(struct tls_watch *w);
DEFINE_FREEP(struct tls_watch, tls_watch_close);

/*
 * Looks at the files, at most once a second unless forced. Returns 1 if they changed and are taken,
 * 0 if nothing is new, or a negative code if they changed and do not fit, which is reported once
 * for each change.
 */
int tls_watch_look(struct tls_watch *w, bool force, struct err *err);

/* Returns the version, which begins at 1 and rises with each change that is taken. */
uint64_t tls_watch_version(struct tls_watch *w);

/* Copies the present texts, to be released with tls_texts_done(), and their version. */
int tls_watch_texts(struct tls_watch *w, struct tls_texts *ret, uint64_t *ret_version,
		    struct err *err) _must_check_;

/* Describes whose the certificate is and until when it is valid, for a log line. */
void tls_texts_describe(const struct tls_texts *texts, char *to, size_t len);

#endif
