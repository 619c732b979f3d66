/* SPDX-License-Identifier: Apache-2.0 */
#include "identity_lines.h"

#include <openssl/crypto.h>
#include <string.h>

#include "io.h"

int identity_lines_open(struct identity_lines *l, const char *path, size_t max, struct err *err)
{
	uint8_t *bytes = NULL;

	*l = (struct identity_lines){.path = path};
	TRY(io_read_file(path, max, &bytes, &l->len, err));
	l->text = l->at = (char *)bytes;
	return memchr(bytes, 0, l->len) ? err_set(err, ERR_DATA, "%s: it has zero bytes", path) : 0;
}

void identity_lines_done(struct identity_lines *l)
{
	if (l->text)
		OPENSSL_cleanse(l->text, l->len);
	free(l->text);
	*l = (struct identity_lines){0};
}

static void split_identity_words(char *text, struct identity_line *ret)
{
	char *rest = text, *word;

	while ((word = strsep(&rest, " \t\r"))) {
		if (!*word)
			continue;
		if (*word == '#')
			return;
		if (ret->count < IDENTITY_WORDS)
			ret->words[ret->count] = word;
		ret->count++;
	}
}

bool identity_lines_next(struct identity_lines *l, struct identity_line *ret)
{
	char *text;

	while ((text = strsep(&l->at, "\n"))) {
		l->number++;
		*ret = (struct identity_line){.path = l->path, .number = l->number};
		split_identity_words(text, ret);
		if (ret->count)
			return true;
	}
	return false;
}
