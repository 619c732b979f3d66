/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVICE_H
#define RAWSTACK_SERVICE_H
/*
 * The service without connections: each method of rawstack.v1 is a function from request struct to
 * reply struct. service_rpc.h puts them on a server. Safe from any thread.
 *
 * Replies live in the arena that the caller passes, and borrow from the request. Requests come from
 * strangers: a wrong field is ERR_DATA, with a line that names it.
 */
#include "arena.h"
#include "limits.h"
#include "openmetrics.h"
#include "rawstack/v1/binaries.pb-c.h"
#include "rawstack/v1/symbolizer.pb-c.h"
#include "retain_rules.h"
#include "store.h"
#include "symbolize.h"
#include "uploads.h"
#include "watches.h"

/* Bytes of files kept to be used again, unless the configuration says otherwise. */
#define LIMIT_KEPT_LEN (2 * GIB)

struct service;

enum {
	SERVICE_BUILDERS =
		2 /* one client has at most one of them, so no long build blocks another client */
};

struct service_config {
	/* The data directory, made if it does not exist, for one service at a time. Borrowed. */
	const char *data_dir;
	uint64_t store_bytes;  /* budget of the store on disk */
	unsigned int builders; /* builds at once; 0: SERVICE_BUILDERS */
	/* The most that one build may take; 0: LIMIT_WORKER_... */
	uint64_t build_memory, build_cpu_seconds, build_wall_ms;
	const char *version;        /* of the program, for Limits; borrowed for ever; may be NULL */
	const char *worker_path;    /* path of the table worker; NULL: found beside the program */
	uint64_t kept_bytes;        /* budget of kept files on disk */
	bool keep_debug;            /* keep files also when their table lacks nothing */
	bool keep_failed;           /* and files of which no table could be made */
	struct retain_rules retain; /* which tables go before there is no room for them */
	uint32_t builder_version; /* tables of an older builder are rebuilt; 0: that of this program
				   */
	uint16_t table_format;    /* format that is read and stored; 0: that of this program */
	unsigned int maintain_seconds; /* seconds between rounds of maintenance; 0: 60 */
	bool memory_store;             /* for tests: keep the store in memory */
	/* Called once, from any thread, when the store can do nothing more until it is opened anew:
	 * the process has to end with a failure and be started again. May be NULL. */
	void (*failed)(void *ctx);
	void *failed_ctx;
	/* Returns whether a client is still connected. Called from any thread; must not call the
	 * service. NULL: every client counts as connected. */
	bool (*connected)(uint32_t client);
};

/* Opens the service. Returns ERR_EXISTS if another process has the data directory. */
int service_open(struct service **ret, const struct service_config *config,
		 struct err *err) _must_check_;

/* Applies what a running service can change: build_..., keep_..., kept_bytes and retain, for builds
 * that start from now on. */
void service_configure(struct service *s, const struct service_config *config);

/* Logs a line if the store has no table. Called once the service is known to start. */
void service_tell_empty(struct service *s);

/* Starts no more builds, and tells ERR_UNAVAILABLE to callers that wait for one. */
void service_stop(struct service *s);

/*
 * Closes the service after service_stop(), waiting a little for a build that runs. Returns false if
 * the build does not end: then the process has to exit as it is, which loses nothing.
 */
bool service_close(struct service *s);

/* The caller of a method; NULL: nobody in particular. A method that may take long calls cancelled()
 * now and then, and returns ERR_CANCELLED when it is true because the client went away or its
 * deadline passed. */
struct service_caller {
	bool (*cancelled)(void *arg);
	void *arg;
	uint32_t client; /* a number for the client, or 0 */
};

/* --- Symbolizer ------------------------------------------------------------------------------ */

/* Answers a batch. *ret owns the reply; give it back with service_symbolize_done(). */
int service_symbolize(struct service *s, const Rawstack__V1__StackBatch *batch,
		      const struct service_caller *caller, struct symbolize **ret,
		      struct err *err) _must_check_;
void service_symbolize_done(struct service *s, struct symbolize *work);
int service_resolve(struct service *s, const Rawstack__V1__ResolveRequest *request,
		    const struct service_caller *caller, struct arena *arena,
		    Rawstack__V1__ResolveReply *reply, struct err *err);

struct service_stream;

/* Answers one batch of a stream. *stream is its state, NULL before the first batch; end it with
 * service_stream_end() in any case. *ret is valid until the next batch. An error ends the stream.
 */
int service_stream_batch(struct service *s, struct service_stream **stream,
			 const Rawstack__V1__StackBatch *batch, const struct service_caller *caller,
			 const Rawstack__V1__SymbolizedBatch **ret, struct err *err) _must_check_;
void service_stream_end(struct service *s, struct service_stream *stream);

/* --- Binaries: uploads ----------------------------------------------------------------------- */

/* Answers Begin with a status and, if the file is needed, with the id of an upload. client is as in
 * uploads_begin(). */
int service_begin(struct service *s, const Rawstack__V1__BeginRequest *request, uint32_t client,
		  struct arena *arena, Rawstack__V1__BeginReply *reply, struct err *err);

/* Says which identity an upload belongs to, as uploads_own() does. */
void service_own_upload(struct service *s, const uint8_t *token, const struct upload_owner *owner);

/*
 * Takes one chunk of an upload stream. *up is its state, NULL before the first chunk, which names
 * the upload. End the stream with service_upload_end() in any case.
 */
int service_upload(struct service *s, struct upload **up, const Rawstack__V1__UploadChunk *chunk,
		   uint64_t *ret_received, struct err *err);
void service_upload_end(struct service *s, struct upload *up);

/* Answers Finish. If *ret_waits is set, waiter->done() gets the result later; otherwise the reply
 * has it. Errors as uploads_finish(). */
int service_finish(struct service *s, const Rawstack__V1__FinishRequest *request,
		   struct upload_waiter *waiter, struct arena *arena,
		   Rawstack__V1__FinishReply *reply, bool *ret_waits, struct err *err);

/* --- Binaries: the rest ---------------------------------------------------------------------- */

/* The methods below return ERR_DAMAGED if the store is damaged where they read it. */

/* Returns ERR_NOT_FOUND if there is no such binary, or ERR_DAMAGED if damage may hide it. */
int service_get(struct service *s, const Rawstack__V1__GetRequest *request, struct arena *arena,
		Rawstack__V1__Binary **ret, struct err *err);
/* Lists one page of binaries, by id. */
int service_list(struct service *s, const Rawstack__V1__ListRequest *request,
		 const struct service_caller *caller, struct arena *arena,
		 Rawstack__V1__ListReply *reply, struct err *err);
/* An id that is not there is no error: reply->deleted is false then. */
int service_delete(struct service *s, const Rawstack__V1__DeleteRequest *request,
		   Rawstack__V1__DeleteReply *reply, struct err *err);
/* Returns ERR_NOT_FOUND if there is nothing to pin. */
int service_pin(struct service *s, const Rawstack__V1__PinRequest *request, struct err *err);
/* Lists one page of missing ids, those with the greatest weight first. */
int service_missing(struct service *s, const Rawstack__V1__MissingRequest *request,
		    const struct service_caller *caller, struct arena *arena,
		    Rawstack__V1__MissingReply *reply, struct err *err);
/* Opens a watch and tells it which ids are ready already. *ret may be set on failure, too, and has
 * to be closed with watch_close(). */
int service_watch(struct service *s, const Rawstack__V1__WatchRequest *request,
		  const struct watch_reader *reader, struct watch **ret, struct err *err);
void service_limits(struct service *s, Rawstack__V1__LimitsReply *reply);

/* Returns 0 if the service can take all that clients bring, or ERR_UNAVAILABLE with the reason: the
 * disk has no room for uploads and tables, or the store has failed. */
int service_ready(struct service *s, struct err *err);

/* uploads_show() of its uploads. */
size_t service_uploads(struct service *s, struct upload_shown *rows, size_t max);

/* Figures that the program, rather than the service, knows: connections and stuck threads. */
struct service_outside {
	bool ready; /* what /readyz says */
	uint64_t connections, connections_max, connections_ended, connections_refused,
		connections_flooded;
	uint64_t http_answered, http_refused, http_ended; /* as in http_port.h */
	uint64_t stuck_threads, stuck_ns;                 /* as in busy.h */
};

/* Writes the state of the service and *outside. */
void service_metrics(struct service *s, const struct service_outside *outside,
		     struct openmetrics *m);

#endif
