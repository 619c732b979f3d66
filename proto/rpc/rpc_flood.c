/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_flood.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io.h"
#include "limits.h"
#include "log.h"
#include "rpc_frames.h"

/* What was received on a descriptor. It needs no lock, because gRPC reads a connection on one
 * thread at a time. */
struct received {
	uint64_t cookie; /* of the socket; 0: the descriptor is not checked */
	struct rpc_frames frames;
};

static struct {
	struct received *all; /* by descriptor */
	size_t count;
	atomic_ullong ended;
	atomic_ullong told_ns;
} table;

static const uint64_t TOLD_NS = UINT64_C(60000000000); /* pause between two lines of the log */

int rpc_flood_open(size_t descriptors, struct err *err)
{
	if (dlsym(RTLD_DEFAULT, "recvmsg") != (void *)recvmsg)
		return err_set(err, ERR_INTERNAL, "linked without recvmsg() for its libraries");
	if (table.all)
		return 0;
	table.all = calloc(descriptors, sizeof(*table.all)); /* unused pages take no memory */
	if (!table.all)
		return err_no_memory(err);
	table.count = descriptors;
	return 0;
}

void rpc_flood_begin(int fd, uint64_t cookie)
{
	if (fd >= 0 && (size_t)fd < table.count)
		table.all[fd] = (struct received){.cookie = cookie};
}

uint64_t rpc_flood_count(void)
{
	return atomic_load(&table.ended);
}

/* Counts a flood, and logs it unless one was logged in the last minute. */
static void tell_flood(const char *flood, uint64_t now)
{
	unsigned long long told = atomic_load(&table.told_ns);
	unsigned long long ended = atomic_fetch_add(&table.ended, 1) + 1;

	if (told && now - told < TOLD_NS)
		return;
	if (atomic_compare_exchange_strong(&table.told_ns, &told, now))
		log_warn("a client sends too many %s, and its connection ends (%llu so far)", flood,
			 ended);
}

/* Returns the entry of the descriptor, or NULL if its bytes are not checked. The cookie tells
 * whether the descriptor belongs to another socket by now, which was not accepted here. */
static struct received *find_received(int fd)
{
	struct received *r =
		fd >= 0 && (size_t)fd < table.count && table.all[fd].cookie ? &table.all[fd] : NULL;
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return r && !getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) && cookie == r->cookie
		       ? r
		       : NULL;
}

/* Returns whether a connection whose first bytes these are begins a TLS handshake (RFC 8446 section
 * 5.1). No HTTP/2 frame can begin so, and a server without TLS ends such a connection. */
static bool begins_tls(const struct msghdr *message)
{
	static const uint8_t handshake = 22;

	return message->msg_iovlen && message->msg_iov[0].iov_len &&
	       *(const uint8_t *)message->msg_iov[0].iov_base == handshake;
}

/* Replaces libc's recvmsg() for all libraries of the program, as the header explains. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's are reserved. */
__attribute__((visibility("default"))) ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t len = syscall(SYS_recvmsg, fd, message, flags);
	struct received *r;
	size_t left;
	uint64_t now;

	if (len <= 0 || flags & (MSG_PEEK | MSG_ERRQUEUE))
		return len;
	r = find_received(fd);
	if (!r)
		return len;
	if (!r->frames.begun && begins_tls(message)) {
		r->cookie = 0;
		return len;
	}
	now = io_mono_ns();
	left = (size_t)len;
	for (size_t i = 0; left && i < message->msg_iovlen; i++) {
		const struct iovec *v = &message->msg_iov[i];
		size_t n = v->iov_len < left ? v->iov_len : left;
		const char *flood = rpc_frames_look(&r->frames, v->iov_base, n, now);

		if (flood) {
			tell_flood(flood, now);
			errno = ECONNRESET;
			return -1;
		}
		left -= n;
	}
	return len;
}
