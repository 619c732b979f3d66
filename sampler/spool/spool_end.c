/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_end.h"

#include <string.h>

enum {
	BATCH_SAMPLES = 4096
};

enum spool_end spool_end_of(const struct spool_stack *stack)
{
	static const struct {
		uint32_t flags;
		enum spool_end end;
	} rows[] = {
		{SPOOL_STACK_NO_USER, SPOOL_END_NO_USER_PART},
		{SPOOL_STACK_STALE_EXEC, SPOOL_END_EXEC},
		{SPOOL_STACK_USER_TRUNCATED | SPOOL_STACK_KERNEL_TRUNCATED, SPOOL_END_DEPTH_LIMIT},
		{SPOOL_STACK_IMPLAUSIBLE, SPOOL_END_IMPLAUSIBLE},
		{SPOOL_STACK_READ_FAULT, SPOOL_END_READ_FAULT},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (stack->flags & rows[i].flags)
			return rows[i].end;
	return SPOOL_END_UNVERIFIED;
}

const char *spool_end_name(enum spool_end end)
{
	static const char *const names[] = {
		[SPOOL_END_UNVERIFIED] = "unverified",
		[SPOOL_END_DEPTH_LIMIT] = "depth_limit",
		[SPOOL_END_IMPLAUSIBLE] = "implausible_frame_pointer",
		[SPOOL_END_READ_FAULT] = "read_fault",
		[SPOOL_END_EXEC] = "exec",
		[SPOOL_END_NO_USER_PART] = "no_user_part",
	};

	return names[end];
}

int spool_end_count(uint64_t ret[static SPOOL_END_COUNT], const char *dir, struct err *err)
{
	_cleanup_(spool_reader_closep) struct spool_reader *r = NULL;
	struct spool_batch b;
	int rc = spool_reader_open(&r, dir, NULL, err);

	memset(ret, 0, SPOOL_END_COUNT * sizeof(*ret));
	if (rc)
		return rc;
	spool_reader_from_start(r);
	while ((rc = spool_reader_next(r, BATCH_SAMPLES, &b, err)) == 1)
		for (size_t i = 0; i < b.sample_count; i++)
			ret[spool_end_of(&b.stacks[b.samples[i].stack])] += b.samples[i].weight;
	return rc;
}
