/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SESSION_H
#define RAWSTACK_SESSION_H
/*
 * Runs the sampler once: the backend, which feeds events to the normaliser, which writes the spool,
 * and the shipper beside them. The program parses options; a session owns the order of start and
 * stop. It uses one thread.
 */
#include "backend.h"
#include "backend_choice.h"
#include "procscan.h"
#include "spool.h"

enum {
	SESSION_SHIP_ARGS = 32
};

struct session_options {
	const char *spool_dir;
	const char *comm, *exe; /* regular expressions; NULL: any */
	const char *services;   /* file of rules; NULL: none */
	const char *labels;     /* "key=value,..."; NULL: none */
	struct spool_limits limits;
	enum backend_wanted backend;
	enum procscan_way maps; /* how to read mappings of processes that run already */
	struct backend_options target;
	uint64_t duration_ns;                         /* 0: until a signal */
	const char *ship_server, *ship_out;           /* NULL: no shipper */
	const char *ship_args[SESSION_SHIP_ARGS + 1]; /* NULL after the last */
	size_t ship_arg_count;
};

/* Accounts for every tick: runs = stored + idle + filtered + ring_full + spool_error, exactly. */
struct session_stats {
	const char *backend;
	struct backend_stats source;
	uint64_t stored; /* in the spool */
	uint64_t losses[SPOOL_LOSS_COUNT];
	uint64_t user_frames, unresolved;
	struct err why; /* why nothing can be stored at the end; its code is 0 if samples can be */
};

/*
 * Runs until duration_ns are over or SIGTERM or SIGINT comes; all three are the normal end. SIGHUP
 * is logged and ignored. Problems that do not stop sampling are logged. Returns 0 and sets *ret, or
 * negative if it could not start. If the shipper did not deliver everything, that is logged but no
 * error, because the samples stay in the spool.
 */
int session_run(const struct session_options *options, struct session_stats *ret, struct err *err);

#endif
