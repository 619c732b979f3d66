/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the mappings of processes from /proc, and bounds that work. A stranger may have as many
 * mappings as vm.max_map_count in as many processes as he may start, and can make us lose records
 * at will; so no work here is done for each of his mappings without a bound.
 */
#include <errno.h>
#include <string.h>

#include "limits.h"
#include "procs_priv.h"

/* A process whose reading takes less CPU time than this counts as small (LIMIT_SCANS_CPU_NS). */
#define LIMIT_SCAN_SMALL_NS LIMIT(1000000)

/* The least time between two checks of the mappings of a process. */
#define CHECK_NS UINT64_C(100000000)

static uint64_t procs_cpu_ns(const struct procs *ps)
{
	return ps->source.cpu_ns ? ps->source.cpu_ns(ps->source.ctx) : 0;
}

static uint64_t procs_now_ns(const struct procs *ps)
{
	return ps->source.now_ns ? ps->source.now_ns(ps->source.ctx) : 0;
}

/* Returns the time whose state a reading for a sample at now_ns shows. */
static uint64_t time_of_reading(const struct procs *ps, uint64_t now_ns)
{
	const uint64_t clock_ns = procs_now_ns(ps);

	return clock_ns > now_ns ? clock_ns : now_ns;
}

/* Returns whether a long reading may begin: half of the CPU time is kept for processes that take
 * little. */
static bool may_take_long(struct procs *ps)
{
	return cpu_budget_spares(&ps->scan_budget, LIMIT_SCANS_CPU_NS / 2, ps->modules.now_ns);
}

static bool may_begin(struct procs *ps)
{
	return cpu_budget_allows(&ps->scan_budget, ps->modules.now_ns);
}

static bool is_long(const struct proc *p)
{
	return p->is_partial || p->scan_cost_ns > LIMIT_SCAN_SMALL_NS ||
	       p->maps->count > LIMIT_SCAN_FEW;
}

/* Dates the mappings read for a sample at now_ns: a mapping whose record is still queued was not
 * there yet. Returns the time when all of them were there. */
static uint64_t date_found(const struct procs *ps, const struct proc *p, struct mappings *found,
			   uint64_t now_ns)
{
	const struct event *e;
	uint64_t last_ns = 0;

	mappings_keep_age(found, p->maps, now_ns);
	mappings_set_since(found, now_ns);
	for (size_t at = 0;
	     ps->queue && (e = events_find_mapping(ps->queue, p->pid, now_ns, &at));) {
		mappings_set_younger(found, e->map.start, e->map.end, e->time_ns);
		last_ns = e->time_ns > last_ns ? e->time_ns : last_ns;
	}
	return last_ns;
}

/* Does the same after a loss of records: a mapping counts from now on, or from before if it was
 * there long before the loss. */
static uint64_t date_found_lost(const struct procs *ps, const struct proc *p,
				struct mappings *found, uint64_t now_ns)
{
	const uint64_t read_ns = time_of_reading(ps, now_ns);

	if (p->lost_ns > PROCS_STEADY_NS)
		mappings_keep_age(found, p->maps, p->lost_ns - PROCS_STEADY_NS);
	mappings_set_since(found, read_ns);
	return read_ns;
}

/* --- whether readings agree ------------------------------------------------------------------- */

static bool is_agreed_at(const struct procs_agreed *a, uint64_t at_ns)
{
	uint64_t wanted = PROCS_AGREED_LEAST;

	for (uint32_t i = 0; i < a->misses && wanted < PROCS_AGREED_MOST; i++)
		wanted *= 2;
	return a->count >= wanted && a->since_ns + PROCS_STEADY_NS <= at_ns && at_ns <= a->until_ns;
}

bool procs_is_agreed(const struct proc *p)
{
	return is_agreed_at(&p->agreed, p->at_ns);
}

void procs_disagree(struct proc *p, uint64_t time_ns)
{
	if (time_ns > p->agreed.since_ns)
		p->agreed.count = 0;
}

static void set_gone(struct proc *p)
{
	p->is_gone = true;
	p->agreed.count = 0;
}

/* Returns whether a queued record tells of a file. */
static bool is_file_to_come(const struct procs *ps, const struct proc *p, uint64_t now_ns)
{
	const struct event *e;
	size_t at = 0;

	while (ps->queue && (e = events_find_mapping(ps->queue, p->pid, now_ns, &at)))
		if (e->map.inode)
			return true;
	return false;
}

/* Counts readings that agree. */
static void count_agreed_readings(const struct procs *ps, struct proc *p,
				  const struct procscan *found, uint64_t now_ns)
{
	struct procs_agreed *a = &p->agreed;
	const uint64_t digest = mappings_digest(found->maps), read_ns = time_of_reading(ps, now_ns);

	/* A reading that was cut off says nothing of the rest. */
	if (found->is_cut || p->is_gone) {
		a->count = 0;
		return;
	}
	if (a->count && is_file_to_come(ps, p, now_ns))
		a->count = 0;
	if (a->count && a->digest == digest) {
		a->count++;
		a->until_ns = read_ns;
		return;
	}
	a->misses += is_agreed_at(a, a->until_ns);
	a->since_ns = a->until_ns = read_ns;
	a->digest = digest;
	a->count = 1;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Takes over the result of a reading. */
static void set_found(struct procs *ps, struct proc *p, struct procscan *found, uint64_t now_ns)
{
	p->is_gone = !found->maps->count;
	if (p->is_gone && p->maps->count) {
		p->agreed.count = 0;
		mappings_unref(found->maps);
		module_unref(found->exe);
		return;
	}
	count_agreed_readings(ps, p, found, now_ns);
	p->read_ns = p->lost_ns ? date_found_lost(ps, p, found->maps, now_ns)
				: date_found(ps, p, found->maps, now_ns);
	if (found->first_ended && !p->exit_ns)
		procs_set_exit(ps, p, now_ns);
	mappings_unref(p->maps);
	p->maps = found->maps;
	procs_set_exe(p, found->exe);
	memcpy(p->comm, found->comm, sizeof(p->comm));
	p->as_of_ns = p->lost_ns ? p->read_ns : now_ns;
	p->is_partial = found->is_cut;
	p->is_unsure = p->is_disputed = false;
}

void procs_scan(struct procs *ps, struct proc *p, uint64_t now_ns)
{
	const bool is_free = may_take_long(ps);
	const size_t most = is_free || !ps->source.find ? LIMIT_PROC_MAPPINGS : LIMIT_SCAN_FEW;
	struct procscan found = {.maps = NULL};
	uint64_t began_ns;

	if (!ps->scans_left || ps->modules.now_ns < p->scan_after_ns ||
	    !(is_free || (!is_long(p) && may_begin(ps))))
		return;
	ps->changes++;
	p->must_scan = false;
	began_ns = procs_cpu_ns(ps);
	/* /proc already shows a program whose record is still queued. */
	if (ps->queue && events_has_new_image(ps->queue, p->pid, now_ns)) {
		set_gone(p);
		cpu_budget_spend(&ps->scan_budget, procs_cpu_ns(ps) - began_ns);
		return;
	}
	ps->scans_left--;
	if (ps->source.scan(ps->source.ctx, p->pid, &ps->modules, most, &found))
		set_gone(p); /* what is known of it already stays */
	else
		set_found(ps, p, &found, now_ns);
	p->scan_cost_ns = procs_cpu_ns(ps) - began_ns;
	p->scan_after_ns = ps->modules.now_ns + p->scan_cost_ns * LIMIT_SCAN_DISTANCE;
	cpu_budget_spend(&ps->scan_budget, p->scan_cost_ns);
}

/* Forgets mappings that can no longer be trusted. */
static void forget_mappings(struct procs *ps, struct proc *p)
{
	struct mappings *fresh = mappings_new();

	if (!fresh)
		return;
	ps->changes++;
	mappings_unref(p->maps);
	p->maps = fresh;
	p->agreed.count = 0; /* mappings asked for by address were not compared */
	*(ps->source.find ? &p->is_partial : &p->must_scan) = true;
}

/* Returns whether a queued record will change the mappings of p. */
static bool is_to_change(const struct procs *ps, const struct proc *p, uint64_t now_ns)
{
	size_t at = 0;

	return ps->queue && (events_find_mapping(ps->queue, p->pid, now_ns, &at) ||
			     events_has_new_image(ps->queue, p->pid, now_ns));
}

/* A first thread that ended has no memory, so another thread is asked. */
static uint32_t asked_tid(const struct proc *p, const struct event *e)
{
	return p->exit_ns ? e->tid : e->pid;
}

/* Returns whether known mappings are outdated and no queued record explains it. */
static bool proc_is_outdated(struct procs *ps, struct proc *p, const struct event *e)
{
	if (!ps->source.check || !ps->checks_left || p->is_gone || !p->maps->count ||
	    ps->modules.now_ns - p->checked_ns < CHECK_NS)
		return false;
	p->checked_ns = ps->modules.now_ns;
	ps->checks_left--;
	return ps->source.check(ps->source.ctx, asked_tid(p, e), p->maps) == 0 &&
	       !is_to_change(ps, p, e->time_ns);
}

/* --- by address ------------------------------------------------------------------------------ */

/* Collects the addresses to look up for a user stack; for a caller, the one before the return
 * address. Returns how many were collected within the limits, and in *ret_missing how many of them
 * are in no known mapping. */
static size_t get_lookups(struct procs *ps, struct proc *p, const struct event *e,
			  uint64_t at[static LIMIT_STACK_FRAMES], size_t *ret_missing)
{
	const uint64_t *pcs = (const uint64_t *)e->data + e->sample.kernel_count;
	size_t left, i;

	if (p->finds_ns != ps->modules.now_ns)
		p->finds = 0;
	p->finds_ns = ps->modules.now_ns;
	left = LIMIT_FINDS - p->finds;
	left = left < ps->finds_left ? left : ps->finds_left;
	*ret_missing = 0;
	for (i = 0; i < e->sample.user_count && i < LIMIT_STACK_FRAMES; i++) {
		at[i] = i ? pcs[i] - 1 : pcs[i];
		if (mappings_find(p->maps, at[i]))
			continue;
		if (*ret_missing >= left)
			break;
		++*ret_missing;
	}
	return i;
}

static bool are_mapped(const struct mappings *maps, const uint64_t *at, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (!mappings_find(maps, at[i]))
			return false;
	return true;
}

/* This kernel cannot be asked by address, so such processes are read as a whole. */
static void give_up_finding(struct procs *ps)
{
	ps->source.find = NULL;
	for (size_t i = 0; i < ARRAY_LEN(ps->buckets); i++)
		for (struct proc *p = ps->buckets[i]; p; p = p->next)
			p->must_scan |= p->is_partial;
}

/* Asks for what is missing. Returns whether each frame is now known to be in a mapping or in none.
 */
static bool ask_missing(struct procs *ps, struct proc *p, const struct event *e)
{
	uint64_t at[LIMIT_STACK_FRAMES];
	size_t missing, count = get_lookups(ps, p, e, at, &missing);
	uint64_t version, began_ns;
	int rc;

	if (!missing)
		return count >= e->sample.user_count;
	if (!may_begin(ps) || is_to_change(ps, p, e->time_ns))
		return false;
	/* Most of a full table is mappings that samples do not need. */
	if (p->maps->count + missing > LIMIT_PROC_MAPPINGS) {
		forget_mappings(ps, p);
		count = get_lookups(ps, p, e, at, &missing);
	}
	p->finds += (uint32_t)missing;
	ps->finds_left -= missing;
	began_ns = procs_cpu_ns(ps);
	version = p->maps->version;
	rc = ps->source.find(ps->source.ctx, asked_tid(p, e), &ps->modules, &p->maps, at, count);
	if (p->maps->version != version) {
		ps->changes++;
		mappings_set_since(p->maps, p->lost_ns ? procs_now_ns(ps) : e->time_ns);
	}
	cpu_budget_spend(&ps->scan_budget, procs_cpu_ns(ps) - began_ns);
	if (rc == -ENOTTY)
		give_up_finding(ps);
	else if (rc && rc != -ENOSPC)
		set_gone(p);
	return !rc && (count >= e->sample.user_count || !are_mapped(p->maps, at, count));
}

void procs_look_again(struct procs *ps, struct proc *p, const struct event *e)
{
	if (proc_is_outdated(ps, p, e)) {
		p->must_scan = true;
		procs_scan(ps, p, e->time_ns);
		/* An unresolved frame is better than a wrong one. */
		if (p->must_scan)
			forget_mappings(ps, p);
	}
	p->is_unsure = (p->must_scan || p->is_partial) && !p->is_gone && e->sample.user_count &&
		       !(ps->source.find && ask_missing(ps, p, e));
	p->is_unsure |= p->read_ns != 0;
}

/* --- each poll ------------------------------------------------------------------------------- */

/* Forgets the largest tables: those with more rows than the mean. */
static void shed_mappings(struct procs *ps)
{
	size_t rows = 0;

	for (size_t i = 0; i < ARRAY_LEN(ps->buckets); i++)
		for (const struct proc *p = ps->buckets[i]; p; p = p->next)
			rows += p->maps->count;
	for (size_t i = 0; i < ARRAY_LEN(ps->buckets); i++)
		for (struct proc *p = ps->buckets[i]; p; p = p->next)
			if (p->maps->count > rows / ps->count)
				forget_mappings(ps, p);
}

static void refill_count(size_t *left, size_t some, size_t most)
{
	*left = *left + some < most ? *left + some : most;
}

void procs_poll_reading(struct procs *ps)
{
	ps->checks_left = LIMIT_CHECKS;
	ps->finds_left = LIMIT_FINDS_ALL;
	refill_count(&ps->scans_left, LIMIT_SCANS, LIMIT_SCANS_BURST);
	refill_count(&ps->asks_left, LIMIT_ID_ASKS, LIMIT_ID_ASKS_BURST);
	if (ps->modules.len > LIMIT_PROCS_MAPPINGS_LEN && ps->count)
		shed_mappings(ps);
}
