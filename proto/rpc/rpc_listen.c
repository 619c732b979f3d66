/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "limits.h"

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

bool rpc_listen_is_local(const char *address)
{
	char host[HOST_LEN];

	return !strncmp(address, "unix:", 5) ||
	       (copy_listen_host(address, host, sizeof(host)) && rpc_listen_is_loopback(host));
}

int rpc_listen_check(const char *address, bool anywhere, struct err *err)
{
	const char *colon = strrchr(address, ':');
	char host[HOST_LEN], *end;
	unsigned long port;

	if (!strncmp(address, "unix:", 5) && address[5])
		return 1;
	if (!colon || colon == address)
		return err_set(err, ERR_USAGE, "'%s' is not HOST:PORT or unix:PATH", address);
	port = strtoul(colon + 1, &end, 10);
	if (colon[1] < '0' || colon[1] > '9' || *end || port > 65535)
		return err_set(err, ERR_USAGE, "'%s': '%s' is not a port", address, colon + 1);
	if (!copy_listen_host(address, host, sizeof(host)))
		return err_set(err, ERR_USAGE, "host name too long");
	if (!anywhere && !rpc_listen_is_loopback(host))
		return err_set(err, ERR_DENIED,
			       "%s is not loopback: in plain text only loopback addresses and "
			       "unix:PATH are served (TLS: --tls-cert and --tls-key; --insecure "
			       "does without)",
			       host);
	return 0;
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
