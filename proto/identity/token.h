/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TOKEN_H
#define RAWSTACK_TOKEN_H
/* Reads the bearer token that a client sends (RFC 6750) from a file of its own: one word of
 * printable ASCII, with a line end or without. */
#include "base.h"
#include "err.h"

/* The most bytes of a token: JSON web tokens have 1 to 2 KB, and the metadata of a call is bounded.
 */
#define LIMIT_TOKEN_LEN 2048

/* Reads a token; free *ret with token_free(). Returns an error of io_read_file() with
 * LIMIT_TOKEN_LEN, or ERR_DATA. */
int token_read(const char *path, char **ret, struct err *err) _must_check_;
void token_free(char *token); /* overwrites the token */

/* Returns whether a text may be a token. */
bool token_is_word(const char *text);

#endif
