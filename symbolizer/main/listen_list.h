/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LISTEN_LIST_H
#define RAWSTACK_LISTEN_LIST_H
/*
 * The addresses of --listen, as the option, its variable and the file give them. They are copies,
 * so they live as long as the struct. For one thread.
 */
#include "base.h"
#include "err.h"
#include "limits.h"
#include "rpc_listen.h"

/* The address that is served if none is given. */
#define LISTEN_LIST_DEFAULT "127.0.0.1:7077"

enum {
	LISTEN_ADDRESS_LEN = 256, /* bytes of an address, with its end */
};

/* Zero it before use. */
struct listen_list {
	char texts[RPC_LISTEN_MAX][LISTEN_ADDRESS_LEN];
	size_t count;
};

/* Setter of the option (options.h): adds the addresses of the argument, with commas between them.
 * Returns ERR_USAGE for what is no address, or for too many. `at` is a struct listen_list. */
int listen_list_add(void *at, const char *option, const char *argument, struct err *err);

/* Checks an argument of the option as listen_list_add() does, and keeps nothing of it. */
int listen_list_check_argument(const char *option, const char *argument, struct err *err);

/* Adds the default if nothing was given. Returns ERR_USAGE if two addresses are one place, or
 * ERR_DENIED if one is not loopback, unless `anywhere`. */
int listen_list_complete(struct listen_list *l, bool anywhere, struct err *err) _must_check_;

/* Tries each address, as rpc_listen_try() does. Another program, such as the service whose file is
 * checked, may listen there. */
int listen_list_try(const struct listen_list *l, struct err *err) _must_check_;

/* Writes the port of each address to a line of the file; 0 for a Unix socket. */
int listen_list_write_ports(const struct listen_list *l, const int *ports, const char *path,
			    struct err *err) _must_check_;

/* Logs the addresses, with the ports that they got. */
void listen_list_tell(const struct listen_list *l, const int *ports);

#endif
