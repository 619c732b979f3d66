/* SPDX-License-Identifier: Apache-2.0 */
#include "server_list.h"

#include <string.h>

#include "number.h"

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

int server_name_check(const char *name, struct err *err)
{
	const char *colon = strrchr(name, ':');
	uint64_t port;

	if (!strncmp(name, "unix:", 5) && name[5])
		return 0;
	if (!colon || colon == name || strchr(name, '/') || strchr(name, '%') ||
	    (strchr(name, ':') != colon && (name[0] != '[' || colon[-1] != ']')))
		return err_set(err, ERR_USAGE, "'%s' is not HOST:PORT, [ADDRESS]:PORT or unix:PATH",
			       name);
	if (!number_read(colon + 1, 10, &port) || port == 0 || port > 65535)
		return err_set(err, ERR_USAGE, "'%s': '%s' is not a port", name, colon + 1);
	return 0;
}
