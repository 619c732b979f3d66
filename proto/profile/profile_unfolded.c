/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds what samples unfold to with their inlined calls, because few bytes can ask for many
 * frames. */
#include <inttypes.h>

#include "limits.h"
#include "profile.h"

/* Frames that all samples together may always unfold to; above it LIMIT_UNFOLDED_FACTOR is the
 * limit. */
#define LIMIT_UNFOLDED_FREE LIMIT(16777216)

/* Counts the frames of each stack. */
static bool count_unfolded_frames(const struct profile *p, uint64_t *frames)
{
	_cleanup_(freep) uint16_t *lines = calloc(p->locations.count + 1, sizeof(*lines));

	if (!lines)
		return false;
	for (uint32_t i = 0; i < p->locations.count; i++) {
		size_t count = profile_location(p, i).line_count;

		lines[i] = (uint16_t)(count ? count : 1);
	}
	for (uint32_t i = 0; i < p->stacks.count; i++) {
		size_t count;
		const uint32_t *locations = profile_stack(p, i, &count);

		for (size_t k = 0; k < count; k++)
			frames[i] += lines[locations[k]];
	}
	return true;
}

static int count_unfolded(const struct profile *p, uint64_t *unfolded, uint64_t *named,
			  struct err *err)
{
	_cleanup_(freep) uint64_t *frames = calloc(p->stacks.count + 1, sizeof(*frames));
	size_t count;

	*unfolded = *named = 0;
	if (!frames || !count_unfolded_frames(p, frames))
		return err_no_memory(err);
	/* At most 2^25 samples of 2^25 frames: the sum does not overflow. */
	for (uint32_t i = 0; i < p->samples.count; i++) {
		uint32_t stack = profile_sample(p, i).stack;

		profile_stack(p, stack, &count);
		*unfolded += frames[stack];
		*named += count;
	}
	return 0;
}

static int refuse_unfolded(uint64_t unfolded, uint64_t named, struct err *err)
{
	return err_set(
		err, ERR_LIMIT,
		"stacks of %" PRIu64 " locations unfold to %" PRIu64
		" frames of inlined calls: more than %d for each; such a profile is damaged, "
		"or made to cost",
		named, unfolded, (int)LIMIT_UNFOLDED_FACTOR);
}

int profile_check_unfolded(const struct profile *p, struct err *err)
{
	uint64_t unfolded, named;
	int rc = count_unfolded(p, &unfolded, &named, err);

	if (rc || unfolded <= LIMIT_UNFOLDED_FREE || unfolded <= LIMIT_UNFOLDED_FACTOR * named)
		return rc;
	return refuse_unfolded(unfolded, named, err);
}

/* A file passes with at most half of LIMIT_UNFOLDED_FACTOR; all other files together share half of
 * LIMIT_UNFOLDED_FREE. So the sum of all files stays below one of the bounds. */
int profile_check_share(const struct profile *p, uint64_t before, uint64_t *ret_unfolded,
			struct err *err)
{
	uint64_t unfolded, named;
	int rc = count_unfolded(p, &unfolded, &named, err);

	*ret_unfolded = 0;
	if (rc || unfolded <= LIMIT_UNFOLDED_FACTOR / 2 * named)
		return rc;
	if (unfolded > LIMIT_UNFOLDED_FREE / 2 - before)
		return refuse_unfolded(unfolded, named, err);
	*ret_unfolded = unfolded;
	return 0;
}
