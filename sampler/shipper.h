/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIPPER_H
#define RAWSTACK_SHIPPER_H
/*
 * From the spool to the sink: takes a batch, has it symbolized, writes it, and only then
 * acknowledges it. Any step may fail and be tried again: the batch keeps its id, so the sink holds
 * it once. Waits for nothing and prints nothing: whoever calls shipper_step() decides when.
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

struct shipper_options {
	const char *spool;   /* directory; need not exist yet */
	struct sink *sink;   /* kept by the caller, outlives the shipper */
	const struct io *io; /* for the spool; NULL is io_system() */
	shipper_call_fn *call;
	void *call_ctx;
	size_t batch_samples; /* most samples of a batch; 0: 50,000 */
	uint32_t timeout_ms;  /* of one call; 0: 10,000 */
};

#define SHIPPER_BUILDING_NS      UINT64_C(30000000000)
#define SHIPPER_BUILDING_REST_NS UINT64_C(600000000000)

struct shipper;

/* Copies the options. */
int shipper_open(struct shipper **ret, const struct shipper_options *options,
		 struct err *err) _must_check_;

/*
 * Ships one batch. 1: it is at the sink and acknowledged; 0: there is nothing to ship now;
 * negative: it is still in the spool, as is all after it, and the next call tries again.
 * A batch that the service calls malformed (ERR_DATA) is delivered without names, with the reason
 * as a comment: it must not hold up what comes after it. One whose tables the service is still
 * making fails with ERR_UNAVAILABLE, but for SHIPPER_BUILDING_NS at most; then it is delivered with
 * the names there are, and so is all of the next SHIPPER_BUILDING_REST_NS: a build may take half an
 * hour, and the spool must not fill up meanwhile.
 */
int shipper_step(struct shipper *s, struct err *err) _must_check_;

/* For calls from now on. */
void shipper_set_timeout(struct shipper *s, uint32_t timeout_ms);

/* Samples in the spool that are not acknowledged. */
int shipper_backlog(struct shipper *s, uint64_t *ret_samples, struct err *err);

/* Samples delivered since the start. */
uint64_t shipper_delivered(const struct shipper *s);

void shipper_close(struct shipper *s);
DEFINE_FREEP(struct shipper, shipper_close);

#endif
