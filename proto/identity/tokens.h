/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TOKENS_H
#define RAWSTACK_TOKENS_H
/*
 * Reads the tokens that a service knows. Each line of their file has a name and a token, or the
 * SHA-256 of the token, which does as well and gives nothing away:
 *
 *	ops   sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
 *	ci    Zm9vYmFyYmF6cXV4
 *
 * Only digests are kept. Safe from any thread.
 */
#include "base.h"
#include "err.h"

/* The most bytes of the file. */
#define LIMIT_TOKENS_LEN MIB

struct tokens;

/* Reads the file. Returns 0, ERR_DATA with FILE:LINE and what is wrong there, or an error of
 * io_read_file() with LIMIT_TOKENS_LEN. */
int tokens_read(struct tokens **ret, const char *path, struct err *err) _must_check_;
void tokens_free(struct tokens *t);
DEFINE_FREEP(struct tokens, tokens_free);

/* Returns whether a token stands in the file as it is, and not as its digest. */
bool tokens_has_plain(const struct tokens *t);

/* Returns the name of a token, borrowed from t, or NULL if the token is unknown. Takes the same
 * time for all tokens of one length. */
const char *tokens_find(const struct tokens *t, const char *token);

#endif
