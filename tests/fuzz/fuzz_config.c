/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a configuration file: each line is a name and a value, nothing, or refused; and a
 * value that was read is written so that it is read as the same again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void write_and_read(const char *value)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(4 * CONFIG_FILE_MAX);
	struct config_line line;
	const char *why;
	char *text;

	buf_str(&out, "name = ");
	config_put_value(&out, value);
	buf_str(&out, "   # from here\n");
	text = strdup(buf_cstr(&out));
	if (!text)
		return;
	for (char *at = text; at;) {
		if (!config_take_line(&at, &line, &why) || (!at && line.name))
			abort();
		if (line.name && (!line.value || strcmp(line.value, value) != 0))
			abort();
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const names[] = {"listen", "store-bytes", "keep-debug"};
	struct config_line line;
	const char *why;
	char *text;

	if (len > CONFIG_FILE_MAX)
		return 0;
	text = malloc(len + 1);
	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = 0;
	for (char *at = text; at;) {
		if (!config_take_line(&at, &line, &why) || !line.name)
			continue;
		(void)option_nearest(line.name, names, ARRAY_LEN(names));
		if (line.value)
			write_and_read(line.value);
	}
	free(text);
	return 0;
}
