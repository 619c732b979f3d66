/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIPPER_H
#define RAWSTACK_SHIPPER_H
/*
 * Moves batches from the spool to the sink: takes a batch, has it symbolized, writes it, and only
 * then acknowledges it. Any step may fail and be tried again: the batch keeps its id, so the sink
 * holds it once. The shipper never sleeps and prints nothing: its caller decides when the next step
 * is.
 */
#include "rawstack/v1/symbolizer.pb-c.h"
#include "sink.h"
#include "spool.h"

/*
 * Symbolizes one request within timeout_ms. Returns 0 and sets *ret, which the caller frees with
 * protobuf_c_message_free_unpacked(), or returns an error code of rpc_client.h.
 */
typedef int shipper_call_fn(void *ctx, const Rawstack__V1__StackBatch *request, uint32_t timeout_ms,
			    Rawstack__V1__SymbolizedBatch **ret, struct err *err);

/*
 * Asks the service which of these ids have a table, and calls ready() for each that has. Returns 0,
 * or negative if the service does not answer.
 */
typedef int shipper_watch_fn(void *ctx, const ProtobufCBinaryData *ids, size_t count,
			     void (*ready)(void *arg, const void *id, size_t len), void *arg,
			     struct err *err);

struct shipper_options {
	const char *spool;   /* directory; need not exist yet */
	struct sink *sink;   /* kept by the caller, outlives the shipper */
	const struct io *io; /* for the spool; NULL is io_system() */
	shipper_call_fn *call;
	shipper_watch_fn *watch; /* NULL: batches are delivered once, whatever they lack */
	void *call_ctx;          /* the ctx of `call` and `watch` */
	/* If several batches are to be under way at a time, each has a thread of its own, which
	 * passes its own ctx to `call`. NULL and 0: one batch at a time, in the caller's thread. */
	void *const *lane_ctxs;
	unsigned int lane_count;
	size_t batch_samples; /* most samples of a batch; 0: 12,500 */
	/* A smaller batch waits until its first sample is this old, except for the first batch. 0:
	 * no batch waits. */
	uint64_t batch_age_ns;
	uint32_t timeout_ms; /* of one call; 0: 10,000 */
};

/* The time between two calls of `watch`. */
#define SHIPPER_WATCH_NS UINT64_C(10000000000)

/* If new answers lack names that a batch at the sink has (a table was evicted meanwhile), the batch
 * stays as it is, and is tried again after this time. */
#define SHIPPER_PUT_OFF_NS UINT64_C(3600000000000)

/* A batch waits this long for tables that the service is making; after a wait in vain, batches are
 * delivered without waiting for the longer time. See shipper_step(). */
#define SHIPPER_BUILDING_NS      UINT64_C(30000000000)
#define SHIPPER_BUILDING_REST_NS UINT64_C(600000000000)

struct shipper;

/* Copies the options, but not what they point to, except `spool`. Returns 0 or an error. */
int shipper_open(struct shipper **ret, const struct shipper_options *options,
		 struct err *err) _must_check_;

/*
 * Ships one batch, while others may be under way behind it. If there is none, it delivers a batch
 * that lacked names again under its id, if `watch` says that tables came and the spool still holds
 * its segment. Returns 1 if the batch is at the sink and acknowledged, or 0 if there is nothing to
 * ship now. If it returns an error, the batch and all that follow it are still in the spool, and
 * the next call tries again.
 *
 * A batch that the service calls malformed (ERR_DATA) is delivered without names, with the reason
 * as a comment, because it must not hold up the batches behind it. A batch whose tables the service
 * is still making fails with ERR_UNAVAILABLE for SHIPPER_BUILDING_NS at most. Then it is delivered
 * with the names there are, and so are all batches of the next SHIPPER_BUILDING_REST_NS: a build
 * may take half an hour, and the spool must not fill up meanwhile.
 */
int shipper_step(struct shipper *s, struct err *err) _must_check_;

/* Sets the time limit of later calls. */
void shipper_set_timeout(struct shipper *s, uint32_t timeout_ms);

/* Counts the samples in the spool that are not acknowledged. Returns 0 or an error. */
int shipper_backlog(struct shipper *s, uint64_t *ret_samples, struct err *err);

/* Ships everything from now on: no batch waits for its age, and none is delivered again. */
void shipper_set_hurry(struct shipper *s);

/* Returns the time from now until the batch that waits is old enough, but at most `most`. */
uint64_t shipper_due_ns(const struct shipper *s, uint64_t most);

/* Returns the number of samples delivered since the start. */
uint64_t shipper_delivered(const struct shipper *s);

struct shipper_stats {
	uint64_t samples, batches; /* delivered since the start */
	uint64_t again;            /* batches delivered another time, with more names */
	uint64_t waiting;          /* batches that wait for names now */
	uint64_t forgotten;        /* batches that no longer wait, because too many others do */
};
void shipper_stats(const struct shipper *s, struct shipper_stats *ret);

/* Sets *ret to the segments that were skipped since the start, because this program does not read
 * their format. */
void shipper_skipped(const struct shipper *s, struct spool_skipped *ret);

void shipper_close(struct shipper *s);
DEFINE_FREEP(struct shipper, shipper_close);

#endif
