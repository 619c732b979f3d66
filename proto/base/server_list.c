/* SPDX-License-Identifier: Apache-2.0 */
#include "server_list.h"

#include <string.h>

#define BLANKS " \t"

/* Copies one server without the blanks around it. */
static bool copy_server(const char *at, size_t len, char to[static SERVER_NAME_LEN])
{
	while (len && strchr(BLANKS, at[len - 1]))
		len--;
	while (len && strchr(BLANKS, *at)) {
		at++;
		len--;
	}
	if (!len || len >= SERVER_NAME_LEN)
		return false;
	memcpy(to, at, len);
	to[len] = 0;
	return true;
}

int server_list_read(const char *list, size_t len,
		     char names[static SERVER_LIST_MAX][SERVER_NAME_LEN], size_t *ret_count,
		     struct err *err)
{
	size_t count = 0;

	while (len) {
		const char *comma = memchr(list, ',', len);
		const size_t n = comma ? (size_t)(comma - list) : len;

		if (count == SERVER_LIST_MAX || !copy_server(list, n, names[count]))
			return err_set(err, ERR_USAGE,
				       "servers are 1 to %d of HOST:PORT, separated by commas",
				       SERVER_LIST_MAX);
		count++;
		list += n + (comma != NULL);
		len -= n + (comma != NULL);
	}
	if (!count)
		return err_set(err, ERR_USAGE, "no server is named");
	*ret_count = count;
	return 0;
}
