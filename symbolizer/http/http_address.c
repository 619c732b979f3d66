/* SPDX-License-Identifier: Apache-2.0 */
#include "http_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

static bool is_local_v4(uint32_t host)
{
	return host >> 24 == 127;
}

bool http_address_is_local(const struct sockaddr *a)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	uint32_t last;

	if (a->sa_family == AF_INET) {
		memcpy(&v4, a, sizeof(v4));
		return is_local_v4(ntohl(v4.sin_addr.s_addr));
	}
	if (a->sa_family != AF_INET6)
		return false;
	memcpy(&v6, a, sizeof(v6));
	memcpy(&last, &v6.sin6_addr.s6_addr[12], sizeof(last));
	return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && is_local_v4(ntohl(last)));
}

void http_address_name(const struct sockaddr *a, char to[static HTTP_ADDRESS_NAME_LEN])
{
	char host[INET6_ADDRSTRLEN] = "?";
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;

	snprintf(to, HTTP_ADDRESS_NAME_LEN, "?");
	if (a->sa_family == AF_INET) {
		memcpy(&v4, a, sizeof(v4));
		inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host));
		snprintf(to, HTTP_ADDRESS_NAME_LEN, "ipv4:%s:%u", host, ntohs(v4.sin_port));
	} else if (a->sa_family == AF_INET6) {
		memcpy(&v6, a, sizeof(v6));
		inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host));
		snprintf(to, HTTP_ADDRESS_NAME_LEN, "ipv6:[%s]:%u", host, ntohs(v6.sin6_port));
	}
}

static bool parse_host(struct http_address *ret, const char *host, in_port_t port)
{
	size_t len = strlen(host);
	char inner[INET6_ADDRSTRLEN];

	if (*host == '[' && host[len - 1] == ']' && len - 2 < sizeof(inner)) {
		snprintf(inner, sizeof(inner), "%.*s", (int)len - 2, host + 1);
		ret->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
		return inet_pton(AF_INET6, inner, &ret->v6.sin6_addr) == 1;
	}
	ret->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
	return inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1;
}

int http_address_parse(struct http_address *ret, const char *option, const char *text, bool is_open,
		       struct err *err)
{
	const char *colon = strrchr(text, ':'), *at = colon ? colon + 1 : text;
	char host[INET6_ADDRSTRLEN + 2];
	uint64_t port;

	*ret = (struct http_address){.option = option, .text = text};
	snprintf(host, sizeof(host), "%.*s", colon ? (int)(colon - text) : 9,
		 colon ? text : "127.0.0.1");
	if (!number_take(&at, 10, &port) || *at || port > UINT16_MAX ||
	    !parse_host(ret, host, htons((in_port_t)port)))
		return err_set(err, ERR_USAGE, "%s: not PORT nor 127.0.0.1:PORT nor [::1]:PORT",
			       text);
	if (!is_open && !http_address_is_local(&ret->any))
		return err_set(err, ERR_DENIED,
			       "%s: it is served on loopback only, unless --http-open", text);
	return 0;
}

int http_address_listen(const struct http_address *a, int backlog, int *ret_fd, int *ret_port,
			struct err *err)
{
	_cleanup_(closep) int fd =
		socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct http_address bound = {0};
	socklen_t len = sizeof(bound.v6);
	const int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, &a->any, a->any.sa_family == AF_INET ? sizeof(a->v4) : sizeof(a->v6)) ||
	    listen(fd, backlog) || getsockname(fd, &bound.any, &len))
		return err_sys(err, errno, "%s %s: cannot listen", a->option, a->text);
	*ret_port = ntohs(bound.any.sa_family == AF_INET ? bound.v4.sin_port : bound.v6.sin6_port);
	*ret_fd = TAKE_FD(fd);
	return 0;
}
