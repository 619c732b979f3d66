/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_frames.h"

#include <pthread.h>
#include <string.h>

#include "limits.h"

/* RFC 9113 section 6. */
enum frame_type {
	FRAME_DATA = 0,
	FRAME_HEADERS = 1,
	FRAME_RST_STREAM = 3,
	FRAME_SETTINGS = 4,
	FRAME_PING = 6,
	FRAME_WINDOW_UPDATE = 8,
	FRAME_CONTINUATION = 9,
};

enum {
	FLAG_ACK = 1,        /* of SETTINGS and PING */
	FLAG_END_STREAM = 1, /* of DATA */
	PREFACE_LEN = 24,    /* section 3.4; gRPC checks its content */
	/* The 16 KiB of headers that calls may have fit one frame, and clients that split them send
	 * few frames. */
	BLOCK_FRAMES = 16,
};

/* Takes one from the budget and returns whether one was left. At most `burst` may come at once;
 * `per_second` are added each second. */
static bool spend_budget(struct rpc_frame_budget *b, uint64_t burst, uint64_t per_second,
			 uint64_t now_ns)
{
	uint64_t gained = (now_ns - b->since_ns) / (UINT64_C(1000000000) / per_second);

	if (!b->since_ns || gained >= burst - b->left) {
		b->left = (uint32_t)burst;
		b->since_ns = now_ns;
	} else if (gained) {
		b->left += (uint32_t)gained;
		b->since_ns += gained * (UINT64_C(1000000000) / per_second);
	}
	if (!b->left)
		return false;
	b->left--;
	return true;
}

static const char *look_at_block(struct rpc_frames *f, uint32_t len, bool begins)
{
	f->block_len = begins ? len : f->block_len + len;
	f->block_frames = begins ? 1 : f->block_frames + 1;
	if (f->block_len > 4 * LIMIT_METADATA_LEN)
		return "bytes of headers";
	return f->block_frames > BLOCK_FRAMES ? "frames of headers" : NULL;
}

/* Takes one from the budget of all connections, which also bounds a client with many connections
 * and many clients with one each. */
static bool spend_of_all(uint64_t now_ns)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct rpc_frame_budget all;
	bool left;

	pthread_mutex_lock(&lock);
	left = spend_budget(&all, LIMIT_RESETS_ALL, LIMIT_RESETS_ALL_1S, now_ns);
	pthread_mutex_unlock(&lock);
	return left;
}

static const char *take_back(struct rpc_frames *f, uint64_t now_ns)
{
	bool mine = spend_budget(&f->resets, LIMIT_RESETS, LIMIT_RESETS_1S, now_ns);
	bool others = spend_of_all(now_ns);

	return mine && (others || LIMIT_RESETS - f->resets.left <= LIMIT_RESETS_EACH)
		       ? NULL
		       : "calls taken back";
}

static const char *look_at_head(struct rpc_frames *f, uint64_t now_ns)
{
	uint32_t len = (uint32_t)f->head[0] << 16 | (uint32_t)f->head[1] << 8 | f->head[2];
	uint8_t flags = f->head[4];

	f->skip = len;
	switch (f->head[3]) {
	case FRAME_HEADERS:
		/* gRPC holds clients to LIMIT_CONNECTION_CALLS only once they have acknowledged the
		 * settings. */
		if (!f->settled && f->unsettled++ >= LIMIT_CONNECTION_CALLS)
			return "calls before it has acknowledged the settings";
		return look_at_block(f, len, true);
	case FRAME_CONTINUATION:
		return look_at_block(f, len, false);
	case FRAME_RST_STREAM:
		return take_back(f, now_ns);
	case FRAME_PING:
		return flags & FLAG_ACK ||
				       spend_budget(&f->pings, LIMIT_PINGS, LIMIT_PINGS_1S, now_ns)
			       ? NULL
			       : "pings";
	case FRAME_SETTINGS:
		f->settled = f->settled || flags & FLAG_ACK;
		return spend_budget(&f->settings, LIMIT_RESETS, LIMIT_RESETS_1S, now_ns)
			       ? NULL
			       : "settings";
	case FRAME_WINDOW_UPDATE:
		return spend_budget(&f->windows, LIMIT_WINDOW_UPDATES, LIMIT_WINDOW_UPDATES_1S,
				    now_ns)
			       ? NULL
			       : "updates of windows";
	case FRAME_DATA:
		if (len || flags & FLAG_END_STREAM)
			return NULL;
		break;
	default:
		break;
	}
	return spend_budget(&f->others, LIMIT_RESETS, LIMIT_RESETS_1S, now_ns) ? NULL
									       : "empty frames";
}

const char *rpc_frames_look(struct rpc_frames *f, const void *p, size_t len, uint64_t now_ns)
{
	const uint8_t *at = p;

	if (!f->begun) {
		f->begun = true;
		f->skip = PREFACE_LEN;
	}
	while (len) {
		size_t n;

		if (f->skip) {
			n = len < f->skip ? len : f->skip;
			f->skip -= (uint32_t)n;
		} else {
			const char *flood;

			n = sizeof(f->head) - f->head_len;
			n = len < n ? len : n;
			memcpy(f->head + f->head_len, at, n);
			f->head_len = (uint8_t)(f->head_len + n);
			if (f->head_len == sizeof(f->head)) {
				f->head_len = 0;
				flood = look_at_head(f, now_ns);
				if (flood)
					return flood;
			}
		}
		at += n;
		len -= n;
	}
	return NULL;
}
