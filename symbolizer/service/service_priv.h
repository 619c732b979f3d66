/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVICE_PRIV_H
#define RAWSTACK_SERVICE_PRIV_H
/* The service, as its parts share it: service.c, service_uploads.c, service_catalog.c,
 * service_resolve.c, service_stream.c, service_metrics.c, service_status.c and service_rest.c. */
#include <pthread.h>

#include "build_queue.h"
#include "dir_lock.h"
#include "histogram.h"
#include "intern.h"
#include "retention.h"
#include "service.h"
#include "symbolize_pool.h"

struct service {
	int data_fd;
	struct dir_lock lock_of_data;
	struct store *store;
	bool is_new; /* no process had opened the store before */
	struct tables *tables;
	struct name_cache *names;
	struct symbolize_pool *pool;
	struct uploads *uploads;
	struct kept_files *kept;
	struct build_queue *queue;
	struct retention *retention;
	unsigned int builders;
	int worker_fd; /* the program of the table worker, opened at the start; -1: none */
	char worker_path[64];
	struct build_limits limits; /* limits of each build, none of them 0; under `lock` */
	struct watches *watches;
	_Atomic size_t stream_bytes; /* memory of all SymbolizeStream calls */
	_Atomic unsigned int stream_count;
	struct {
		_Atomic uint64_t builds, builds_failed, batches, locations, frames, deferred;
	} counts;
	struct histogram lookup_times;

	const char *data_dir; /* for messages */
	const char *version;
	uint64_t started_unix_ns;
	void (*failed)(void *ctx);
	void *failed_ctx;
	pthread_t keeper; /* maintains the store */
	bool keeper_running;
	unsigned int maintain_seconds;
	struct {                   /* owned by the keeper */
		uint64_t requests; /* requests until the last service_rest() */
		bool is_due;       /* malloc may have memory to free */
	} rest;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stopped;
};

/* The limits in a configuration, or the defaults where it has 0. */
struct build_limits service_build_limits(const struct service_config *c);
uint64_t service_kept_bytes(const struct service_config *c);

/* Reads the id in a field of a request; ERR_DATA if it is none. */
int service_id(struct build_id *id, const ProtobufCBinaryData *field, struct err *err);

/* Reads the id as service_id() does, and replaces an alias by the id of its binary. */
int service_find_id(struct service *s, struct build_id *id, const ProtobufCBinaryData *field,
		    struct err *err);

/* Calls symbolize_run() and counts its time. */
int service_look_up(struct service *s, struct symbolize *work, const struct symbolize_env *env,
		    const Rawstack__V1__StackBatch *batch, struct err *err);

/* Replaces an alias by the id of its binary; any other id stays. */
int service_find_alias(struct service *s, struct build_id *id, struct err *err);

/* Counts a reply to a batch. */
void service_count_reply(struct service *s, const Rawstack__V1__SymbolizedBatch *reply);

/* Returns whether a table of the id is being made, from an upload or from a kept file. ctx is the
 * service. */
bool service_is_building(void *ctx, const struct build_id *id);

/* Returns 0, or ERR_CANCELLED when nobody waits for the answer any more. */
int service_check_caller(const struct service_caller *caller, struct err *err);

/* Translates an error of the store: its ERR_DATA is no fault of the request and becomes
 * ERR_DAMAGED. Other codes stay. */
int service_store_error(int rc, struct err *err);

/* Frees memory that requests needed for a while and need no more. The keeper calls it every few
 * seconds, and about once a minute with is_long, when names go as well. */
void service_rest(struct service *s, bool is_long);

/* Returns the bytes that are kept from one request for the next. */
size_t service_kept_memory(struct service *s);

/* Returns what symbolize.h needs of the service. */
struct symbolize_env service_env(struct service *s, const struct service_caller *caller);

static inline void service_read_endp(struct store_read **r)
{
	store_read_end(*r);
}

#endif
