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
 * Symbolizes one request: 0 and *ret, freed with protobuf_c_message_free_unpacked(), or negative
 * with the codes of rpc_client.h. timeout_ms bounds it.
 */
typedef int shipper_call_fn(void *ctx, const Rawstack__V1__StackBatch *request, uint32_t timeout_ms,
			    Rawstack__V1__SymbolizedBatch **ret, struct err *err);

/*
 * Asks which of these ids have a table, and calls ready() for each that has. Returns 0, or negative
 * when the service gives no answer now.
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
	void *call_ctx;          /* of both */
	/* For several batches at a time: a context of `call` for each, used by a thread of its own.
	 * NULL and 0: one batch at a time, in the caller's thread. */
	void *const *lane_ctxs;
	unsigned int lane_count;
	size_t batch_samples; /* most samples of a batch; 0: 12,500 */
	/* A smaller batch waits until its first sample is this old, except for the first batch. 0:
	 * no batch waits. */
	uint64_t batch_age_ns;
	uint32_t timeout_ms; /* of one call; 0: 10,000 */
};

/* How often `watch` is asked. */
#define SHIPPER_WATCH_NS UINT64_C(10000000000)

/* A batch stays as it is at the sink when answers lack names that it has (a table was evicted
 * meanwhile), and is tried again after so long. */
#define SHIPPER_PUT_OFF_NS UINT64_C(3600000000000)

/* How long a batch waits for tables that the service is making, and after such a wait in vain how
 * long batches are delivered without waiting; see shipper_step(). */
#define SHIPPER_BUILDING_NS      UINT64_C(30000000000)
#define SHIPPER_BUILDING_REST_NS UINT64_C(600000000000)

struct shipper;

/* Copies the options. */
int shipper_open(struct shipper **ret, const struct shipper_options *options,
		 struct err *err) _must_check_;

/*
 * Ships one batch, while others may be under way behind it. When there is none, a batch that lacked
 * names is delivered again under its id, if `watch` says that tables came and the spool still holds
 * its segment. Returns 1 when the batch is at the sink and acknowledged, and 0 when there is
 * nothing to ship now. When it returns an error, the batch and all that follow it are still in the
 * spool, and the next call tries again.
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

/* Counts the samples in the spool that are not acknowledged. */
int shipper_backlog(struct shipper *s, uint64_t *ret_samples, struct err *err);

/* From now on no batch waits for its age, because everything is to be shipped. */
void shipper_set_hurry(struct shipper *s);

/* Returns the time from now until the youngest batch is old enough, at most `most`. */
uint64_t shipper_due_ns(const struct shipper *s, uint64_t most);

/* Returns the number of samples delivered since the start. */
uint64_t shipper_delivered(const struct shipper *s);

struct shipper_stats {
	uint64_t samples, batches; /* delivered since the start */
	uint64_t again;            /* batches delivered another time, with more names */
	uint64_t waiting;          /* batches that wait for names now */
	uint64_t forgotten;        /* batches no longer waited for, because too many others wait */
};
void shipper_stats(const struct shipper *s, struct shipper_stats *ret);

/* Tells which segments were skipped since the start, because this program does not read their
 * format. */
void shipper_skipped(const struct shipper *s, struct spool_skipped *ret);

void shipper_close(struct shipper *s);
DEFINE_FREEP(struct shipper, shipper_close);

#endif
