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

/* Returns whether a service could name the location: it lies in a module with a build id. */
bool ship_request_wanted(const struct spool_batch *b, uint32_t location);

/* Returns the number of samples that count at each location of the batch, in an array of the arena,
 * or NULL if memory is short. A sample counts once for each binary it has wanted frames in, at the
 * innermost of them, so that the weights of a binary's locations add up to its samples. */
uint64_t *ship_request_weights(const struct spool_batch *b, struct arena *a);

/*
 * Builds the request for the first locations of `wanted[count]` and sets *ret_taken to their
 * number, which is at least 1 if count is. Everything lives in the arena or is borrowed from the
 * batch. `part` numbers the requests of a batch, which gives each an id of its own, so that Missing
 * counts each once. Returns 0 or ERR_MEMORY.
 */
int ship_request_make(struct ship_request *r, const struct spool_batch *b, uint32_t part,
		      const uint32_t *wanted, size_t count, const uint64_t *weights,
		      struct arena *a, size_t *ret_taken, struct err *err) _must_check_;

#endif
