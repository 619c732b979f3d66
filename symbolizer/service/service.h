/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVICE_H
#define RAWSTACK_SERVICE_H
/*
 * The service without its connections: each method of rawstack.v1 as a function from request struct
 * to reply struct. service_rpc.h puts them on a server. Safe from any thread.
 *
 * Replies live in the arena that is given, and borrow from the request. Requests come from
 * strangers: what is wrong with one is ERR_DATA with a line that names the field.
 */
#include "arena.h"
#include "rawstack/v1/binaries.pb-c.h"
#include "rawstack/v1/symbolizer.pb-c.h"
#include "store.h"
#include "symbolize.h"
#include "uploads.h"
#include "watches.h"

struct service;

enum {
	SERVICE_BUILDERS = 2 /* one client may have one of them: a long build holds nobody else's */
};

struct service_config {
	/* Made if it is not there; one service at a time. Kept, not copied. */
	const char *data_dir;
	uint64_t store_bytes;  /* of the disk, for tables */
	unsigned int builders; /* builds at once; 0: SERVICE_BUILDERS */
	/* What one build may take at most; 0: LIMIT_WORKER_... */
	uint64_t build_memory, build_cpu_seconds, build_wall_ms;
	const char *worker_path; /* of the table worker; NULL: beside the program */
	uint64_t kept_bytes;     /* of the disk, for uploaded files; 0: LIMIT_KEPT_LEN */
	bool keep_debug;         /* keep files also when their table lacks nothing */
	bool keep_failed;        /* and those of which no table could be made */
	uint32_t
		builder_version; /* tables of an older one are made anew; 0: that of this program */
	uint16_t table_format;   /* of what is read and stored; 0: that of this program */
	unsigned int maintain_seconds; /* between rounds of maintenance; 0: 60 */
	bool memory_store;             /* for tests: nothing is kept */
	/* Called once, from any thread, when the store can do nothing more until it is opened anew:
	 * the process is to end, with a failure, and to be started again. NULL: not. */
	void (*failed)(void *ctx);
	void *failed_ctx;
	/* Whether a client is still there; from any thread, asks nothing of the service. NULL: all
	 * are. */
	bool (*connected)(uint32_t client);
};

/* ERR_EXISTS when another process has the data directory. */
int service_open(struct service **ret, const struct service_config *config,
		 struct err *err) _must_check_;

/* Says so in the log when there is no table, once the service is known to start. */
void service_tell_empty(struct service *s);

/* Who waits for a build is told ERR_UNAVAILABLE; nothing new is built. */
void service_stop(struct service *s);

/*
 * Ends what service_stop() left, waiting a little for a build that runs. False when that does not
 * end: the process then has to exit as it is, which loses nothing.
 */
bool service_close(struct service *s);

/* Who asks: NULL, or asked now and then by what may take long, where true (the client went away,
 * its deadline passed) ends the method with ERR_CANCELLED. */
struct service_caller {
	bool (*cancelled)(void *arg);
	void *arg;
	uint32_t client; /* a number for who it is, or 0 */
};

/* --- Symbolizer ------------------------------------------------------------------------------ */

/* The reply is *ret's, which is given back with _done(). */
int service_symbolize(struct service *s, const Rawstack__V1__StackBatch *batch,
		      const struct service_caller *caller, struct symbolize **ret,
		      struct err *err) _must_check_;
void service_symbolize_done(struct service *s, struct symbolize *work);
int service_resolve(struct service *s, const Rawstack__V1__ResolveRequest *request,
		    const struct service_caller *caller, struct arena *arena,
		    Rawstack__V1__ResolveReply *reply, struct err *err);

struct service_stream;

/* One batch of a stream whose state is *stream: NULL before the first, ended with _end() however it
 * went. *ret is valid until the next batch. An error ends the stream. */
int service_stream_batch(struct service *s, struct service_stream **stream,
			 const Rawstack__V1__StackBatch *batch, const struct service_caller *caller,
			 const Rawstack__V1__SymbolizedBatch **ret, struct err *err) _must_check_;
void service_stream_end(struct service *s, struct service_stream *stream);

/* --- Binaries: uploads ----------------------------------------------------------------------- */

/* client: as in uploads.h. */
int service_begin(struct service *s, const Rawstack__V1__BeginRequest *request, uint32_t client,
		  struct arena *arena, Rawstack__V1__BeginReply *reply, struct err *err);

/*
 * One chunk of a stream whose state is *up: NULL before the first chunk, which names the upload.
 * The caller ends the stream with service_upload_end(), however it ended.
 */
int service_upload(struct service *s, struct upload **up, const Rawstack__V1__UploadChunk *chunk,
		   uint64_t *ret_received, struct err *err);
void service_upload_end(struct service *s, struct upload *up);

/* waiter as in uploads.h: done() says all, if *ret_waits; without one the reply does. */
int service_finish(struct service *s, const Rawstack__V1__FinishRequest *request,
		   struct upload_waiter *waiter, struct arena *arena,
		   Rawstack__V1__FinishReply *reply, bool *ret_waits, struct err *err);

/* --- Binaries: the rest ---------------------------------------------------------------------- */

int service_get(struct service *s, const Rawstack__V1__GetRequest *request, struct arena *arena,
		Rawstack__V1__Binary **ret, struct err *err);
int service_list(struct service *s, const Rawstack__V1__ListRequest *request,
		 const struct service_caller *caller, struct arena *arena,
		 Rawstack__V1__ListReply *reply, struct err *err);
int service_delete(struct service *s, const Rawstack__V1__DeleteRequest *request,
		   Rawstack__V1__DeleteReply *reply, struct err *err);
int service_pin(struct service *s, const Rawstack__V1__PinRequest *request, struct err *err);
int service_missing(struct service *s, const Rawstack__V1__MissingRequest *request,
		    const struct service_caller *caller, struct arena *arena,
		    Rawstack__V1__MissingReply *reply, struct err *err);
/* Opens a watch and tells it what is ready already; *ret may be set on failure too, to be closed.
 * client: as in watches.h. */
int service_watch(struct service *s, const Rawstack__V1__WatchRequest *request, uint32_t client,
		  const struct watch_ops *ops, void *arg, struct watch **ret, struct err *err);
void service_limits(struct service *s, Rawstack__V1__LimitsReply *reply);

/* What the program knows of what stands around the service. */
struct service_outside {
	uint64_t connections, connections_max, connections_ended, connections_refused,
		connections_flooded;
	uint64_t stuck_threads, stuck_ns; /* as busy.h has it */
};

/* Appends the state of the service, and of what is around it, as OpenMetrics text. */
void service_metrics(struct service *s, const struct service_outside *outside, struct buf *out);

#endif
