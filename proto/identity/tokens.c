/* SPDX-License-Identifier: Apache-2.0 */
#include "tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "identity_lines.h"
#include "limits.h"
#include "token.h"

enum {
	TOKENS_MAX = 1024, /* all of them are compared at each call */
	NAME_LEN = 64,
	TOKEN_LEN_MIN = 16, /* a shorter one can be guessed */
};

struct known_token {
	char name[NAME_LEN];
	uint8_t digest[SHA256_DIGEST_LENGTH];
};

struct tokens {
	struct known_token *all;
	size_t count, cap;
	bool has_plain;
};

static int nibble_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_digest(const char *hex, uint8_t digest[static SHA256_DIGEST_LENGTH])
{
	if (strlen(hex) != 2 * SHA256_DIGEST_LENGTH)
		return false;
	for (size_t i = 0; i < SHA256_DIGEST_LENGTH; i++) {
		int high = nibble_of(hex[2 * i]), low = nibble_of(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		digest[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static void digest_of_token(const char *token, uint8_t digest[static SHA256_DIGEST_LENGTH])
{
	SHA256((const uint8_t *)token, strlen(token), digest);
}

static int add_token(struct tokens *t, const struct identity_line *line, struct err *err)
{
	static const char sum[] = "sha256:";
	struct known_token *to;
	const char *word = line->words[1];

	if (line->count != 2)
		return err_set(err, ERR_DATA, "%s:%u: a line is a name and a token", line->path,
			       line->number);
	if (strlen(line->words[0]) >= NAME_LEN)
		return err_set(err, ERR_DATA, "%s:%u: the name has more than %d bytes", line->path,
			       line->number, NAME_LEN - 1);
	if (!GROW(t->all, &t->cap, t->count + 1, TOKENS_MAX))
		return err_full(err, t->count < TOKENS_MAX, "%s:%u: more than %d tokens",
				line->path, line->number, TOKENS_MAX);
	to = &t->all[t->count];
	snprintf(to->name, sizeof(to->name), "%s", line->words[0]);
	if (!strncmp(word, sum, sizeof(sum) - 1)) {
		if (!parse_digest(word + sizeof(sum) - 1, to->digest))
			return err_set(err, ERR_DATA,
				       "%s:%u: behind sha256: stand 64 hex digits in lower case",
				       line->path, line->number);
	} else {
		size_t len = strlen(word);

		if (len < TOKEN_LEN_MIN || len > LIMIT_TOKEN_LEN || !token_is_word(word))
			return err_set(err, ERR_DATA,
				       "%s:%u: a token has %d to %d bytes of printable ASCII",
				       line->path, line->number, TOKEN_LEN_MIN, LIMIT_TOKEN_LEN);
		digest_of_token(word, to->digest);
		t->has_plain = true;
	}
	t->count++;
	return 0;
}

int tokens_read(struct tokens **ret, const char *path, struct err *err)
{
	_cleanup_(tokens_freep) struct tokens *t = calloc(1, sizeof(*t));
	_cleanup_(identity_lines_done) struct identity_lines lines = {0};
	struct identity_line line;

	if (!t)
		return err_no_memory(err);
	TRY(identity_lines_open(&lines, path, LIMIT_TOKENS_LEN, err));
	while (identity_lines_next(&lines, &line))
		TRY(add_token(t, &line, err));
	*ret = TAKE_PTR(t);
	return 0;
}

bool tokens_has_plain(const struct tokens *t)
{
	return t->has_plain;
}

void tokens_free(struct tokens *t)
{
	if (!t)
		return;
	free(t->all);
	free(t);
}

const char *tokens_find(const struct tokens *t, const char *token)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	const char *found = NULL;

	digest_of_token(token, digest);
	for (size_t i = 0; i < t->count; i++)
		if (!CRYPTO_memcmp(digest, t->all[i].digest, sizeof(digest)))
			found = t->all[i].name;
	return found;
}
