/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_accept.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io.h"
#include "limits.h"
#include "log.h"
#include "rpc_flood.h"
#include "rpc_peer.h"

/* Descriptors that connections leave free for the store, for uploads (one each, and one for the
 * client that takes an upload over), for workers and for their companions. Connections get a
 * quarter of all descriptors in any case. */
#define LIMIT_OWN_DESCRIPTORS LIMIT(640)
/* The most connections, if there are descriptors for so many. Each connection takes 21 KB. */
#define LIMIT_CONNECTIONS     LIMIT(16384)

enum {
	BATCH = 64,    /* 1/BATCH of the connections is ended at once: finding them is slow */
	ENDING = 8,    /* 1/ENDING of all connections may be ending beyond the bound */
	MUTE = 4,      /* 1/MUTE of all may be mute: more than that are no clients that start */
	SPOKEN = 128,  /* bytes: the preface and the settings of HTTP/2 are fewer, a call is more */
	RETRY_MS = 10, /* pause after the table was searched in vain */
	TOLD_MS = 60000,           /* pause between two lines of the log */
	DESCRIPTORS_MAX = 1 << 16, /* connections are below: the lowest free one is taken */
};

/* An accepted connection. Nobody reports its close; another cookie on its descriptor shows it. */
struct connection {
	int fd;
	uint32_t client; /* rpc_peer.h */
	bool ended;
	uint64_t cookie;
};

/* A connection that may be ended. Those that sort first are ended first. */
struct candidate {
	size_t index;
	uint64_t order;  /* its position in the order of acceptance */
	uint64_t silent; /* ms since its last bytes; on a Unix socket see rank_unix() */
	pid_t pid;       /* the client's, on a Unix socket; else 0 */
	bool gone;       /* the client has closed it, and the server has not noticed yet */
	bool mute;       /* the client has made no call yet, or not completed its handshake */
};

static struct {
	pthread_mutex_t lock;
	struct connection *connections; /* in the order of acceptance */
	struct candidate *candidates;
	size_t count, capacity;
	struct rpc_accept_stat stat;
	size_t room; /* connections that can be accepted before the table is searched again */
	uint64_t not_before_ns;
	uint64_t told_ns;
	int spare_fd;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .spare_fd = -1};

static uint64_t cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) ? 0 : cookie;
}

/* Removes the connections that were closed. Returns how many of the others have not been ended. */
static size_t drop_closed(void)
{
	size_t kept = 0, live = 0;

	for (size_t i = 0; i < table.count; i++) {
		const struct connection *c = &table.connections[i];

		if (cookie_of(c->fd) != c->cookie)
			continue;
		live += !c->ended;
		table.connections[kept++] = *c;
	}
	table.count = kept;
	return live;
}

static bool peer_is_gone(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 1;
}

static void describe_connection(struct candidate *to, size_t index)
{
	int fd = table.connections[index].fd;
	struct tcp_info tcp = {0};
	struct ucred peer = {0};
	socklen_t len = sizeof(tcp);

	*to = (struct candidate){.index = index, .order = index, .gone = peer_is_gone(fd)};
	if (!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &len) &&
	    len >= offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(uint64_t)) {
		to->silent = tcp.tcpi_last_data_recv;
		to->mute = tcp.tcpi_bytes_received < SPOKEN || rpc_flood_is_shaking(fd);
		return;
	}
	len = sizeof(peer);
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		to->pid = peer.pid;
}

static int compare_process(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->order < y->order) - (x->order > y->order);
}

static int compare_silence(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->gone != y->gone)
		return x->gone ? -1 : 1;
	if (x->mute != y->mute)
		return x->mute ? -1 : 1;
	if (x->silent != y->silent)
		return x->silent > y->silent ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* The kernel does not say when a Unix socket was written to last. So the process that has the most
 * connections loses its oldest one first: `silent` counts the younger ones of the same process. */
static void rank_unix(struct candidate *all, size_t count)
{
	qsort(all, count, sizeof(*all), compare_process);
	for (size_t i = 1; i < count; i++)
		if (all[i].pid && all[i].pid == all[i - 1].pid)
			all[i].silent = all[i - 1].silent + 1;
}

/*
 * Ends `wanted` connections, or more if too many are mute: first those that the client has closed,
 * so that clients which come and go cost nobody else a place, then the silent ones. The server sees
 * the end of the stream and closes them a little later. If a descriptor is closed and reused
 * between the check of the cookie and shutdown(), it is a file, which cannot be shut down, or a
 * younger connection, whose client connects again.
 */
static void end_silent(size_t wanted)
{
	size_t count = 0, mute = 0;

	for (size_t i = 0; i < table.count; i++)
		if (!table.connections[i].ended)
			describe_connection(&table.candidates[count++], i);
	rank_unix(table.candidates, count);
	qsort(table.candidates, count, sizeof(*table.candidates), compare_silence);
	for (size_t i = 0; i < count; i++)
		mute += table.candidates[i].gone || table.candidates[i].mute;
	if (mute > wanted + (size_t)table.stat.max / MUTE)
		wanted = mute - (size_t)table.stat.max / MUTE;
	for (size_t i = 0; i < count && i < wanted; i++) {
		struct connection *c = &table.connections[table.candidates[i].index];

		if (cookie_of(c->fd) == c->cookie)
			(void)shutdown(c->fd, SHUT_RDWR);
		c->ended = true;
		table.stat.ended++;
	}
}

static void tell_connections(uint64_t now)
{
	if (table.told_ns && now - table.told_ns < TOLD_MS * UINT64_C(1000000))
		return;
	table.told_ns = now;
	log_warn("all %llu connections are taken: those that have been silent for the longest end "
		 "(%llu so far, and %llu were refused); LimitNOFILE= of the unit allows more",
		 (unsigned long long)table.stat.max, (unsigned long long)table.stat.ended,
		 (unsigned long long)table.stat.refused);
}

/* Returns whether there is a place for one more connection, after ending others if necessary. */
static bool make_connection_room(void)
{
	size_t batch = (size_t)table.stat.max / BATCH + 1, live;
	uint64_t now;

	if (table.room)
		return true;
	now = io_mono_ns();
	if (now < table.not_before_ns)
		return false;
	live = drop_closed();
	if (table.count + batch > table.capacity) {
		table.not_before_ns = now + RETRY_MS * UINT64_C(1000000);
		tell_connections(now);
		return false;
	}
	if (live + batch > table.stat.max) {
		end_silent(live + batch - (size_t)table.stat.max);
		tell_connections(now);
	} else if (live + batch > table.stat.max / MUTE) {
		end_silent(0);
	}
	table.room = batch;
	return true;
}

/* Adds an accepted connection to the table. Returns false if there is no place for it. */
static bool admit_connection(int fd, uint32_t client)
{
	bool stays = true;

	pthread_mutex_lock(&table.lock);
	if (table.stat.max) {
		stays = make_connection_room();
		if (stays) {
			table.room--;
			table.connections[table.count] = (struct connection){
				.fd = fd, .client = client, .cookie = cookie_of(fd)};
			rpc_flood_begin(fd, table.connections[table.count++].cookie);
		} else {
			table.stat.refused++;
		}
	}
	pthread_mutex_unlock(&table.lock);
	return stays;
}

/* Refuses one connection when no descriptor is left: accept() needs one, so a spare is kept for it.
 * Returns false when there is no spare either. */
static bool refuse_one(int listener)
{
	bool refused = false;
	int fd;

	pthread_mutex_lock(&table.lock);
	if (table.spare_fd >= 0)
		close(table.spare_fd);
	fd = (int)syscall(SYS_accept4, listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		table.stat.refused++;
		refused = true;
	}
	table.spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pthread_mutex_unlock(&table.lock);
	return refused;
}

/* Replaces libc's accept4() for all libraries of the program, as the header explains. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's are reserved. */
__attribute__((visibility("default"))) int accept4(int listener, __SOCKADDR_ARG address,
						   socklen_t *restrict address_len, int flags)
{
	socklen_t len = address_len ? *address_len : 0;

	for (;;) {
		int fd;

		if (address_len)
			*address_len = len;
		fd = (int)syscall(SYS_accept4, listener, address.__sockaddr__, address_len, flags);
		if (fd >= 0) {
			uint32_t client = 0;

			if (address.__sockaddr__ && address_len) {
				rpc_peer_write(fd, address.__sockaddr__, len, address_len);
				client = rpc_peer_of_address(address.__sockaddr__, *address_len);
			}
			if (admit_connection(fd, client))
				return fd;
			close(fd);
			continue;
		}
		switch (errno) {
		case EMFILE:
		case ENFILE:
			if (refuse_one(listener))
				continue;
			errno = EAGAIN;
			return -1;
		case ENOBUFS:
		case ENOMEM:
			errno = EAGAIN;
			return -1;
		/* accept(2): network errors that belong to the connection, not to the listener. */
		case ECONNABORTED:
		case EHOSTDOWN:
		case EHOSTUNREACH:
		case ENETDOWN:
		case ENETUNREACH:
		case ENONET:
		case ENOPROTOOPT:
		case EPERM:
		case EPROTO:
			continue;
		default:
			return -1;
		}
	}
}

bool rpc_accept_has(uint32_t client)
{
	bool found;

	pthread_mutex_lock(&table.lock);
	found = !table.stat.max;
	for (size_t i = 0; !found && i < table.count; i++)
		found = table.connections[i].client == client &&
			cookie_of(table.connections[i].fd) == table.connections[i].cookie;
	pthread_mutex_unlock(&table.lock);
	return found;
}

int rpc_accept_bound(struct err *err)
{
	uint64_t own, max;
	struct rlimit l;
	int rc = 0;

	if (dlsym(RTLD_DEFAULT, "accept4") != (void *)accept4)
		return err_set(err, ERR_INTERNAL, "linked without accept4() for its libraries");
	if (getrlimit(RLIMIT_NOFILE, &l))
		return err_sys(err, errno, "RLIMIT_NOFILE");
	own = l.rlim_cur / 4 * 3;
	own = own < LIMIT_OWN_DESCRIPTORS ? own : LIMIT_OWN_DESCRIPTORS;
	max = l.rlim_cur - own < LIMIT_CONNECTIONS ? l.rlim_cur - own : LIMIT_CONNECTIONS;
	rc = rpc_flood_open(l.rlim_cur < DESCRIPTORS_MAX ? (size_t)l.rlim_cur : DESCRIPTORS_MAX,
			    err);
	if (rc)
		return rc;
	pthread_mutex_lock(&table.lock);
	if (!table.stat.max) {
		table.capacity = (size_t)(max + max / ENDING) + 1;
		table.connections = calloc(table.capacity, sizeof(*table.connections));
		table.candidates = calloc(table.capacity, sizeof(*table.candidates));
		table.spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (!table.connections || !table.candidates)
			rc = err_no_memory(err);
		else if (table.spare_fd < 0)
			rc = err_sys(err, errno, "/dev/null");
		else
			table.stat.max = max;
	}
	pthread_mutex_unlock(&table.lock);
	return rc;
}

void rpc_accept_stat(struct rpc_accept_stat *ret)
{
	pthread_mutex_lock(&table.lock);
	table.stat.open = table.stat.max ? drop_closed() : 0;
	*ret = table.stat;
	ret->flooded = rpc_flood_count();
	pthread_mutex_unlock(&table.lock);
}
