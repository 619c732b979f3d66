/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_REQUEST_H
#define RAWSTACK_SHIP_REQUEST_H
/*
 * Makes Symbolize requests of a spool batch. They hold the locations that a service can name, each
 * with the number of samples that count at it, the modules of these locations, and nothing else of
 * the host. A request takes what fits under the limits of a message; the next one takes what is
 * left.
 */
#include "arena.h"
#include "rawstack/v1/symbolizer.pb-c.h"
#include "spool.h"

struct ship_request {
	Rawstack__V1__StackBatch *message;
	const uint32_t *locations; /* the location of the batch for each row of the message */
	size_t count;
};

/* The locations of a batch that a service is still to name. */
struct ship_wanted {
	uint32_t *locations;
	size_t count;
	const uint64_t *weights; /* for each location of the batch: the samples that count at it */
};

/* Lists the locations that a service could name, because they lie in a module with a build id. A
 * sample counts once for each binary it has such frames in, at the innermost of them, so that the
 * weights of a binary's locations add up to its samples. The arrays are the arena's. Returns 0 or
 * ERR_MEMORY. */
int ship_wanted_list(struct ship_wanted *w, const struct spool_batch *b, struct arena *a,
		     struct err *err) _must_check_;

/*
 * Builds the request for the first of the wanted locations, at least for one if there are any.
 * Everything lives in the arena or is borrowed from the batch and from `wanted`. `part` numbers the
 * requests of a batch, which gives each an id of its own, so that Missing counts each once. Returns
 * 0 or ERR_MEMORY.
 */
int ship_request_make(struct ship_request *r, const struct spool_batch *b, uint32_t part,
		      const struct ship_wanted *wanted, struct arena *a,
		      struct err *err) _must_check_;

#endif
