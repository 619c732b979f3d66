/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_FRAMES_H
#define RAWSTACK_RPC_FRAMES_H
/*
 * What a client's bytes are as frames of HTTP/2 (RFC 9113 section 4.1), before gRPC core sees them.
 * Core 1.51 answers each frame, and opens a call for each HEADERS, however many are taken back at
 * once by RST_STREAM: a megabyte of such frames costs it fifty. Here frames that cost the server
 * more than the client are counted, so that a connection that sends a flood of them can be ended.
 * Knows no sockets.
 *
 * One thread at a time for each struct.
 */
#include "base.h"
#include "limits.h"

/* HTTP/2 frames that cost the server much more than the client: cancelled calls, settings, frames
 * without content. The limits are how many come at once and how many more in each further second,
 * first on one connection and then on all of them; nghttp2 takes a thousand at once, too. A
 * cancelled call holds 8 KB until a thread has seen it. When the budget of all connections is used
 * up, each connection still has LIMIT_RESETS_EACH. */
#define LIMIT_RESETS            LIMIT(1000)
#define LIMIT_RESETS_1S         LIMIT(100)
#define LIMIT_RESETS_ALL        LIMIT(8000)
#define LIMIT_RESETS_ALL_1S     LIMIT(2000)
#define LIMIT_RESETS_EACH       LIMIT(16)
/* Pings: some clients measure the line with them for as long as replies come. */
#define LIMIT_PINGS             LIMIT(2000)
#define LIMIT_PINGS_1S          LIMIT(1000)
/* Window updates: a client sends one or two for each reply that it has read. */
#define LIMIT_WINDOW_UPDATES    LIMIT(50000)
#define LIMIT_WINDOW_UPDATES_1S LIMIT(20000)

/* Frames that may come, and how many more each second brings. */
struct rpc_frame_budget {
	uint64_t since_ns;
	uint32_t left;
};

struct rpc_frames {
	uint32_t skip;    /* bytes of the preface, or of a frame, that are still to come */
	uint8_t head[9];  /* of the next frame */
	uint8_t head_len; /* so much of it is there */
	bool begun, is_header_block;
	bool settled;          /* the client has acknowledged our settings */
	uint32_t unsettled;    /* HEADERS before that */
	uint32_t block_len;    /* of the header block that is coming */
	uint32_t block_frames; /* likewise */
	struct rpc_frame_budget resets, pings, settings, windows, others;
};

/*
 * Looks at len more bytes of a connection; `f` was all zero before its first. NULL when they may be
 * read, else what they are too many of, in plural: then the connection is to be ended, and none of
 * the bytes be used. The time is monotonic, and rises.
 */
const char *rpc_frames_look(struct rpc_frames *f, const void *p, size_t len, uint64_t now_ns);

#endif
