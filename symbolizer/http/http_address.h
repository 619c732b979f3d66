/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_HTTP_ADDRESS_H
#define RAWSTACK_HTTP_ADDRESS_H
/* Finds the address that the HTTP port listens on, and says who is on this machine. Internal to the
 * room. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "base.h"
#include "err.h"

struct http_address {
	const char *option, *text; /* for errors; borrowed */
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	};
};

/* As http_port_listen() reads an address. Errors do not name the option. */
int http_address_parse(struct http_address *ret, const char *option, const char *text, bool is_open,
		       struct err *err) _must_check_;

/* Opens a listening socket. The library could, but does not say why it failed. */
int http_address_listen(const struct http_address *a, int backlog, int *ret_fd, int *ret_port,
			struct err *err) _must_check_;

enum {
	HTTP_ADDRESS_NAME_LEN = 64
};

/* Writes the address of a client as the log has it: "ipv4:192.0.2.1:50712" or "ipv6:[::1]:50712".
 */
void http_address_name(const struct sockaddr *a, char to[static HTTP_ADDRESS_NAME_LEN]);

/* Returns whether the address is loopback, also as IPv4 within IPv6. */
bool http_address_is_local(const struct sockaddr *a);

#endif
