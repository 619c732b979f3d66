/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TLS_FILES_H
#define RAWSTACK_TLS_FILES_H
/*
 * The files of one side of TLS: its certificate and key, and the CAs that it believes. They are
 * read and checked as a whole before gRPC sees any of it, because core 1.51 takes a file that is
 * cut without a word and says nothing of a pair that does not fit.
 *
 * A watch reads them again when they were changed: written in place, renamed over, or reached by a
 * link that leads elsewhere now. What does not fit together is told once, and what was there before
 * stays. Safe from any thread, but for tls_watch_open() and tls_watch_close().
 */
#include "base.h"
#include "err.h"
#include "file_stamp.h"
#include "limits.h"

/* The most bytes of one of the files: the CAs of a distribution are 220 KB. */
#define LIMIT_PEM_LEN MIB

/* Paths of PEM files, borrowed; NULL: none. cert and key go together. */
struct tls_files {
	const char *cert; /* the certificate, and behind it those that lead to a CA */
	const char *key;  /* without a passphrase */
	const char *ca;   /* whose certificates are believed */
};

/* What they hold, each ending in NUL; NULL where there is no file. */
struct tls_texts {
	char *cert, *key, *ca;
};

/*
 * Reads and checks them. The line names the file: errors of io_read_file(), ERR_LIMIT
 * (LIMIT_PEM_LEN), ERR_DATA (not PEM, cut, a passphrase), ERR_MISMATCH (the key is another
 * certificate's), ERR_DENIED (expired, or not yet valid), ERR_USAGE (one of cert and key without
 * the other).
 */
int tls_texts_read(struct tls_texts *ret, const struct tls_files *files,
		   struct err *err) _must_check_;
void tls_texts_done(struct tls_texts *texts); /* the key is overwritten */

struct tls_watch;

/* Reads them for the first time. The paths are borrowed until the close. Errors as above. */
int tls_watch_open(struct tls_watch **ret, const struct tls_files *files,
		   struct err *err) _must_check_;
void tls_watch_close(struct tls_watch *w);
DEFINE_FREEP(struct tls_watch, tls_watch_close);

/*
 * Looks at the files, at most once a second unless it is forced. 1: they changed and are taken, 0:
 * nothing is new, negative: they changed and do not fit (told once for each change).
 */
int tls_watch_look(struct tls_watch *w, bool force, struct err *err);

/* Rises with each change that is taken, from 1. */
uint64_t tls_watch_version(struct tls_watch *w);

/* A copy of what counts now, released with tls_texts_done(), and its version. */
int tls_watch_texts(struct tls_watch *w, struct tls_texts *ret, uint64_t *ret_version,
		    struct err *err) _must_check_;

/* Who its certificate is of and until when it holds, for a line of the log. */
void tls_texts_describe(const struct tls_texts *texts, char *to, size_t len);

#endif
