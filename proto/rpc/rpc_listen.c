/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "limits.h"
#include "number.h"

#define HOST_LEN 256

bool rpc_listen_is_loopback(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (!strcmp(host, "localhost"))
		return true;
	if (inet_pton(AF_INET, host, &v4) == 1)
		return (ntohl(v4.s_addr) >> 24) == 127;
	return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/* Copies the host of HOST:PORT, without brackets. Returns false when it is too long. */
static bool copy_listen_host(const char *address, char *to, size_t size)
{
	const char *colon = strrchr(address, ':');
	size_t len = (size_t)(colon - address);

	if (address[0] == '[' && len > 1 && colon[-1] == ']') {
		address++;
		len -= 2;
	}
	return snprintf(to, size, "%.*s", (int)len, address) < (int)size;
}

static bool read_listen_port(const char *text, uint16_t *ret)
{
	uint64_t port;

	if (!number_read(text, 10, &port) || port > UINT16_MAX)
		return false;
	*ret = (uint16_t)port;
	return true;
}

bool rpc_listen_is_local(const char *address)
{
	char host[HOST_LEN];

	return !strncmp(address, "unix:", 5) ||
	       (copy_listen_host(address, host, sizeof(host)) && rpc_listen_is_loopback(host));
}

/* Parses a numeric host, or localhost, which counts as 127.0.0.1. Returns NULL for another name,
 * else a list for freeaddrinfo(). */
static struct addrinfo *parse_listen_host(const char *host)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;

	if (!strcmp(host, "localhost"))
		host = "127.0.0.1";
	return getaddrinfo(host, NULL, &hints, &found) ? NULL : found;
}

static bool is_any(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, host, &v4) == 1)
		return !v4.s_addr;
	return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6);
}

/* Returns 1, as rpc_listen_check() does for unix:PATH, or ERR_USAGE. */
static int check_unix(const char *path, struct err *err)
{
	if (strlen(path) < sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return 1;
	return err_set(err, ERR_USAGE, "unix:%s: the path of a socket has at most %zu bytes", path,
		       sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
}

int rpc_listen_check(const char *address, bool anywhere, struct err *err)
{
	const char *colon = strrchr(address, ':');
	struct addrinfo *found;
	char host[HOST_LEN];
	uint16_t port;

	if (!strncmp(address, "unix:", 5) && address[5])
		return check_unix(address + 5, err);
	if (!colon || colon == address)
		return err_set(err, ERR_USAGE, "'%s' is not HOST:PORT or unix:PATH", address);
	if (strchr(address, ':') != colon && (address[0] != '[' || colon[-1] != ']'))
		return err_set(err, ERR_USAGE,
			       "'%s': an IPv6 address stands in brackets: [::1]:PORT", address);
	if (!read_listen_port(colon + 1, &port))
		return err_set(err, ERR_USAGE, "'%s': '%s' is not a port", address, colon + 1);
	if (!copy_listen_host(address, host, sizeof(host)))
		return err_set(err, ERR_USAGE, "host name too long");
	if (!anywhere && !rpc_listen_is_loopback(host))
		return err_set(err, ERR_DENIED,
			       "%s is not loopback: in plain text only loopback addresses and "
			       "unix:PATH are served (TLS: --tls-cert and --tls-key; --insecure "
			       "does without)",
			       host);
	found = parse_listen_host(host);
	if (!found)
		return err_set(err, ERR_USAGE,
			       "%s is no address: a service listens on an address of the machine, "
			       "such as 192.0.2.1, or on all ([::])",
			       host);
	freeaddrinfo(found);
	return 0;
}

/* Returns whether two addresses are the same, or one includes the other. Port 0 is a free port, and
 * so never the same. */
static bool is_same_place(const char *a, const char *b)
{
	char host_a[HOST_LEN], host_b[HOST_LEN];
	uint16_t port_a, port_b;

	if (!strcmp(a, b))
		return strcmp(strrchr(a, ':'), ":0") != 0;
	if (!strncmp(a, "unix:", 5) || !strncmp(b, "unix:", 5))
		return false;
	if (!read_listen_port(strrchr(a, ':') + 1, &port_a) ||
	    !read_listen_port(strrchr(b, ':') + 1, &port_b) || port_a != port_b || !port_a ||
	    !copy_listen_host(a, host_a, sizeof(host_a)) ||
	    !copy_listen_host(b, host_b, sizeof(host_b)))
		return false;
	return is_any(host_a) || is_any(host_b) || !strcmp(host_a, host_b);
}

int rpc_listen_check_all(const char *const *addresses, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (is_same_place(addresses[j], addresses[i]))
				return err_set(err, ERR_USAGE,
					       "%s and %s are one port: 0.0.0.0 and [::] are all "
					       "addresses, IPv4 and IPv6",
					       addresses[j], addresses[i]);
	return 0;
}

/* Checks that a socket can be made at the path. Whether another server has it is not looked at: the
 * lock decides that (rpc_listen_unix_lock()). */
static int try_unix(const char *path, struct err *err)
{
	char folder[LIMIT_PATH_LEN];
	struct stat st;
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return err_set(err, ERR_USAGE, "%s: a socket needs a directory of its own", path);
	if (!lstat(path, &st)) {
		if (!S_ISSOCK(st.st_mode))
			return err_set(err, ERR_EXISTS, "%s is there, and is no socket", path);
	} else if (errno != ENOENT) {
		return err_sys(err, errno, "%s", path);
	}
	/* The service makes the last directory only. */
	*slash = 0;
	if (!stat(folder, &st))
		return 0;
	slash = strrchr(folder, '/');
	if (slash && slash != folder)
		*slash = 0;
	if (slash && stat(folder, &st))
		return err_sys(err, errno, "%s", folder);
	return 0;
}

static int try_bind(const char *address, const struct addrinfo *to, const char *port,
		    bool may_be_busy, struct err *err)
{
	_cleanup_(closep) int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage at = {0};
	const int on = 1;
	uint16_t number;

	if (!read_listen_port(port, &number))
		return err_set(err, ERR_USAGE, "'%s': '%s' is not a port", address, port);
	number = htons(number);
	memcpy(&at, to->ai_addr, to->ai_addrlen);
	if (to->ai_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)&at)->sin6_port = number;
	else
		((struct sockaddr_in *)(void *)&at)->sin_port = number;
	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
	    !bind(fd, (const struct sockaddr *)&at, to->ai_addrlen))
		return 0;
	if (errno != EADDRINUSE)
		return err_sys(err, errno, "cannot listen on %s", address);
	return may_be_busy ? 0
			   : err_set(err, ERR_EXISTS,
				     "cannot listen on %s: another program listens there", address);
}

int rpc_listen_try(const char *address, bool may_be_busy, struct err *err)
{
	char host[HOST_LEN];
	struct addrinfo *to;
	int rc;

	if (!strncmp(address, "unix:", 5))
		return try_unix(address + 5, err);
	if (!copy_listen_host(address, host, sizeof(host)))
		return err_set(err, ERR_USAGE, "host name too long");
	to = parse_listen_host(host);
	if (!to)
		return err_set(err, ERR_USAGE, "%s is no address", host);
	rc = try_bind(address, to, strrchr(address, ':') + 1, may_be_busy, err);
	freeaddrinfo(to);
	return rc;
}

int rpc_listen_unix_lock(const char *path, int *ret_lock_fd, struct err *err)
{
	_cleanup_(closep) int fd = -1;
	char name[LIMIT_PATH_LEN];
	struct stat st;
	char *slash;

	if (snprintf(name, sizeof(name), "%s", path) >= (int)sizeof(name))
		return err_set(err, ERR_USAGE, "socket path too long");
	slash = strrchr(name, '/');
	if (!slash || slash == name)
		return err_set(err, ERR_USAGE, "%s: a socket needs a directory of its own", path);
	*slash = 0;
	if (mkdir(name, 0750) && errno != EEXIST)
		return err_sys(err, errno, "%s", name);
	if (stat(name, &st))
		return err_sys(err, errno, "%s", name);
	if (st.st_mode & S_IRWXO)
		return err_set(err, ERR_DENIED, "%s is open to everyone: chmod 0750 it", name);
	if (snprintf(name, sizeof(name), "%s.lock", path) >= (int)sizeof(name))
		return err_set(err, ERR_USAGE, "socket path too long");
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, errno, "%s", name);
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno == EWOULDBLOCK)
			return err_set(err, ERR_EXISTS, "%s: another server has it", path);
		return err_sys(err, errno, "%s", name);
	}
	*ret_lock_fd = TAKE_FD(fd);
	return 0;
}

int rpc_listen_unix_mode(const char *path, struct err *err)
{
	return chmod(path, 0660) ? err_sys(err, errno, "%s", path) : 0;
}
