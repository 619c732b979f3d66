/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_FRAMES_H
#define RAWSTACK_RPC_FRAMES_H
/*
 * Reads a client's bytes as frames of HTTP/2 (RFC 9113 section 4.1) before gRPC core sees them.
 * Core 1.51 answers each frame and opens a call for each HEADERS, even if RST_STREAM cancels it at
 * once: a megabyte of such frames costs core fifty. So frames that cost the server more than the
 * client are counted here, and a connection that sends a flood of them can be ended. Knows no
 * sockets.
 *
 * One thread at a time for each struct.
 */
#include "base.h"
#include "limits.h"

/* HTTP/2 frames that cost the server much more than the client: cancelled calls, settings, frames
 * without content. The limits say how many may come at once and how many more each second adds,
 * first on one connection and then on all together; nghttp2, too, allows a thousand at once. A
 * cancelled call holds 8 KB until a thread has handled it. When the budget of all connections is
 * used up, each connection still has LIMIT_RESETS_EACH. */
#define LIMIT_RESETS            LIMIT(1000)
#define LIMIT_RESETS_1S         LIMIT(100)
#define LIMIT_RESETS_ALL        LIMIT(8000)
#define LIMIT_RESETS_ALL_1S     LIMIT(2000)
#define LIMIT_RESETS_EACH       LIMIT(16)
/* Pings: some clients measure the bandwidth with them for as long as replies come. */
#define LIMIT_PINGS             LIMIT(2000)
#define LIMIT_PINGS_1S          LIMIT(1000)
/* Window updates: a client sends one or two for each reply that it has read. */
#define LIMIT_WINDOW_UPDATES    LIMIT(50000)
#define LIMIT_WINDOW_UPDATES_1S LIMIT(20000)

/* The number of frames that may still come; each second adds more. */
struct rpc_frame_budget {
	uint64_t since_ns;
	uint32_t left;
};

struct rpc_frames {
	uint32_t skip;    /* bytes of the preface, or of a frame, that are still to come */
	uint8_t head[9];  /* of the next frame */
	uint8_t head_len; /* bytes of `head` that have arrived */
	bool begun;
	bool settled;          /* the client has acknowledged our settings */
	uint32_t unsettled;    /* HEADERS that came before the acknowledgment */
	uint32_t block_len;    /* bytes of the header block that is arriving */
	uint32_t block_frames; /* frames of that header block */
	struct rpc_frame_budget resets, pings, settings, windows, others;
};

/*
 * Checks the next len bytes of a connection; `f` is all zero before the first of them. Returns NULL
 * when the bytes may be used, else the name, in plural, of what there are too many of: then the
 * caller ends the connection and uses none of the bytes. now_ns is monotonic.
 */
const char *rpc_frames_look(struct rpc_frames *f, const void *p, size_t len, uint64_t now_ns);

#endif
