/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_PROFILE_H
#define RAWSTACK_SHIP_PROFILE_H
/*
 * Makes a profile (spool_profile.h) of a spool batch and the answers of a service.
 *
 *	ship_profile_begin(&p, batch, err);
 *	ship_profile_answer(&p, &request, reply, ...);		for each request
 *	ship_profile_end(&p, err);				p.of.profile is whole
 */
#include "ship_request.h"
#include "spool_profile.h"

struct ship_profile {
	struct spool_profile of;
	bool *missing;   /* for each module of the batch: whether the service lacked its table */
	size_t building; /* locations whose table the service is making */
};

int ship_profile_begin(struct ship_profile *p, const struct spool_batch *batch,
		       struct err *err) _must_check_;
void ship_profile_done(struct ship_profile *p);

/*
 * Takes the names of one reply. The locations that the service deferred are put into deferred[],
 * which has room for all of the request, and counted. Returns 0, or ERR_INTERNAL for a reply that
 * does not fit the request (columns of unequal length, an index out of range), of which nothing is
 * taken.
 */
int ship_profile_answer(struct ship_profile *p, const struct ship_request *request,
			const Rawstack__V1__SymbolizedBatch *reply, uint32_t *deferred,
			size_t *ret_deferred, struct err *err) _must_check_;

/* Names the remaining locations by path and offset, and adds the samples. Returns 0, ERR_LIMIT or
 * ERR_MEMORY. */
int ship_profile_end(struct ship_profile *p, struct err *err) _must_check_;

#endif
