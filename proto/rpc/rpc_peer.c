/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "number.h"

/* The prefix of addresses that stand for users: unique local (RFC 4193), of a prefix that nobody is
 * to route. */
static const uint8_t user_prefix[12] = {0xfc, 'r', 'a', 'w', 's', 't',
					'a',  'c', 'k', 'u', 'i', 'd'};

static uint64_t salt; /* so that connections of different runs have different numbers */

static void make_salt(void)
{
	io_system()->random(NULL, &salt, sizeof(salt));
}

static uint32_t mix_words(uint64_t a, uint64_t b)
{
	a = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
	a = (a ^ a >> 31) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(a >> 32) | 1;
}

void rpc_peer_write(int fd, struct sockaddr *address, socklen_t room, socklen_t *len)
{
	struct sockaddr_in6 user = {.sin6_family = AF_INET6};
	struct ucred peer;
	socklen_t peer_len = sizeof(peer);
	uint32_t uid;

	if (room < sizeof(user) || *len < sizeof(address->sa_family) ||
	    address->sa_family != AF_UNIX ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_len))
		return;
	uid = htonl(peer.uid);
	memcpy(user.sin6_addr.s6_addr, user_prefix, sizeof(user_prefix));
	memcpy(user.sin6_addr.s6_addr + sizeof(user_prefix), &uid, sizeof(uid));
	memcpy(address, &user, sizeof(user));
	*len = sizeof(user);
}

static uint32_t number_of(const void *address, size_t len, uint16_t port)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t words[2] = {0};
	uint32_t uid;

	/* An IPv4 address as IPv6 sockets have it (RFC 4291 section 2.5.5.2); gRPC reports it as
	 * IPv4. */
	if (len == sizeof(words) && !memcmp(address, mapped, sizeof(mapped))) {
		address = (const uint8_t *)address + sizeof(mapped);
		len -= sizeof(mapped);
	}
	memcpy(words, address, len);
	/* A user's number has no salt, so that it stays the same after a restart. */
	if (len == sizeof(words) && !memcmp(address, user_prefix, sizeof(user_prefix))) {
		memcpy(&uid, (const uint8_t *)address + sizeof(user_prefix), sizeof(uid));
		return mix_words(ntohl(uid), 1);
	}
	pthread_once(&once, make_salt);
	return mix_words(words[0] ^ salt, words[1] ^ (uint64_t)port << 32);
}

uint32_t rpc_peer_of_address(const struct sockaddr *address, socklen_t len)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (len >= sizeof(in6) && address->sa_family == AF_INET6) {
		memcpy(&in6, address, sizeof(in6));
		return number_of(&in6.sin6_addr, sizeof(in6.sin6_addr), in6.sin6_port);
	}
	if (len >= sizeof(in) && address->sa_family == AF_INET) {
		memcpy(&in, address, sizeof(in));
		return number_of(&in.sin_addr, sizeof(in.sin_addr), in.sin_port);
	}
	return 0;
}

/* Parses "ipv4:127.0.0.1:1234" or "ipv6:[::1]:1234", whose brackets may also be %5B and %5D.
 * Returns the length of the address, or 0 for any other text. */
static size_t parse_peer(const char *text, uint8_t address[static 16], uint16_t *ret_port)
{
	bool is_6 = !strncmp(text, "ipv6:", 5);
	char host[INET6_ADDRSTRLEN];
	const char *end, *port;
	uint64_t number;
	size_t len;

	if (!is_6 && strncmp(text, "ipv4:", 5) != 0)
		return 0;
	text += 5;
	port = strrchr(text, ':');
	end = port;
	if (!port)
		return 0;
	if (is_6) {
		text += *text == '[' ? 1 : !strncmp(text, "%5B", 3) ? 3 : 0;
		len = strcspn(text, "]%");
		end = text + len < port ? text + len : port;
	}
	len = (size_t)(end - text);
	if (len >= sizeof(host))
		return 0;
	memcpy(host, text, len);
	host[len] = '\0';
	if (inet_pton(is_6 ? AF_INET6 : AF_INET, host, address) != 1 ||
	    !number_read(port + 1, 10, &number))
		return 0;
	*ret_port = htons((uint16_t)number);
	return is_6 ? 16 : 4;
}

uint32_t rpc_peer_of_text(const char *text)
{
	uint8_t address[16];
	uint16_t port;
	size_t len = parse_peer(text, address, &port);

	return len ? number_of(address, len, port) : 0;
}

bool rpc_peer_is_local(const char *text)
{
	static const uint8_t loopback[16] = {[15] = 1};
	static const uint8_t mapped[13] = {[10] = 0xff, [11] = 0xff, [12] = 127};
	uint8_t address[16];
	uint16_t port;
	size_t len;

	if (!strncmp(text, "unix:", 5))
		return true;
	len = parse_peer(text, address, &port);
	if (len == 4)
		return address[0] == 127;
	return len == 16 && (!memcmp(address, loopback, sizeof(loopback)) ||
			     !memcmp(address, mapped, sizeof(mapped)) ||
			     !memcmp(address, user_prefix, sizeof(user_prefix)));
}

void rpc_peer_name(const char *text, char *to, size_t len)
{
	uint8_t address[16];
	uint16_t port;
	size_t n = 0;
	uint32_t uid;

	if (parse_peer(text, address, &port) == sizeof(address) &&
	    !memcmp(address, user_prefix, sizeof(user_prefix))) {
		memcpy(&uid, address + sizeof(user_prefix), sizeof(uid));
		snprintf(to, len, "unix:uid=%lu", (unsigned long)ntohl(uid));
		return;
	}
	for (; *text && n + 1 < len; text++) {
		bool opens = !strncmp(text, "%5B", 3), closes = !strncmp(text, "%5D", 3);

		to[n++] = opens ? '[' : closes ? ']' : *text;
		text += opens || closes ? 2 : 0;
	}
	to[n] = '\0';
}
