/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_seen.h"

#include <stdio.h>
#include <string.h>

#include "io.h"
#include "rpc_peer.h"

/* Writes who is at the other end of a connection, without the port. */
static void write_seen_host(const char *peer, char *to, size_t len)
{
	char name[RPC_PEER_NAME_MAX], *port;

	rpc_peer_name(peer, name, sizeof(name));
	port = strrchr(name, ':');
	if (port && strncmp(name, "unix:", 5) != 0)
		*port = '\0';
	snprintf(to, len, "%s", name);
}

/* The caller holds the lock. */
static struct rpc_seen_row *seen_row_of(struct rpc_seen *s, const char *who, const char *host)
{
	struct rpc_seen_row *oldest = &s->rows[0];

	for (size_t i = 0; i < s->count; i++) {
		struct rpc_seen_row *row = &s->rows[i];

		if (!strcmp(row->host, host) && !strcmp(row->who, who))
			return row;
		if (row->last_unix_ns < oldest->last_unix_ns)
			oldest = row;
	}
	if (s->count < RPC_SEEN_MAX)
		oldest = &s->rows[s->count++];
	*oldest = (struct rpc_seen_row){0};
	snprintf(oldest->who, sizeof(oldest->who), "%s", who);
	snprintf(oldest->host, sizeof(oldest->host), "%s", host);
	return oldest;
}

void rpc_seen_note(struct rpc_seen *s, const char *who, const char *peer)
{
	const uint64_t now = io_system()->real_ns(NULL);
	struct rpc_seen_row *row;
	char host[80];

	write_seen_host(peer, host, sizeof(host));
	pthread_mutex_lock(&s->lock);
	row = seen_row_of(s, who, host);
	row->calls++;
	row->last_unix_ns = now;
	pthread_mutex_unlock(&s->lock);
}

size_t rpc_seen_list(struct rpc_seen *s, struct rpc_seen_row *rows, size_t max)
{
	bool taken[RPC_SEEN_MAX] = {false};
	size_t n = 0;

	pthread_mutex_lock(&s->lock);
	for (; n < max && n < s->count; n++) {
		size_t latest = RPC_SEEN_MAX;

		for (size_t i = 0; i < s->count; i++)
			if (!taken[i] && (latest == RPC_SEEN_MAX ||
					  s->rows[i].last_unix_ns > s->rows[latest].last_unix_ns))
				latest = i;
		taken[latest] = true;
		rows[n] = s->rows[latest];
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}
