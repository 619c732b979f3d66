/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_PROFILE_H
#define RAWSTACK_SPOOL_PROFILE_H
/*
 * A spool batch as a profile: what the shipper fills with answers of a service and delivers, and
 * what the tools show of a spool. Nothing is dropped: a location that nobody named is shown as
 * "<path>+0x<offset>" or "[reason]", a stack cut at the depth limit ends in "[truncated stack]",
 * one that reaches no function that threads or processes start in has a label (stack_end.h), losses
 * are comments.
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
	uint32_t *modules;          /* of the batch -> of the profile, PROFILE_NONE: not yet */
	uint32_t *locations;        /* likewise */
	int64_t since_ns, until_ns; /* samples of this time only, since 1970; 0: any */
};

/* `batch` must stay what it is until _done(). */
int spool_profile_begin(struct spool_profile *p, const struct spool_batch *batch,
			struct err *err) _must_check_;
void spool_profile_done(struct spool_profile *p);

/* Functions of the lines are added to p->profile by the caller. */
void spool_profile_name(struct spool_profile *p, uint32_t location,
			const struct profile_line *lines, size_t count);

/* Names what is left as well as it can, and adds the samples. ERR_LIMIT. */
int spool_profile_end(struct spool_profile *p, struct err *err) _must_check_;

#endif
