/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_PROFILE_H
#define RAWSTACK_SPOOL_PROFILE_H
/*
 * Makes a profile of a spool batch. The shipper names locations by answers of a service and
 * delivers it, and the tools show it. Nothing is dropped: a location without a name is shown as
 * "<path>+0x<offset>" or "[reason]", a stack cut at the depth limit ends in "[truncated stack]",
 * and a stack that reaches no function in which threads or processes start has a label
 * (stack_end.h). Losses are comments.
 *
 *	spool_profile_begin(&p, batch, err);
 *	spool_profile_name(&p, ...);		for each location that has names
 *	spool_profile_end(&p, err);		p.profile is whole
 *
 * Names of kernel modules: "[kernel:<name>]" for their .text, else "[kernel:<name>.<section>]".
 */
#include "profile.h"
#include "spool.h"

struct spool_profile {
	struct profile profile;
	const struct spool_batch *batch;
	uint32_t *modules;   /* for each module of the batch its id; PROFILE_NONE: none yet */
	uint32_t *locations; /* likewise for locations */
	int64_t since_ns, until_ns; /* only samples of this time (since 1970) count; 0: any */
};

/* Begins a profile of `batch`, which must stay unchanged until spool_profile_done(). Returns 0 or
 * ERR_MEMORY. */
int spool_profile_begin(struct spool_profile *p, const struct spool_batch *batch,
			struct err *err) _must_check_;
void spool_profile_done(struct spool_profile *p);

/* Names a location. The caller has added the functions of the lines to p->profile. */
void spool_profile_name(struct spool_profile *p, uint32_t location,
			const struct profile_line *lines, size_t count);

/* Names the remaining locations as well as it can, and adds the samples. Returns 0, ERR_LIMIT or
 * ERR_MEMORY. */
int spool_profile_end(struct spool_profile *p, struct err *err) _must_check_;

#endif
