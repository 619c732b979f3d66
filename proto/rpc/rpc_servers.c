/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_servers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "server_list.h"

struct rpc_servers {
	atomic_uint refs;
	size_t count;
	char names[SERVER_LIST_MAX][SERVER_NAME_LEN];
	pthread_mutex_t lock; /* guards the members below */
	size_t at;            /* in use */
	size_t told;          /* the last one that was logged; 0 before any was */
	uint64_t left_ns;     /* when the first was left, or tried again in vain */
	char why[ERR_MESSAGE_MAX];
};

int rpc_servers_new(struct rpc_servers **ret, const char *list, struct err *err)
{
	_cleanup_(rpc_servers_unrefp) struct rpc_servers *s = calloc(1, sizeof(*s));
	if (!s)
		return err_no_memory(err);
	atomic_init(&s->refs, 1);
	pthread_mutex_init(&s->lock, NULL);
	TRY(server_list_read(list, strlen(list), s->names, &s->count, err));
	*ret = TAKE_PTR(s);
	return 0;
}

struct rpc_servers *rpc_servers_ref(struct rpc_servers *s)
{
	atomic_fetch_add(&s->refs, 1);
	return s;
}

void rpc_servers_unref(struct rpc_servers *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s);
}

size_t rpc_servers_count(const struct rpc_servers *s)
{
	return s->count;
}

const char *rpc_servers_name(const struct rpc_servers *s, size_t number)
{
	return s->names[number];
}

size_t rpc_servers_at(struct rpc_servers *s)
{
	size_t at;

	pthread_mutex_lock(&s->lock);
	at = s->at;
	pthread_mutex_unlock(&s->lock);
	return at;
}

size_t rpc_servers_begin(struct rpc_servers *s, uint64_t now_ns)
{
	size_t at;

	pthread_mutex_lock(&s->lock);
	at = s->at;
	if (at && now_ns - s->left_ns >= RPC_SERVERS_STAY_NS) {
		s->left_ns = now_ns;
		at = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return at;
}

void rpc_servers_away(struct rpc_servers *s, size_t number, const char *why, uint64_t now_ns)
{
	pthread_mutex_lock(&s->lock);
	if (s->at == number) {
		if (!s->at)
			s->left_ns = now_ns;
		s->at = (s->at + 1) % s->count;
		snprintf(s->why, sizeof(s->why), "%s", why);
	}
	pthread_mutex_unlock(&s->lock);
}

void rpc_servers_answered(struct rpc_servers *s, size_t number)
{
	pthread_mutex_lock(&s->lock);
	if (!number)
		s->at = 0;
	if (s->at == number && s->told != number) {
		s->told = number;
		log_info(number ? "%s is used: %s" : "%s is used again", s->names[number], s->why);
	}
	pthread_mutex_unlock(&s->lock);
}
