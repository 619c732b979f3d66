/* SPDX-License-Identifier: Apache-2.0 */
#include "io.h"
#include "limits.h"
#include "rpc_call_priv.h"

/* A call whose client has sent nothing more for this long may be ended when a new call finds no
 * free slot. */
#define LIMIT_CALL_IDLE_NS LIMIT(60000000000)
/* The most bytes of replies, of all calls, that are queued or being sent: some seventy full
 * replies. Above it a call that took none of its replies for LIMIT_UNREAD_NS is ended; if there is
 * none, the new reply is refused. A reply of up to LIMIT_SMALL_REPLY bytes is always sent. */
#define LIMIT_UNREAD_LEN   (256 * MIB)
#define LIMIT_UNREAD_NS    LIMIT(5000000000)
#define LIMIT_SMALL_REPLY  LIMIT(65536)

/* Takes a reference to a call found in a list, and returns false if the call is ending. The caller
 * holds the lock of the calls. */
static bool ref_listed(struct rpc_call *c)
{
	unsigned int refs = atomic_load(&c->refs);

	while (refs && !atomic_compare_exchange_weak(&c->refs, &refs, refs + 1))
		;
	return refs != 0;
}

void rpc_call_end_silent(struct rpc_call *c)
{
	rpc_stat_refuse(c->calls->stat, RPC_REFUSED_SILENT);
	(void)grpc_call_cancel_with_status(c->call, GRPC_STATUS_UNAVAILABLE,
					   "silent, while others wait for a place", NULL);
	rpc_call_unref(c);
}

bool rpc_calls_make_place(struct rpc_calls *calls)
{
	struct rpc_call *c = NULL;
	struct rpc_wait *w;
	uint64_t now = io_mono_ns();

	pthread_mutex_lock(&calls->lock);
	w = rpc_wait_longest(&calls->begun, 0, now);
	if (!w)
		w = rpc_wait_longest(&calls->idle, LIMIT_CALL_IDLE_NS, now);
	if (w) {
		c = OWNER_OF(w, struct rpc_call, asking);
		rpc_wait_end(w);
		if (!ref_listed(c))
			c = NULL;
	}
	pthread_mutex_unlock(&calls->lock);
	if (c)
		rpc_call_end_silent(c);
	return w != NULL;
}

void rpc_call_begin_asking(struct rpc_call *c)
{
	struct rpc_calls *calls = c->calls;

	pthread_mutex_lock(&calls->lock);
	rpc_wait_begin(c->handled ? &calls->idle : &calls->begun, &c->asking, io_mono_ns());
	pthread_mutex_unlock(&calls->lock);
}

void rpc_call_end_asking(struct rpc_call *c)
{
	pthread_mutex_lock(&c->calls->lock);
	rpc_wait_end(&c->asking);
	pthread_mutex_unlock(&c->calls->lock);
}

bool rpc_call_begin_reading(struct rpc_call *c, size_t len, struct rpc_call **ret_slow)
{
	struct rpc_calls *calls = c->calls;
	uint64_t now = io_mono_ns();
	struct rpc_wait *w;
	bool room = true;

	pthread_mutex_lock(&calls->lock);
	if (len > LIMIT_SMALL_REPLY && calls->unread_len + len > LIMIT_UNREAD_LEN) {
		w = rpc_wait_longest(&calls->unread, LIMIT_UNREAD_NS, now);
		room = w != NULL;
		if (w) {
			rpc_wait_end(w);
			*ret_slow = OWNER_OF(w, struct rpc_call, reading);
			if (!ref_listed(*ret_slow))
				*ret_slow = NULL;
		}
	}
	if (room) {
		calls->unread_len += len;
		c->unread_len += len;
		if (!c->reading.list)
			rpc_wait_begin(&calls->unread, &c->reading, now);
	}
	pthread_mutex_unlock(&calls->lock);
	return room;
}

void rpc_call_end_reading(struct rpc_call *c, size_t len)
{
	struct rpc_calls *calls = c->calls;

	if (!len)
		return;
	pthread_mutex_lock(&calls->lock);
	calls->unread_len -= len;
	c->unread_len -= len;
	if (c->unread_len)
		rpc_wait_begin(&calls->unread, &c->reading, io_mono_ns());
	else
		rpc_wait_end(&c->reading);
	pthread_mutex_unlock(&calls->lock);
}
