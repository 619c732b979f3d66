/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "limits.h"
#include "procs_priv.h"

/* A process is kept for this time after its exit, because its samples may come that much later. A
 * thread that sleeps for longer after the first one ended makes its process known anew. */
#define EXIT_KEEP_NS UINT64_C(1000000000)
/* Sweeps are this far apart, because one looks at every known process, which costs more than
 * keeping some a little longer. */
#define SWEEP_NS     UINT64_C(1000000000)

void procs_init(struct procs *ps, const struct procs_source *source, const struct events *queue)
{
	*ps = (struct procs){
		.source = *source,
		.queue = queue,
		.scans_left = LIMIT_SCANS_BURST,
		.asks_left = LIMIT_ID_ASKS_BURST,
		.checks_left = LIMIT_CHECKS,
		.finds_left = LIMIT_FINDS_ALL,
		.scan_budget = cpu_budget_of(LIMIT_SCANS_CPU_NS, 0),
	};
	modules_init(&ps->modules);
}

static struct proc **proc_slot_of(struct procs *ps, uint32_t pid)
{
	struct proc **at = &ps->buckets[pid % ARRAY_LEN(ps->buckets)];

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	return at;
}

void procs_set_exe(struct proc *p, struct module *exe)
{
	module_unref(p->exe);
	p->exe = exe;
}

void procs_set_exit(struct procs *ps, struct proc *p, uint64_t exit_ns)
{
	ps->ended_count += !p->exit_ns && exit_ns;
	ps->ended_count -= p->exit_ns && !exit_ns;
	p->exit_ns = exit_ns;
}

static void remove_proc(struct procs *ps, struct proc **at)
{
	struct proc *p = *at;

	ps->changes++;
	procs_set_exit(ps, p, 0);
	*at = p->next;
	procs_set_exe(p, NULL);
	jit_unref(p->jit);
	mappings_unref(p->maps);
	free(p);
	ps->count--;
}

void procs_done(struct procs *ps)
{
	for (size_t i = 0; i < ARRAY_LEN(ps->buckets); i++)
		while (ps->buckets[i])
			remove_proc(ps, &ps->buckets[i]);
	for (size_t i = 0; i < ARRAY_LEN(ps->build_id_cache); i++)
		module_unref(ps->build_id_cache[i].module);
	modules_done(&ps->modules);
}

/* Notes that records of p may be missing, if those at time_ns may be. Consecutive losses count as
 * one, because what is seen between them may be the same by chance. */
static void set_lost(const struct procs *ps, struct proc *p, uint64_t time_ns)
{
	if (!ps->lost_until_ns || time_ns > ps->lost_until_ns)
		return;
	if (!p->lost_ns)
		p->lost_ns = ps->lost_ns;
	p->lost_until_ns = ps->lost_until_ns;
	if (p->read_ns != PROCS_UNREAD && p->read_ns >= p->lost_until_ns)
		return; /* it was read after this loss too */
	p->read_ns = PROCS_UNREAD;
	p->must_scan = true;
}

/* Returns the process of that pid, a new one if there is none, or NULL above LIMIT_PROCS or when
 * out of memory. */
static struct proc *get_proc(struct procs *ps, uint32_t pid, uint64_t now_ns)
{
	struct proc **at = proc_slot_of(ps, pid), *p = *at;

	if (p)
		return p;
	if (ps->count >= LIMIT_PROCS)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->maps = mappings_new();
	if (!p->maps) {
		free(p);
		return NULL;
	}
	p->pid = pid;
	p->must_scan = true;
	set_lost(ps, p, now_ns);
	p->next = *at;
	*at = p;
	ps->count++;
	return p;
}

/* Forgets all but the pid: another process has it now, or the process executed another program. */
static void clear_proc(const struct procs *ps, struct proc *p, uint64_t now_ns)
{
	struct mappings *fresh = mappings_new();

	if (fresh) {
		mappings_unref(p->maps);
		p->maps = fresh;
	} else {
		p->must_scan = true;
	}
	procs_set_exe(p, NULL);
	jit_unref(p->jit);
	p->jit = NULL;
	p->is_gone = p->is_silent = p->is_partial = p->is_unsure = false;
	p->is_disputed = false;
	p->namespaces = 0;
	p->lost_ns = p->lost_until_ns = p->read_ns = 0;
	p->agreed = (struct procs_agreed){0};
	p->began_ns = now_ns;
	set_lost(ps, p, now_ns);
}

static void restart_proc(struct procs *ps, struct proc *p, uint64_t now_ns)
{
	ps->changes++;
	clear_proc(ps, p, now_ns);
	procs_set_exit(ps, p, 0);
	p->start_ns = p->scan_cost_ns = p->scan_after_ns = 0;
	p->comm[0] = 0;
}

/* --- events ---------------------------------------------------------------------------------- */

static void on_fork(struct procs *ps, const struct event *e)
{
	struct proc *parent, *p;

	if (e->pid == e->fork.parent_pid) /* a thread */
		return;
	p = get_proc(ps, e->pid, e->time_ns);
	if (!p || e->time_ns < p->as_of_ns)
		return;
	restart_proc(ps, p, e->time_ns);
	p->as_of_ns = e->time_ns;
	parent = get_proc(ps, e->fork.parent_pid, e->time_ns);
	if (!parent)
		return;
	/* The parent is read now, because the child may be gone before anybody looks. */
	if (parent->must_scan)
		procs_scan(ps, parent, e->time_ns);
	p->must_scan = p->lost_ns || e->time_ns < parent->read_ns || parent->must_scan ||
		       parent->is_gone || !parent->maps->count;
	p->is_partial = parent->is_partial;
	p->agreed = parent->agreed; /* it holds as long as readings of the child find the same */
	p->scan_cost_ns = parent->scan_cost_ns;
	/* Mappings read of the parent after the fork do not hold for the child. */
	if (e->time_ns >= parent->read_ns) {
		mappings_unref(p->maps);
		p->maps = mappings_ref(parent->maps);
	}
	if (parent->exe)
		procs_set_exe(p, module_ref(parent->exe));
	memcpy(p->comm, parent->comm, sizeof(p->comm));
}

static void on_comm(struct procs *ps, const struct event *e)
{
	struct proc *p = get_proc(ps, e->pid, e->time_ns);
	size_t len = e->data_len < EVENT_COMM_LEN ? e->data_len : EVENT_COMM_LEN;

	if (!p || e->time_ns < p->as_of_ns)
		return;
	if (e->comm.is_exec) {
		clear_proc(ps, p, e->time_ns);
		p->as_of_ns = e->time_ns;
		/* All its mappings are reported from here on, unless records are missing. */
		p->must_scan = p->lost_ns != 0;
	}
	if (e->tid == e->pid) {
		memcpy(p->comm, e->data, len);
		p->comm[len] = 0;
	}
}

/* Returns whether exactly this mapping is known already: a program may map and unmap in a loop. */
static bool is_mapped(const struct proc *p, const struct event *e, const struct file_key *file)
{
	const struct mapping *m = mappings_find(p->maps, e->map.start);

	return m && m->start == e->map.start && m->end == e->map.end &&
	       m->file_off == e->map.file_off && !m->is_asked && p->exe &&
	       module_is_file(m->module, file, e->data, e->data_len);
}

static void on_map(struct procs *ps, const struct event *e)
{
	const struct build_id none = {.kind = BUILD_ID_NONE};
	const struct file_key file = {e->map.dev, e->map.inode, e->map.generation};
	struct mapping row = {.start = e->map.start,
			      .end = e->map.end,
			      .file_off = e->map.file_off,
			      .since_ns = e->time_ns};
	struct proc *p = get_proc(ps, e->pid, e->time_ns);

	if (!p)
		return;
	/* A mapping without a file does not count: programs that make code create them all the
	 * time. */
	if (p->agreed.count && module_kind_of(e->data, e->data_len) == MODULE_FILE)
		procs_disagree(p, e->time_ns);
	if (e->time_ns < p->as_of_ns)
		return;
	if (is_mapped(p, e, &file)) {
		mappings_set_younger(p->maps, row.start, row.end, row.since_ns);
		return;
	}
	p->checked_ns = 0; /* a record that deferred a new reading may be this one */
	row.module = module_get(&ps->modules, &none, &file, e->data, e->data_len);
	if (!row.module || !mappings_add(&p->maps, &row))
		*(ps->source.find ? &p->is_partial : &p->must_scan) = true;
	else if (row.module->kind == MODULE_FILE && !p->exe)
		/* The kernel maps the program itself first, then its interpreter. */
		procs_set_exe(p, module_ref(row.module));
	module_unref(row.module);
}

static void on_end(struct procs *ps, const struct event *e)
{
	struct proc *p = e->tid == e->pid ? *proc_slot_of(ps, e->pid) : NULL;

	if (p && e->time_ns >= p->as_of_ns)
		procs_set_exit(ps, p, e->time_ns);
}

static void on_lost(struct procs *ps, const struct event *e)
{
	ps->lost_ns = e->time_ns ? e->time_ns : 1;
	if (ps->lost_ns > ps->lost_until_ns)
		ps->lost_until_ns = ps->lost_ns;
	if (e->lost.until_ns > ps->lost_until_ns)
		ps->lost_until_ns = e->lost.until_ns;
	for (size_t i = 0; i < ARRAY_LEN(ps->buckets); i++) {
		for (struct proc *p = ps->buckets[i]; p; p = p->next) {
			set_lost(ps, p, e->time_ns);
			mappings_touch(p->maps);
		}
	}
}

struct proc *procs_of_start(struct procs *ps, uint32_t pid, uint64_t start_ns, uint64_t now_ns,
			    bool has_memory)
{
	struct proc *p = get_proc(ps, pid, now_ns);

	if (!p)
		return NULL;
	if (p->start_ns && start_ns && p->start_ns != start_ns) {
		restart_proc(ps, p, now_ns);
		p->must_scan = true;
	}
	if (start_ns)
		p->start_ns = start_ns;
	/* A sample after the exit of the first thread shows that other threads live. */
	if (p->exit_ns && now_ns > p->exit_ns)
		procs_set_exit(ps, p, now_ns);
	if (p->must_scan && has_memory)
		procs_scan(ps, p, now_ns);
	p->at_ns = now_ns;
	if (p->read_ns && now_ns >= p->read_ns)
		p->lost_ns = p->lost_until_ns = p->read_ns = 0;
	return p;
}

/* --- all of it ------------------------------------------------------------------------------- */

void procs_event(struct procs *ps, const struct event *e)
{
	ps->changes++;
	switch ((enum event_kind)e->kind) {
	case EVENT_FORK:
		on_fork(ps, e);
		break;
	case EVENT_COMM:
		on_comm(ps, e);
		break;
	case EVENT_MAP:
		on_map(ps, e);
		break;
	case EVENT_EXIT:
		on_end(ps, e);
		break;
	case EVENT_LOST:
		on_lost(ps, e);
		break;
	case EVENT_HINT:
		procs_on_hint(ps, e);
		break;
	case EVENT_SAMPLE:
	case EVENT_CGROUP:
		break;
	}
}

bool procs_is_program(const struct proc *p, const struct module *m)
{
	return p->exe && p->exe->path_len == m->path_len &&
	       !memcmp(p->exe->path, m->path, m->path_len);
}

const struct mapping *procs_find(const struct proc *p, uint64_t pc)
{
	const struct mapping *m = mappings_find(p->maps, pc);
	uint64_t since_ns;

	if (!m || !p->read_ns)
		return m;
	/* Only a hint told of this file, whose path becomes known when the process is read. */
	if (!p->is_gone && !strcmp(m->module->path, MODULE_PATH_UNKNOWN))
		return NULL;
	/* Mappings from before the fork or the exec do not tell what this program has. */
	since_ns = m->since_ns > p->began_ns ? m->since_ns : p->began_ns;
	if (since_ns + PROCS_STEADY_NS <= p->lost_ns ||
	    (since_ns >= p->lost_until_ns && since_ns <= p->at_ns))
		return m;
	if (procs_is_agreed(p))
		return m;
	if (m->told_ns <= p->began_ns || m->told_ns > p->at_ns)
		return NULL;
	if (m->told_ns + EVENT_HINT_AHEAD_NS == p->at_ns)
		return m;
	/* A mapping told before the loss may be outdated, if nobody read the process since. */
	if (p->is_disputed || (m->told_ns < p->lost_ns && p->read_ns == PROCS_UNREAD))
		return NULL;
	return p->is_gone || procs_is_program(p, m->module) ? m : NULL;
}

struct proc *procs_of_sample(struct procs *ps, const struct event *e)
{
	const bool has_memory = !(e->sample.flags & SAMPLE_KERNEL_THREAD);
	struct proc *p = procs_of_start(ps, e->pid, e->sample.start_ns, e->time_ns, has_memory);

	if (p && has_memory)
		procs_look_again(ps, p, e);
	return p;
}

void procs_begin(struct procs *ps, uint64_t now_ns)
{
	ps->modules.now_ns = now_ns;
}

void procs_poll(struct procs *ps, uint64_t now_ns)
{
	ps->modules.now_ns = now_ns;
	ps->changes++; /* so that each process that is sampled is looked at once in a poll */
	procs_poll_reading(ps);
	if (!ps->ended_count || now_ns - ps->swept_ns < SWEEP_NS)
		return;
	ps->swept_ns = now_ns;
	for (size_t i = 0; i < ARRAY_LEN(ps->buckets); i++) {
		struct proc **at = &ps->buckets[i];

		while (*at) {
			const struct proc *p = *at;

			if (p->exit_ns && now_ns > p->exit_ns + EXIT_KEEP_NS)
				remove_proc(ps, at);
			else
				at = &(*at)->next;
		}
	}
}
