/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TOKEN_H
#define RAWSTACK_TOKEN_H
/* The token that a client shows (RFC 6750), as it stands in a file of its own: one word of
 * printable ASCII, which may have a line end behind it. */
#include "base.h"
#include "err.h"

/* The most bytes of a token: JSON web tokens have 1 to 2 KB, and the metadata of a call is bounded.
 */
#define LIMIT_TOKEN_LEN 2048

/* *ret is freed with token_free(). Errors of io_read_file() with LIMIT_TOKEN_LEN; ERR_DATA. */
int token_read(const char *path, char **ret, struct err *err) _must_check_;
void token_free(char *token); /* overwrites it */

/* Whether text may be a token. */
bool token_is_word(const char *text);

#endif
