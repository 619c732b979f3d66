/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_flood.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io.h"
#include "limits.h"
#include "log.h"
#include "rpc_frames.h"
#include "tls_bytes.h"

enum {
	/* The bytes before the random of a ClientHello: the heads of the record and of the
	 * handshake message, and the version (RFC 8446 sections 5.1, 4, 4.1.2). */
	HELLO_HEAD_LEN = 11,
	HELLO_LEN = HELLO_HEAD_LEN + TLS_BYTES_RANDOM_LEN,
	HELLOS = 1 << 16, /* handshakes that are found again by their random */
};

/* The account of what was received on a descriptor. gRPC reads a connection on one thread at a
 * time, so only what SSL_read() needs has a lock. */
struct received {
	uint64_t cookie; /* of the socket; 0: the descriptor is not checked */
	struct rpc_frames frames;
	uint8_t hello_len;         /* bytes of `hello` that have arrived */
	uint8_t hello[HELLO_LEN];  /* the first bytes, if they are TLS */
	atomic_bool is_tls, spoke; /* spoke: the handshake is complete */
};

static struct {
	struct received *all; /* by descriptor */
	size_t count;
	atomic_ullong ended;
	atomic_ullong told_ns;
	pthread_mutex_t lock; /* of what follows, and of all[].hello */
	/* SSL_read() knows no descriptor, so this has the descriptor of the handshake that began
	 * last, by the first bytes of its random. A handshake whose place another took counts as
	 * not complete, which matters only while places for connections are short. */
	uint32_t hellos[HELLOS];
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const uint64_t TOLD_NS = UINT64_C(60000000000); /* pause between two lines of the log */

static uint32_t *find_hello(const uint8_t *random)
{
	uint32_t n;

	memcpy(&n, random, sizeof(n));
	return &table.hellos[n % HELLOS];
}

/* Called with the random of a handshake that is complete. */
static void on_handshake(const uint8_t random[static TLS_BYTES_RANDOM_LEN])
{
	struct received *r;

	pthread_mutex_lock(&table.lock);
	r = &table.all[*find_hello(random)];
	if (r->hello_len == HELLO_LEN &&
	    !memcmp(r->hello + HELLO_HEAD_LEN, random, TLS_BYTES_RANDOM_LEN))
		atomic_store(&r->spoke, true);
	pthread_mutex_unlock(&table.lock);
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

static bool look_at_tls(void *state, const void *p, size_t len)
{
	uint64_t now = io_mono_ns();
	const char *flood = rpc_frames_look(state, p, len, now);

	if (flood)
		tell_flood(flood, now);
	return !flood;
}

int rpc_flood_open(size_t descriptors, struct err *err)
{
	static const struct tls_bytes_watcher watcher = {
		.state_len = sizeof(struct rpc_frames),
		.begin = on_handshake,
		.look = look_at_tls,
	};

	if (dlsym(RTLD_DEFAULT, "recvmsg") != (void *)recvmsg)
		return err_set(err, ERR_INTERNAL, "linked without recvmsg() for its libraries");
	if (table.all)
		return 0;
	table.all = calloc(descriptors, sizeof(*table.all)); /* unused pages take no memory */
	if (!table.all)
		return err_no_memory(err);
	table.count = descriptors;
	return tls_bytes_watch(&watcher, err);
}

void rpc_flood_begin(int fd, uint64_t cookie)
{
	if (fd < 0 || (size_t)fd >= table.count)
		return;
	pthread_mutex_lock(&table.lock);
	table.all[fd] = (struct received){.cookie = cookie};
	pthread_mutex_unlock(&table.lock);
}

bool rpc_flood_is_shaking(int fd)
{
	const struct received *r = fd >= 0 && (size_t)fd < table.count ? &table.all[fd] : NULL;

	return r && atomic_load(&r->is_tls) && !atomic_load(&r->spoke);
}

uint64_t rpc_flood_count(void)
{
	return atomic_load(&table.ended);
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

/* Keeps the first bytes of a TLS connection, so that its handshake is known by them. */
static void keep_hello(struct received *r, int fd, const struct msghdr *message, size_t len)
{
	pthread_mutex_lock(&table.lock);
	atomic_store(&r->is_tls, true);
	for (size_t i = 0; len && i < message->msg_iovlen && r->hello_len < HELLO_LEN; i++) {
		const struct iovec *v = &message->msg_iov[i];
		size_t n = v->iov_len < len ? v->iov_len : len;

		len -= n;
		n = n < (size_t)HELLO_LEN - r->hello_len ? n : (size_t)HELLO_LEN - r->hello_len;
		memcpy(r->hello + r->hello_len, v->iov_base, n);
		r->hello_len = (uint8_t)(r->hello_len + n);
	}
	if (r->hello_len == HELLO_LEN)
		*find_hello(r->hello + HELLO_HEAD_LEN) = (uint32_t)fd;
	pthread_mutex_unlock(&table.lock);
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
	if (atomic_load(&r->is_tls) || (!r->frames.begun && begins_tls(message))) {
		if (r->hello_len < HELLO_LEN)
			keep_hello(r, fd, message, (size_t)len);
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
