/* SPDX-License-Identifier: Apache-2.0 */
#include "normalise.h"

#include <asm/unistd.h>
#include <string.h>

#include "io.h"
#include "limits.h"

/* How long a sample waits for what the helper reads. The answer is there at the next poll but one,
 * unless the machine is so busy that the helper does not get to run. */
#define HOLD_NS UINT64_C(2000000000)

/* A stack on its way into the spool. */
struct stack {
	uint32_t frames[LIMIT_STACK_FRAMES];
	size_t count;
	uint32_t flags; /* enum spool_stack_flag */
};

void normalise_init(struct normaliser *n, struct spool_writer *spool, procs_scan_fn scan,
		    void *scan_ctx)
{
	_cleanup_(freep) uint8_t *text = NULL;
	unsigned long depth;
	size_t len;

	*n = (struct normaliser){.spool = spool, .depth_max = 127, .ids = {.fd = -1}};
	held_init(&n->held);
	sample_cache_init(&n->cache);
	procs_init(&n->procs, scan, scan_ctx);
	if (io_read_file("/proc/sys/kernel/perf_event_max_stack", 64, &text, &len, NULL))
		return;
	depth = strtoul((const char *)text, NULL, 10);
	if (depth && depth < n->depth_max)
		n->depth_max = (uint16_t)depth;
}

void normalise_done(struct normaliser *n)
{
	cgroups_done(&n->cgroups);
	services_done(&n->services);
	targets_done(&n->targets);
	held_done(&n->held);
	sample_cache_done(&n->cache);
	file_ids_done(&n->ids);
	procs_done(&n->procs);
	kernel_map_done(&n->kernel);
}

static void put(struct normaliser *n, struct stack *s, const struct location *l)
{
	if (s->count < ARRAY_LEN(s->frames))
		s->frames[s->count++] = spool_writer_location(n->spool, l);
}

/* A frame that is not code but a reason, so that the sample keeps its weight. */
static void put_pseudo(struct normaliser *n, struct stack *s, const char *name)
{
	put(n, s,
	    &(struct location){
		    .kind = LOCATION_HOST_NAMED,
		    .reason = HOST_SOURCE_PSEUDO,
		    .module = LOCATION_NO_INDEX,
		    .name = spool_writer_string(n->spool, name, strlen(name)),
	    });
}

static void put_unresolved(struct normaliser *n, struct stack *s, uint64_t pc,
			   enum location_mode mode, enum unresolved_reason reason, uint32_t module)
{
	put(n, s,
	    &(struct location){
		    .kind = LOCATION_UNRESOLVED,
		    .mode = (uint8_t)mode,
		    .reason = (uint8_t)reason,
		    .module = module,
		    .address = pc,
		    .name = LOCATION_NO_INDEX,
	    });
}

/* --- the kernel part ------------------------------------------------------------------------- */

static void put_kernel_frame(struct normaliser *n, struct stack *s, uint64_t pc,
			     enum location_mode mode, uint64_t now_ns)
{
	struct kernel_place place = kernel_map_find(&n->kernel, pc, now_ns);
	struct spool_module kernel = {.id = n->kernel.id, .is_kernel = true};
	struct location l = {
		.mode = (uint8_t)mode,
		.module = LOCATION_NO_INDEX,
		.name = LOCATION_NO_INDEX,
	};

	switch (place.kind) {
	case KERNEL_PLACE_TEXT:
		kernel.path = spool_writer_string(n->spool, "[kernel]", 8);
		l.kind = LOCATION_KERNEL_TEXT;
		l.module = spool_writer_module(n->spool, &kernel);
		l.address = place.off;
		put(n, s, &l);
		return;
	case KERNEL_PLACE_MODULE:
		kernel.id = place.module.id;
		kernel.path = spool_writer_string(n->spool, place.module.module,
						  strlen(place.module.module));
		l.kind = LOCATION_KERNEL_MODULE;
		l.module = spool_writer_module(n->spool, &kernel);
		l.name = spool_writer_string(n->spool, place.module.section,
					     strlen(place.module.section));
		l.address = place.module.off;
		put(n, s, &l);
		return;
	case KERNEL_PLACE_NAMED:
		l.kind = LOCATION_HOST_NAMED;
		l.reason = place.is_bpf ? HOST_SOURCE_BPF : HOST_SOURCE_KALLSYMS;
		l.name = spool_writer_string(n->spool, place.name, strlen(place.name));
		put(n, s, &l);
		return;
	case KERNEL_PLACE_UNKNOWN:
		n->is_final = false;
		put_unresolved(n, s, pc, mode, UNRESOLVED_KERNEL, LOCATION_NO_INDEX);
	}
}

static void put_kernel(struct normaliser *n, struct stack *s, const struct event *e,
		       const uint64_t *pcs)
{
	for (uint16_t i = 0; i < e->sample.kernel_count; i++)
		put_kernel_frame(n, s, pcs[i], i ? LOCATION_RETURN : LOCATION_EXACT, e->time_ns);
	if (e->sample.kernel_count >= n->depth_max)
		s->flags |= SPOOL_STACK_KERNEL_TRUNCATED;
	if (e->sample.kernel_err)
		s->flags |= SPOOL_STACK_NO_KERNEL;
}

/* --- the user part --------------------------------------------------------------------------- */

/* Inside execve() the old image is gone and its registers are still there. */
static bool is_in_exec(const struct event *e)
{
	return e->sample.syscall == __NR_execve || e->sample.syscall == __NR_execveat;
}

static enum location_mode user_mode(const struct event *e, size_t frame)
{
	const bool in_kernel = e->sample.kernel_count > 0;

	const bool in_syscall = e->sample.syscall >= 0 || e->sample.flags & SAMPLE_SYSCALL_UNKNOWN;

	return frame > 0 || (in_kernel && in_syscall) ? LOCATION_RETURN : LOCATION_EXACT;
}

static const struct mapping *user_mapping(const struct proc *p, uint64_t pc,
					  enum location_mode mode)
{
	/* The byte looked at is the one of the call, not of the instruction after it: a call may
	 * be the last one of its mapping. */
	return p ? mappings_find(p->maps, mode == LOCATION_RETURN && pc ? pc - 1 : pc) : NULL;
}

static uint32_t module_row(struct normaliser *n, struct module *m)
{
	struct spool_module row = {.id = m->id};

	if (m->spool_segment != n->cache.segment) {
		row.path = spool_writer_string(n->spool, m->path, m->path_len);
		m->spool_module = spool_writer_module(n->spool, &row);
		m->spool_segment = n->cache.segment;
	}
	return m->spool_module;
}

/* A frame in no mapping: why. */
static enum unresolved_reason no_mapping(struct stack *s, const struct proc *p,
					 const struct event *e)
{
	if (is_in_exec(e)) {
		s->flags |= SPOOL_STACK_STALE_EXEC;
		return UNRESOLVED_STALE_EXEC;
	}
	return !p || (p->is_gone && !p->maps->count) ? UNRESOLVED_PROCESS_GONE
						     : UNRESOLVED_NO_MAPPING;
}

/* Code that a process made itself, by the name it gave it. */
static void put_anonymous(struct normaliser *n, struct stack *s, const struct proc *p, uint64_t pc,
			  enum location_mode mode, uint64_t now_ns)
{
	const char *name =
		p->jit ? jit_find(p->jit, mode == LOCATION_RETURN ? pc - 1 : pc, now_ns) : NULL;

	n->is_final = false;
	if (!name) {
		n->unresolved++;
		put_unresolved(n, s, pc, mode, UNRESOLVED_ANONYMOUS, LOCATION_NO_INDEX);
		return;
	}
	put(n, s,
	    &(struct location){
		    .kind = LOCATION_HOST_NAMED,
		    .mode = (uint8_t)mode,
		    .reason = HOST_SOURCE_PERF_MAP,
		    .module = LOCATION_NO_INDEX,
		    .name = spool_writer_string(n->spool, name, strlen(name)),
	    });
}

static void put_mapped(struct normaliser *n, struct stack *s, const struct mapping *m, uint64_t pc,
		       enum location_mode mode)
{
	struct location l = {
		.mode = (uint8_t)mode,
		.module = LOCATION_NO_INDEX,
		.address = pc - m->start + m->file_off,
		.name = LOCATION_NO_INDEX,
	};

	switch (m->module->kind) {
	case MODULE_ANONYMOUS:
		return; /* put_anonymous() */
	case MODULE_VDSO:
		l.kind = LOCATION_HOST_NAMED;
		l.reason = HOST_SOURCE_VDSO;
		l.name = spool_writer_string(n->spool, "[vdso]", 6);
		put(n, s, &l);
		return;
	case MODULE_FILE:
		break;
	}
	l.module = module_row(n, m->module);
	if (!m->module->id.len) {
		/* The module keeps the path, so that somebody can see what lacks an id. */
		n->unresolved++;
		n->unreadable++;
		put_unresolved(n, s, pc, mode, UNRESOLVED_NO_ID, l.module);
		return;
	}
	l.kind = LOCATION_FILE_OFF;
	put(n, s, &l);
}

static void put_user_frame(struct normaliser *n, struct stack *s, const struct proc *p,
			   const struct event *e, uint64_t pc, enum location_mode mode)
{
	struct cached_frame *known =
		p ? sample_cache_frame(&n->cache, p->maps->version, pc, mode) : NULL;
	const struct mapping *m;

	n->user_frames++;
	if (known && known->location != LOCATION_NO_INDEX && s->count < ARRAY_LEN(s->frames)) {
		s->frames[s->count++] = known->location;
		return;
	}
	m = user_mapping(p, pc, mode);
	if (!m) {
		n->unresolved++;
		put_unresolved(n, s, pc, mode, no_mapping(s, p, e), LOCATION_NO_INDEX);
		return;
	}
	if (m->module->id_state != MODULE_ID_KNOWN)
		n->is_final = false;
	if (m->module->kind == MODULE_ANONYMOUS)
		put_anonymous(n, s, p, pc, mode, e->time_ns);
	else
		put_mapped(n, s, m, pc, mode);
	if (known && m->module->kind == MODULE_FILE && m->module->id.len && s->count)
		known->location = s->frames[s->count - 1];
}

/*
 * How many of the user frames are to be believed. Code without frame pointers leaves anything in
 * their register, and the kernel follows it: a caller in no executable memory is not one, and what
 * comes behind is chance. It is kept, to be seen, as the last one. Nothing can be said of a process
 * whose mappings are not all known. *ret_cut tells whether such a frame ends the stack.
 */
static uint16_t plausible_count(const struct proc *p, const struct event *e, const uint64_t *pcs,
				bool *ret_cut)
{
	*ret_cut = false;
	if (!p || !p->maps->count || p->must_scan || is_in_exec(e))
		return e->sample.user_count;
	for (uint16_t i = 1; i < e->sample.user_count; i++) {
		if (user_mapping(p, pcs[i], LOCATION_RETURN))
			continue;
		*ret_cut = true;
		return i + 1;
	}
	return e->sample.user_count;
}

static void put_user(struct normaliser *n, struct stack *s, const struct proc *p,
		     const struct event *e, const uint64_t *pcs)
{
	const uint16_t shared = e->sample.flags & SAMPLE_SHARED_DEPTH ? e->sample.kernel_count : 0;
	bool is_cut;
	uint16_t count = plausible_count(p, e, pcs, &is_cut);

	for (uint16_t i = 0; i < count; i++)
		put_user_frame(n, s, p, e, pcs[i], user_mode(e, i));
	if (is_cut)
		s->flags |= SPOOL_STACK_IMPLAUSIBLE;
	else if (count + shared >= n->depth_max)
		s->flags |= SPOOL_STACK_USER_TRUNCATED;
	if (e->sample.user_count || e->sample.flags & SAMPLE_KERNEL_THREAD)
		return;
	s->flags |= SPOOL_STACK_NO_USER;
	put_pseudo(n, s,
		   is_in_exec(e)                      ? "[no user stack: exec]"
		   : e->sample.flags & SAMPLE_EXITING ? "[no user stack: exiting]"
						      : "[no user stack: read fault]");
}

/* --- samples --------------------------------------------------------------------------------- */

/* Also "not a target", where a row of threads is expected. */
#define THREAD_FILTERED (INTERN_FULL - 1)

static const char *comm_of(const struct event *e, const struct proc *p)
{
	return e->sample.comm[0] || !p ? e->sample.comm : p->comm;
}

/* Which group it runs in, what that says of its container and its service. */
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

	memcpy(comm, comm_of(e, p), strnlen(comm_of(e, p), EVENT_COMM_LEN));
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

/* False: what is known of the process may change without notice. */
static bool get_context(const struct normaliser *n, const struct event *e, const struct proc *p,
			struct sample_context *ret)
{
	const bool is_kernel = e->sample.flags & SAMPLE_KERNEL_THREAD;

	*ret = (struct sample_context){
		.maps_version = is_kernel || !p ? 0 : p->maps->version,
		.kernel_version = n->kernel.read_ns,
		.in_exec = is_in_exec(e),
	};
	return is_kernel || (p && !p->must_scan && !p->is_gone);
}

static uint32_t thread_of(struct normaliser *n, const struct proc *p, const struct event *e,
			  const struct sample_context *ctx)
{
	/* A name that is the process's, not the sample's, may change. */
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

static void write_sample(struct normaliser *n, const struct event *e, const struct proc *p)
{
	const uint64_t *pcs = e->data, frames = n->user_frames, unresolved = n->unresolved;
	struct sample_context ctx;
	const bool is_known = get_context(n, e, p, &ctx);
	struct stack s;
	uint32_t thread, stack;

	sample_cache_begin(&n->cache, spool_writer_segment(n->spool));
	thread = thread_of(n, p, e, is_known ? &ctx : NULL);
	if (thread == THREAD_FILTERED) {
		n->filtered++;
		return;
	}
	n->is_final = is_known;
	s.count = s.flags = 0;
	put_kernel(n, &s, e, pcs);
	put_user(n, &s, p, e, pcs + e->sample.kernel_count);
	if (!s.count)
		put_pseudo(n, &s, "[no stack: read fault]");
	stack = spool_writer_stack(n->spool, s.frames, s.count, s.flags);
	if (n->is_final && stack != LOCATION_NO_INDEX) {
		const struct cached_stack row = {
			.stack = stack,
			.user_frames = (uint32_t)(n->user_frames - frames),
			.unresolved = (uint32_t)(n->unresolved - unresolved),
		};

		sample_cache_add_stack(&n->cache, e, &ctx, &row);
	}
	write_to_spool(n, e, thread, stack);
}

/* Whether a stack like that was placed already. */
static bool write_again(struct normaliser *n, const struct event *e, const struct proc *p)
{
	const struct cached_stack *row;
	struct sample_context ctx;
	uint32_t thread;

	if (!get_context(n, e, p, &ctx))
		return false;
	sample_cache_begin(&n->cache, spool_writer_segment(n->spool));
	thread = thread_of(n, p, e, &ctx);
	if (thread == THREAD_FILTERED) {
		n->filtered++;
		return true;
	}
	row = sample_cache_stack(&n->cache, e, &ctx);
	if (!row)
		return false;
	n->user_frames += row->user_frames;
	n->unresolved += row->unresolved;
	write_to_spool(n, e, thread, row->stack);
	return true;
}

/* Whether something is missing that may come: an id of a file, names of code made at run time. */
static bool must_wait(struct normaliser *n, const struct event *e, struct proc *p)
{
	const uint64_t *pcs = (const uint64_t *)e->data + e->sample.kernel_count;
	bool is_cut, wait = false;
	uint16_t count;

	if (!p || (!n->procs.modules.unknown_count && !p->maps->has_anonymous))
		return false;
	if (p->maps->has_anonymous && !p->jit)
		p->jit = jit_new();
	count = plausible_count(p, e, pcs, &is_cut);
	for (uint16_t i = 0; i < count; i++) {
		const enum location_mode mode = user_mode(e, i);
		const struct mapping *m = user_mapping(p, pcs[i], mode);

		if (m && m->module->kind == MODULE_ANONYMOUS && p->jit)
			wait |= jit_want(p->jit, mode == LOCATION_RETURN ? pcs[i] - 1 : pcs[i],
					 e->time_ns);
		else if (m && m->module->id_state != MODULE_ID_KNOWN)
			wait |= file_ids_want(&n->ids, m->module, e->pid, e->time_ns);
	}
	if (p->jit)
		file_ids_ask_jit(&n->ids, p->jit, e->pid);
	return wait;
}

static void on_sample(struct normaliser *n, const struct event *e)
{
	struct proc *p = procs_of_sample(&n->procs, e);

	if (write_again(n, e, p))
		return;
	if (!must_wait(n, e, p) || !held_add(&n->held, e, p, e->time_ns + HOLD_NS))
		write_sample(n, e, p);
}

void normalise_poll(struct normaliser *n, uint64_t now_ns, bool is_last)
{
	struct held **at = &n->held.first;

	file_ids_poll(&n->ids, now_ns);
	while (*at) {
		struct proc *p = (*at)->has_proc ? &(*at)->proc : NULL;

		if (!is_last && now_ns < (*at)->until_ns && must_wait(n, &(*at)->sample, p)) {
			at = &(*at)->next;
			continue;
		}
		write_sample(n, &(*at)->sample, p);
		held_remove(&n->held, at);
	}
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
