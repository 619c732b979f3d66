/* SPDX-License-Identifier: Apache-2.0 */
#include "normalise.h"

#include <string.h>

#include "limits.h"
#include "normalise_priv.h"
#include "perf_ring.h"

/* A sample waits this long for the helper. The answer comes within two polls, unless the machine is
 * so busy that the helper does not run. */
#define PENDING_SAMPLE_NS UINT64_C(2000000000)

void normalise_init(struct normaliser *n, struct spool_writer *spool,
		    const struct procs_source *source, const struct events *queue)
{
	*n = (struct normaliser){
		.spool = spool, .depth_max = perf_stack_depth(), .ids = {.fd = -1}};
	pending_samples_init(&n->pending);
	sample_cache_init(&n->cache);
	procs_init(&n->procs, source, queue);
}

void normalise_done(struct normaliser *n)
{
	cgroups_done(&n->cgroups);
	services_done(&n->services);
	targets_done(&n->targets);
	pending_samples_done(&n->pending);
	late_names_done(&n->late);
	sample_cache_done(&n->cache);
	wanted_segments_done(&n->wanted);
	file_ids_done(&n->ids);
	procs_done(&n->procs);
	kernel_map_done(&n->kernel);
}

/* --- samples --------------------------------------------------------------------------------- */

/* Stands for a thread that is not to be sampled, in place of an index of threads. */
#define THREAD_FILTERED (INTERN_FULL - 1)

static const char *comm_of_event(const struct event *e, const struct proc *p)
{
	return e->sample.comm[0] || !p ? e->sample.comm : p->comm;
}

/* Stores the thread's cgroup, the container and the service that follow from it, and the labels. */
static void put_origin(struct normaliser *n, struct spool_thread *t, const struct proc *p,
		       const struct event *e)
{
	const struct cgroup *g = cgroups_find(&n->cgroups, e->sample.cgroup_id, e->time_ns);
	struct service_subject subject = {.exe = p && p->exe ? p->exe->path : NULL};
	_cleanup_(freep) char *unit = NULL;
	const char *at, *service;
	size_t len;

	if (g) {
		subject.cgroup = g->path;
		t->cgroup = spool_writer_string(n->spool, g->path, g->path_len);
		len = cgroup_container(g->path, g->path_len, &at);
		if (len)
			t->container = spool_writer_string(n->spool, at, len);
		len = cgroup_unit(g->path, g->path_len, &at);
		if (len)
			unit = strndup(at, len);
		subject.unit = unit;
	}
	service = services_find(&n->services, &subject);
	if (service)
		t->service = spool_writer_string(n->spool, service, strlen(service));
	if (n->labels)
		t->labels = spool_writer_string(n->spool, n->labels, strlen(n->labels));
}

static uint32_t put_thread(struct normaliser *n, const struct proc *p, const struct event *e)
{
	struct spool_thread t = SPOOL_THREAD_INIT;
	char comm[EVENT_COMM_LEN + 1] = {0};

	memcpy(comm, comm_of_event(e, p), strnlen(comm_of_event(e, p), EVENT_COMM_LEN));
	if (!targets_match(&n->targets, comm, p && p->exe ? p->exe->path : NULL))
		return THREAD_FILTERED;
	t.pid = e->pid;
	t.tid = e->tid;
	t.start_ns = e->sample.start_ns;
	t.state = e->sample.state;
	t.cgroup_id = e->sample.cgroup_id;
	t.comm = spool_writer_string(n->spool, comm, strlen(comm));
	if (p && p->exe)
		t.exe = spool_writer_string(n->spool, p->exe->path, p->exe->path_len);
	put_origin(n, &t, p, e);
	return spool_writer_thread(n->spool, &t);
}

/* Fills the context of cached results. Returns false if nothing may be cached, because not all is
 * known of the process. */
static bool get_context(const struct normaliser *n, const struct event *e, const struct proc *p,
			struct sample_context *ret)
{
	const bool is_kernel = e->sample.flags & SAMPLE_KERNEL_THREAD;

	*ret = (struct sample_context){
		.maps_version = is_kernel || !p ? 0 : p->maps->version,
		.kernel_version = n->kernel.read_ns,
		.in_exec = frames_in_exec(e),
	};
	return is_kernel || (p && !p->must_scan && !p->is_gone && !p->is_unsure);
}

static uint32_t thread_of_event(struct normaliser *n, const struct proc *p, const struct event *e,
				const struct sample_context *ctx)
{
	/* A sample without a name of its own has that of the process, which may change. */
	const bool is_final = ctx && e->sample.comm[0];
	uint32_t thread = is_final ? sample_cache_thread(&n->cache, e, ctx) : INTERN_FULL;

	if (thread == INTERN_FULL) {
		thread = put_thread(n, p, e);
		if (is_final)
			sample_cache_add_thread(&n->cache, e, ctx, thread);
	}
	return thread;
}

static void write_to_spool(struct normaliser *n, const struct event *e, uint32_t thread,
			   uint32_t stack)
{
	n->samples++;
	spool_writer_sample(n->spool, &(struct spool_sample){
					      .time_ns = e->time_ns,
					      .thread = thread,
					      .stack = stack,
					      .cpu = e->sample.cpu,
					      .weight = 1,
				      });
}

static void write_event_sample(struct normaliser *n, const struct event *e, const struct proc *p)
{
	const uint64_t *pcs = e->data, frames = n->user_frames, unresolved = n->unresolved;
	struct sample_context ctx;
	const bool is_known = get_context(n, e, p, &ctx);
	struct stack s;
	uint32_t thread, stack;

	sample_cache_begin(&n->cache, spool_writer_segment(n->spool));
	thread = thread_of_event(n, p, e, is_known ? &ctx : NULL);
	if (thread == THREAD_FILTERED) {
		n->filtered++;
		return;
	}
	n->is_final = is_known;
	s.count = s.flags = 0;
	frames_put_kernel(n, &s, e, pcs);
	frames_put_user(n, &s, p, e, pcs + e->sample.kernel_count);
	if (!s.count)
		frames_put_pseudo(n, &s, "[no stack: read fault]");
	stack = spool_writer_stack(n->spool, s.frames, s.count, s.flags);
	if (n->is_final && stack != LOCATION_NO_INDEX) {
		const struct placed_stack row = {
			.stack = stack,
			.user_frames = (uint32_t)(n->user_frames - frames),
			.unresolved = (uint32_t)(n->unresolved - unresolved),
		};

		sample_cache_add_stack(&n->cache, e, &ctx, &row);
	}
	write_to_spool(n, e, thread, stack);
}

/* Writes a sample whose stack was placed before. Returns false if it was not. */
static bool write_known(struct normaliser *n, const struct event *e,
			const struct sample_context *ctx, uint32_t thread)
{
	const struct placed_stack *row;

	if (thread == THREAD_FILTERED) {
		n->filtered++;
		return true;
	}
	row = sample_cache_stack(&n->cache, e, ctx);
	if (!row)
		return false;
	n->user_frames += row->user_frames;
	n->unresolved += row->unresolved;
	write_to_spool(n, e, thread, row->stack);
	return true;
}

/* Writes a sample that repeats the one before it in all but its stack. Returns false if something
 * else has changed, or the stack is new. */
static bool write_run(struct normaliser *n, const struct event *e)
{
	struct thread_run *run = sample_cache_run(&n->cache, e);

	if (!e->is_again || run->of != e || run->changes != n->procs.changes ||
	    run->context.kernel_version != n->kernel.read_ns)
		return false;
	run->context.in_exec = frames_in_exec(e);
	return write_known(n, e, &run->context, run->thread);
}

static bool write_again(struct normaliser *n, const struct event *e, const struct proc *p)
{
	struct thread_run *run = sample_cache_run(&n->cache, e);
	struct sample_context ctx;
	uint32_t thread;

	run->of = NULL;
	if (!get_context(n, e, p, &ctx))
		return false;
	thread = thread_of_event(n, p, e, &ctx);
	/* The thread is not cached if its process ended, because each sample must keep that process
	 * in the table, or if it has no name of its own. */
	if (thread != LOCATION_NO_INDEX && e->sample.comm[0] && !(p && p->exit_ns))
		*run = (struct thread_run){e, ctx, n->procs.changes, thread};
	return write_known(n, e, &ctx, thread);
}

/* Asks the helper for what the sample lacks, and returns whether it may still come: the id of a
 * file, or names of code made at run time. If the sample is_new, it waits for every id, because the
 * kernel may tell it with the next sample. */
static bool must_wait(struct normaliser *n, const struct event *e, struct proc *p, bool is_new)
{
	const uint64_t *pcs = (const uint64_t *)e->data + e->sample.kernel_count;
	/* A first thread that ended has no memory and no root any more, so this thread is read. */
	const uint32_t tid = p && p->exit_ns ? e->tid : e->pid;
	bool is_cut, wait = false;
	uint16_t count;

	if (!p)
		return false;
	if (p->maps->has_anonymous && !p->jit)
		p->jit = jit_of(p->pid, e->sample.start_ns, e->time_ns);
	count = frames_plausible_count(n, p, e, pcs, &is_cut);
	for (uint16_t i = 0; i < count; i++) {
		const enum location_mode mode = frames_user_mode(e, i);
		const uint64_t pc = frames_looked_at(pcs[i], mode);
		const struct mapping *m;

		if (frames_is_placed(n, p, pcs[i], mode))
			continue;
		m = procs_find(p, pc);
		if (m && m->module->kind == MODULE_ANONYMOUS && p->jit)
			wait |= jit_want(p->jit, pc, e->time_ns);
		else if (m && m->module->id_state != MODULE_ID_KNOWN &&
			 !procs_identify(&n->procs, p, m, pc, tid) &&
			 !procs_id_from_cache(&n->procs, p, m, e->time_ns))
			wait |= is_new | file_ids_want(&n->ids, m->module, tid, e->time_ns);
	}
	if (p->jit)
		file_ids_ask_jit(&n->ids, p->jit, tid);
	return wait;
}

static void on_sample(struct normaliser *n, const struct event *e)
{
	struct proc *p;

	sample_cache_begin(&n->cache, spool_writer_segment(n->spool));
	if (write_run(n, e))
		return;
	p = procs_of_sample(&n->procs, e);
	if (write_again(n, e, p))
		return;
	if (!must_wait(n, e, p, true) ||
	    !pending_samples_add(&n->pending, e, p, e->time_ns + PENDING_SAMPLE_NS))
		write_event_sample(n, e, p);
}

/* Takes answers first, so that a sample of this poll asks only for what is still missing. */
void normalise_begin(struct normaliser *n, uint64_t now_ns)
{
	procs_begin(&n->procs, now_ns);
	file_ids_poll(&n->ids, now_ns);
	wanted_segments_poll(&n->wanted, &n->ids, n->spool, now_ns);
}

void normalise_poll(struct normaliser *n, uint64_t now_ns, bool is_last)
{
	struct pending_sample **at = &n->pending.first;

	file_ids_poll(&n->ids, now_ns);
	while (*at) {
		struct proc *p = (*at)->has_proc ? &(*at)->proc : NULL;

		if (must_wait(n, &(*at)->sample, p, false) && !is_last &&
		    now_ns < (*at)->until_ns) {
			at = &(*at)->next;
			continue;
		}
		write_event_sample(n, &(*at)->sample, p);
		pending_samples_remove(&n->pending, at);
	}
	/* These come last: requests that samples wait for go first. */
	wanted_segments_poll(&n->wanted, &n->ids, n->spool, now_ns);
	late_names_poll(&n->late, &n->ids, n->spool, now_ns);
}

void normalise_end(struct normaliser *n)
{
	late_names_end(&n->late);
}

bool normalise_is_waiting(const struct normaliser *n)
{
	return n->pending.count || late_names_is_waiting(&n->late);
}

void normalise_event(struct normaliser *n, const struct event *e)
{
	if (e->kind == EVENT_SAMPLE)
		on_sample(n, e);
	else if (e->kind == EVENT_CGROUP)
		cgroups_add(&n->cgroups, e->cgroup.id, e->data, e->data_len, e->time_ns);
	else
		procs_event(&n->procs, e);
}
