/* SPDX-License-Identifier: Apache-2.0 */
#include "listen_list.h"

#include <stdio.h>
#include <string.h>

#include "io.h"
#include "log.h"

static int add_address(struct listen_list *l, const char *option, const char *text, size_t len,
		       struct err *err)
{
	char *to;
	int rc;

	if (l->count == RPC_LISTEN_MAX)
		return err_set(err, ERR_USAGE, "more than %d %s", RPC_LISTEN_MAX, option);
	if (len >= LISTEN_ADDRESS_LEN)
		return err_set(err, ERR_USAGE, "%s: an address has at most %d bytes", option,
			       LISTEN_ADDRESS_LEN - 1);
	to = l->texts[l->count];
	snprintf(to, LISTEN_ADDRESS_LEN, "%.*s", (int)len, text);
	rc = rpc_listen_check(to, true, err);
	if (rc < 0)
		return err_prefix(err, "%s", option);
	l->count++;
	return 0;
}

int listen_list_add(void *at, const char *option, const char *argument, struct err *err)
{
	struct listen_list *const l = at;

	for (;;) {
		size_t len = strcspn(argument, ",");

		TRY(add_address(l, option, argument, len, err));
		if (!argument[len])
			return 0;
		argument += len + 1;
	}
}

int listen_list_check_argument(const char *option, const char *argument, struct err *err)
{
	struct listen_list l = {0};

	return listen_list_add(&l, option, argument, err);
}

int listen_list_complete(struct listen_list *l, bool anywhere, struct err *err)
{
	const char *addresses[RPC_LISTEN_MAX];

	if (!l->count)
		TRY(listen_list_add(l, "--listen", LISTEN_LIST_DEFAULT, err));
	for (size_t i = 0; i < l->count; i++) {
		int rc = rpc_listen_check(l->texts[i], anywhere, err);

		if (rc < 0)
			return rc;
		addresses[i] = l->texts[i];
	}
	return rpc_listen_check_all(addresses, l->count, err);
}

int listen_list_try(const struct listen_list *l, struct err *err)
{
	for (size_t i = 0; i < l->count; i++)
		TRY(rpc_listen_try(l->texts[i], true, err));
	return 0;
}

int listen_list_write_ports(const struct listen_list *l, const int *ports, const char *path,
			    struct err *err)
{
	char text[16 * RPC_LISTEN_MAX];
	size_t len = 0;

	for (size_t i = 0; i < l->count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%d\n", ports[i]);
	return io_write_file(path, text, len, 0600, err);
}

void listen_list_tell(const struct listen_list *l, const int *ports)
{
	for (size_t i = 0; i < l->count; i++) {
		const char *text = l->texts[i];

		if (strncmp(text, "unix:", 5) == 0)
			log_info("listening on %s", text);
		else
			log_info("listening on %.*s:%d", (int)(strrchr(text, ':') - text), text,
				 ports[i]);
	}
}
