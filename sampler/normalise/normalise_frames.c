/* SPDX-License-Identifier: Apache-2.0 */
#include "normalise_priv.h"

#include <asm/unistd.h>
#include <string.h>

/* Stores a location and returns its index, or LOCATION_NO_INDEX if there is no room. */
static uint32_t put_frame_location(struct normaliser *n, struct stack *s, const struct location *l)
{
	if (s->count >= ARRAY_LEN(s->frames))
		return LOCATION_NO_INDEX;
	return s->frames[s->count++] = spool_writer_location(n->spool, l);
}

void frames_put_pseudo(struct normaliser *n, struct stack *s, const char *name)
{
	put_frame_location(n, s,
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
	put_frame_location(n, s,
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

/* The version of mappings that stands for the kernel's text, which never moves. */
#define KERNEL_MAPS UINT64_MAX

static void put_kernel_frame(struct normaliser *n, struct stack *s, uint64_t pc,
			     enum location_mode mode, uint64_t now_ns)
{
	struct placed_frame *known = sample_cache_frame(&n->cache, KERNEL_MAPS, pc, mode);
	struct kernel_place place;
	struct spool_module kernel = {.id = n->kernel.id, .is_kernel = true};
	struct location l = {
		.mode = (uint8_t)mode,
		.module = LOCATION_NO_INDEX,
		.name = LOCATION_NO_INDEX,
	};

	if (known->location != LOCATION_NO_INDEX && s->count < ARRAY_LEN(s->frames)) {
		s->frames[s->count++] = known->location;
		return;
	}
	place = kernel_map_find(&n->kernel, pc, now_ns);
	switch (place.kind) {
	case KERNEL_PLACE_TEXT:
		kernel.path = spool_writer_string(n->spool, "[kernel]", 8);
		l.kind = LOCATION_KERNEL_TEXT;
		l.module = spool_writer_module(n->spool, &kernel);
		l.address = place.off;
		known->location = put_frame_location(n, s, &l);
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
		put_frame_location(n, s, &l);
		return;
	case KERNEL_PLACE_NAMED:
		l.kind = LOCATION_HOST_NAMED;
		l.reason = place.is_bpf ? HOST_SOURCE_BPF : HOST_SOURCE_KALLSYMS;
		l.name = spool_writer_string(n->spool, place.name, strlen(place.name));
		put_frame_location(n, s, &l);
		return;
	case KERNEL_PLACE_UNKNOWN:
		n->is_final = false;
		put_unresolved(n, s, pc, mode, UNRESOLVED_KERNEL, LOCATION_NO_INDEX);
	}
}

void frames_put_kernel(struct normaliser *n, struct stack *s, const struct event *e,
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

bool frames_in_exec(const struct event *e)
{
	return e->sample.syscall == __NR_execve || e->sample.syscall == __NR_execveat;
}

enum location_mode frames_user_mode(const struct event *e, size_t frame)
{
	const bool in_kernel = e->sample.kernel_count > 0;

	const bool in_syscall = e->sample.syscall >= 0 || e->sample.flags & SAMPLE_SYSCALL_UNKNOWN;

	return frame > 0 || (in_kernel && in_syscall) ? LOCATION_RETURN : LOCATION_EXACT;
}

const struct mapping *frames_user_mapping(const struct proc *p, uint64_t pc,
					  enum location_mode mode)
{
	return p ? procs_find(p, frames_looked_at(pc, mode)) : NULL;
}

static uint32_t module_row(struct normaliser *n, struct module *m, const struct proc *p,
			   const struct event *e)
{
	struct spool_module row = {.id = m->id};

	if (m->spool_segment == n->cache.segment)
		return m->spool_module;
	row.path = spool_writer_string(n->spool, m->path, m->path_len);
	m->spool_module = spool_writer_module(n->spool, &row);
	m->spool_segment = n->cache.segment;
	/* A first thread that ended has no root any more, so this thread's is used. */
	wanted_segments_add(&n->wanted, &n->ids, n->spool, m, p->exit_ns ? e->tid : e->pid,
			    procs_is_program(p, m), e->time_ns);
	return m->spool_module;
}

/* Returns why a frame is in no known mapping. */
static enum unresolved_reason no_mapping(struct stack *s, const struct proc *p,
					 const struct event *e)
{
	if (frames_in_exec(e)) {
		s->flags |= SPOOL_STACK_STALE_EXEC;
		return UNRESOLVED_STALE_EXEC;
	}
	return !p || p->is_gone ? UNRESOLVED_PROCESS_GONE : UNRESOLVED_NO_MAPPING;
}

/* Stores a frame in code that the process made itself, by the name in its perf map. */
static void put_anonymous(struct normaliser *n, struct stack *s, const struct proc *p, uint64_t pc,
			  enum location_mode mode, uint64_t now_ns)
{
	const char *name = p->jit ? jit_find(p->jit, frames_looked_at(pc, mode), now_ns) : NULL;

	n->is_final = false;
	if (!name) {
		n->unresolved++;
		put_unresolved(n, s, pc, mode, UNRESOLVED_ANONYMOUS, LOCATION_NO_INDEX);
		if (p->jit)
			late_names_add(&n->late, p->jit, frames_looked_at(pc, mode), now_ns);
		return;
	}
	put_frame_location(n, s,
			   &(struct location){
				   .kind = LOCATION_HOST_NAMED,
				   .mode = (uint8_t)mode,
				   .reason = HOST_SOURCE_PERF_MAP,
				   .module = LOCATION_NO_INDEX,
				   .name = spool_writer_string(n->spool, name, strlen(name)),
			   });
}

static void put_mapped(struct normaliser *n, struct stack *s, const struct proc *p,
		       const struct event *e, const struct mapping *m, uint64_t pc,
		       enum location_mode mode)
{
	struct location l = {
		.mode = (uint8_t)mode,
		.module = LOCATION_NO_INDEX,
		.address = mapping_file_off(m, pc),
		.name = LOCATION_NO_INDEX,
	};

	switch (m->module->kind) {
	case MODULE_ANONYMOUS:
		return; /* put_anonymous() */
	case MODULE_VDSO:
		l.kind = LOCATION_HOST_NAMED;
		l.reason = HOST_SOURCE_VDSO;
		l.name = spool_writer_string(n->spool, "[vdso]", 6);
		put_frame_location(n, s, &l);
		return;
	case MODULE_FILE:
		break;
	}
	l.module = module_row(n, m->module, p, e);
	if (!m->module->id.len) {
		/* The module keeps the path, which shows which file lacks an id. */
		n->unresolved++;
		n->unreadable++;
		put_unresolved(n, s, pc, mode, UNRESOLVED_NO_ID, l.module);
		return;
	}
	l.kind = LOCATION_FILE_OFF;
	put_frame_location(n, s, &l);
}

static void put_user_frame(struct normaliser *n, struct stack *s, const struct proc *p,
			   const struct event *e, uint64_t pc, enum location_mode mode)
{
	/* After /proc was read, the mapping at an address may depend on the sample's time. */
	const bool is_lasting = p && !p->read_ns;
	struct placed_frame *known =
		is_lasting ? sample_cache_frame(&n->cache, p->maps->version, pc, mode) : NULL;
	const struct mapping *m;

	n->user_frames++;
	if (known && known->location != LOCATION_NO_INDEX && s->count < ARRAY_LEN(s->frames)) {
		s->frames[s->count++] = known->location;
		return;
	}
	m = frames_user_mapping(p, pc, mode);
	if (!m) {
		n->unresolved++;
		put_unresolved(n, s, pc, mode, no_mapping(s, p, e), LOCATION_NO_INDEX);
		return;
	}
	if (m->module->id_state != MODULE_ID_KNOWN)
		n->is_final = false;
	mappings_set_used(p->maps, m);
	if (m->module->kind == MODULE_ANONYMOUS)
		put_anonymous(n, s, p, pc, mode, e->time_ns);
	else
		put_mapped(n, s, p, e, m, pc, mode);
	if (known && m->module->kind == MODULE_FILE && m->module->id.len && s->count)
		known->location = s->frames[s->count - 1];
}

bool frames_is_placed(struct normaliser *n, const struct proc *p, uint64_t pc,
		      enum location_mode mode)
{
	return sample_cache_frame(&n->cache, p->maps->version, pc, mode)->location !=
	       LOCATION_NO_INDEX;
}

uint16_t frames_plausible_count(struct normaliser *n, const struct proc *p, const struct event *e,
				const uint64_t *pcs, bool *ret_cut)
{
	*ret_cut = false;
	if (!p || !p->maps->count || p->must_scan || p->is_gone || p->is_unsure ||
	    frames_in_exec(e))
		return e->sample.user_count;
	for (uint16_t i = 1; i < e->sample.user_count; i++) {
		if (frames_is_placed(n, p, pcs[i], LOCATION_RETURN) ||
		    frames_user_mapping(p, pcs[i], LOCATION_RETURN))
			continue;
		*ret_cut = true;
		return i + 1;
	}
	return e->sample.user_count;
}

void frames_put_user(struct normaliser *n, struct stack *s, const struct proc *p,
		     const struct event *e, const uint64_t *pcs)
{
	const uint16_t shared = e->sample.flags & SAMPLE_SHARED_DEPTH ? e->sample.kernel_count : 0;
	bool is_cut;
	uint16_t count = frames_plausible_count(n, p, e, pcs, &is_cut);

	for (uint16_t i = 0; i < count; i++)
		put_user_frame(n, s, p, e, pcs[i], frames_user_mode(e, i));
	if (is_cut)
		s->flags |= SPOOL_STACK_IMPLAUSIBLE;
	else if (count + shared >= n->depth_max)
		s->flags |= SPOOL_STACK_USER_TRUNCATED;
	else if (count && e->sample.user_err)
		s->flags |= SPOOL_STACK_READ_FAULT;
	if (e->sample.user_count || e->sample.flags & SAMPLE_KERNEL_THREAD)
		return;
	s->flags |= SPOOL_STACK_NO_USER;
	frames_put_pseudo(n, s,
			  frames_in_exec(e)                  ? "[no user stack: exec]"
			  : e->sample.flags & SAMPLE_EXITING ? "[no user stack: exiting]"
							     : "[no user stack: read fault]");
}
