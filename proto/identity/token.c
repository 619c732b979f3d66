/* SPDX-License-Identifier: Apache-2.0 */
#include "token.h"

#include <openssl/crypto.h>
#include <string.h>

#include "io.h"

bool token_is_word(const char *text)
{
	const char *p = text;

	while (*p > ' ' && *p < 0x7f)
		p++;
	return p > text && !*p;
}

void token_free(char *token)
{
	if (token)
		OPENSSL_cleanse(token, strlen(token));
	free(token);
}

int token_read(const char *path, char **ret, struct err *err)
{
	uint8_t *bytes = NULL;
	size_t len = 0;
	int rc = io_read_file(path, LIMIT_TOKEN_LEN + 2, &bytes, &len, err);
	char *text = (char *)bytes;

	if (rc)
		return rc;
	while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		text[--len] = '\0';
	if (len != strlen(text) || !token_is_word(text)) {
		token_free(text);
		return err_set(err, ERR_DATA, "%s: not one word, which a token is", path);
	}
	*ret = text;
	return 0;
}
