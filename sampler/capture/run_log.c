/* SPDX-License-Identifier: Apache-2.0 */
#include "run_log.h"

#include <inttypes.h>
#include <sys/wait.h>

#include "log.h"

#define TOLD_NS UINT64_C(60000000000)

/* Returns how many of `count` events were not logged yet and are to be logged now, or 0. */
static uint64_t take_untold(struct run_log_row *row, uint64_t count, uint64_t now_ns)
{
	const uint64_t untold = count - row->told;

	if (!untold || (row->told_ns && now_ns - row->told_ns < TOLD_NS))
		return 0;
	row->told = count;
	row->told_ns = now_ns;
	return untold;
}

void run_log_dropped(struct run_log *l, uint64_t count, enum spool_drop_reason reason,
		     uint64_t now_ns)
{
	static const char *const limits[] = {
		[SPOOL_DROP_SIZE] = "size (--spool-size)",
		[SPOOL_DROP_AGE] = "age (--spool-age)",
		[SPOOL_DROP_FLOOR] = "free disk (--free-floor)",
	};
	const uint64_t untold = take_untold(&l->dropped, count, now_ns);

	if (untold)
		log_warn("%" PRIu64
			 " samples that were not shipped are dropped from the spool, for its limit "
			 "on %s; newer ones are kept",
			 untold, limits[reason]);
}

void run_log_ship_ended(struct run_log *l, int status, uint64_t now_ns)
{
	const bool is_first = !l->ship_ended_count++;
	const uint64_t untold = take_untold(&l->ship_ended, l->ship_ended_count, now_ns);
	const char *how = WIFSIGNALED(status) ? "signal" : "status";
	const int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);

	if (!untold)
		return;
	if (is_first)
		log_warn("rawstack-ship ended with %s %d; it is started again, the spool keeps "
			 "what is not shipped",
			 how, number);
	else
		log_warn("rawstack-ship ended %" PRIu64
			 " times more, the last time with %s %d; it is started again, the spool "
			 "keeps what is not shipped",
			 untold, how, number);
}
