/* SPDX-License-Identifier: Apache-2.0 */
/* Build ids of the files that processes have mapped, which the kernel tells when asked or at a
 * tick. */
#include <string.h>

#include "procs_priv.h"

/* Gives a mapping its build id, and with it all mappings of the same file in the process. */
static bool set_mapping_id(struct procs *ps, struct proc *p, const struct mapping *m,
			   const struct build_id *id)
{
	struct module *from = m->module;
	struct module *to = module_get(&ps->modules, id, NULL, from->path, from->path_len);

	if (!to)
		return false;
	mappings_identify(p->maps, from, to);
	module_unref(to);
	return true;
}

bool procs_identify(struct procs *ps, struct proc *p, const struct mapping *m, uint64_t pc,
		    uint32_t tid)
{
	struct build_id id;
	int rc;

	if (m->is_asked || p->is_silent || !ps->asks_left)
		return false;
	ps->asks_left--;
	ps->changes++;
	rc = ps->source.id(ps->source.ctx, tid, m, pc, &id);
	if (rc < 0)
		p->is_silent = true; /* others with the same mappings may live */
	else if (rc == 0)
		mappings_set_asked(p->maps, m->module);
	return rc > 0 && set_mapping_id(ps, p, m, &id);
}

static struct procs_cached_id *build_id_slot(struct procs *ps, uint64_t namespaces,
					     const struct file_key *file)
{
	const uint64_t h = (namespaces ^ file->inode * 0x9e3779b97f4a7c15 ^ file->generation << 20 ^
			    file->dev) *
			   0x9e3779b97f4a7c15;

	return &ps->build_id_cache[h >> 54];
}
_Static_assert(ARRAY_LEN(((struct procs *)0)->build_id_cache) == 1 << (64 - 54), "see its hash");

static bool is_id_of(const struct procs_cached_id *t, const struct proc *p, const struct module *m)
{
	return t->module && t->namespaces == p->namespaces && t->file.dev == m->file.dev &&
	       t->file.inode == m->file.inode && t->file.generation == m->file.generation &&
	       strcmp(t->module->path, m->path) == 0;
}

bool procs_id_from_cache(struct procs *ps, struct proc *p, const struct mapping *m,
			 uint64_t time_ns)
{
	const struct procs_cached_id *t = build_id_slot(ps, p->namespaces, &m->module->file);

	/* An inode number without its generation may have been another file before. */
	if (!p->is_silent || !p->namespaces || !m->module->file.generation ||
	    !is_id_of(t, p, m->module) ||
	    time_ns - t->time_ns + PROCS_CACHED_ID_NS > 2 * PROCS_CACHED_ID_NS)
		return false;
	ps->changes++;
	mappings_identify(p->maps, m->module, t->module);
	return true;
}

/* Keeps the build id that a tick told for m, which has none yet. */
static void cache_build_id(struct procs *ps, const struct proc *p, const struct mapping *m,
			   const struct build_id *id, uint64_t time_ns)
{
	const struct module *from = m->module;
	struct procs_cached_id *t = build_id_slot(ps, p->namespaces, &from->file);

	if (!p->namespaces || !from->file.generation)
		return;
	if (!is_id_of(t, p, from) || !build_id_equal(&t->module->id, id)) {
		module_unref(t->module);
		*t = (struct procs_cached_id){
			.namespaces = p->namespaces,
			.file = from->file,
			.module = module_get(&ps->modules, id, NULL, from->path, from->path_len),
		};
	}
	t->time_ns = time_ns;
}

/* Returns whether an id equals one padded with zeros to 20 bytes. */
static bool is_padded(const struct build_id *id, const uint8_t padded[static EVENT_ID_LEN])
{
	uint8_t full[EVENT_ID_LEN] = {0};

	if (!id->len || id->len > sizeof(full))
		return false;
	memcpy(full, id->bytes, id->len);
	return !memcmp(full, padded, sizeof(full));
}

/* Guesses the length of an id: linkers write 20, 16 or 8 bytes. No file has a wrongly guessed id.
 */
static size_t padded_len(const uint8_t padded[static EVENT_ID_LEN])
{
	size_t len = EVENT_ID_LEN;

	while (len && !padded[len - 1])
		len--;
	return len > 16 ? 20 : len > 8 ? 16 : 8;
}

/* Returns whether every known mapping in the range of `row` is of the same file at the same place.
 */
static bool mapping_is_alone(const struct mappings *m, const struct mapping *row)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct mapping *r = &m->rows[i];

		if (r->end > row->start && r->start < row->end &&
		    (r->module != row->module ||
		     r->start - r->file_off != row->start - row->file_off))
			return false;
	}
	return true;
}

/*
 * Maps a file where a hint saw it, for a process whose mappings can no longer be read. Two
 * addresses with the same distance in memory and in the file are of one mapping, so what lies
 * between them is too.
 */
static void map_hint(struct procs *ps, struct proc *p, const struct event_hint *row,
		     uint64_t now_ns)
{
	const uint64_t page = 4096, distance = row->pc - row->file_off;
	const struct mapping *known = mappings_find(p->maps, row->pc);
	struct mapping to = {.start = row->pc / page * page};
	struct build_id id;

	if (!CHECKED_ADD(row->pc, row->len, &to.end) || (known && known->end >= to.end) ||
	    !CHECKED_ADD(to.end, page - 1, &to.end) || row->file_off < row->pc - to.start ||
	    build_id_set(&id, BUILD_ID_GNU, row->id, padded_len(row->id), NULL))
		return;
	to.end = to.end / page * page;
	to.module = module_of_id(&ps->modules, &id);
	for (size_t i = 0; to.module && i < p->maps->count; i++) {
		const struct mapping *m = &p->maps->rows[i];

		if (m->module != to.module || m->start - m->file_off != distance)
			continue;
		to.start = m->start < to.start ? m->start : to.start;
		to.end = m->end > to.end ? m->end : to.end;
	}
	to.file_off = to.start - distance;
	to.since_ns = to.told_ns = now_ns;
	if (to.module && mapping_is_alone(p->maps, &to))
		mappings_add(&p->maps, &to);
	module_unref(to.module);
}

/*
 * Confirms a known file by a hint while records are missing. The known mapping may be of another
 * time than the hint, so the hint does not name its file; but a known file with the same id did lie
 * there.
 */
static void confirm_hint(struct procs *ps, struct proc *p, const struct mapping *m,
			 const struct event_hint *row, const struct event *e)
{
	const bool is_there = row->file_off == mapping_file_off(m, row->pc);

	if (is_there && !m->module->id.len && procs_identify(ps, p, m, row->pc, e->tid))
		m = mappings_find(p->maps, row->pc);
	if (is_there && is_padded(&m->module->id, row->id)) {
		mappings_set_told(&p->maps, m, e->time_ns);
		return;
	}
	if (!is_there || m->module->id.len)
		procs_disagree(p, e->time_ns);
	if (m->told_ns && !p->is_disputed) {
		p->is_disputed = true;
		mappings_touch(p->maps);
	}
}

/* Gives m the id of a hint; m had another one or none. */
static void name_by_hint(struct procs *ps, struct proc *p, const struct mapping *m,
			 const struct event_hint *row, const struct event *e)
{
	struct build_id id;

	/* Only the kernel knows the length of an id that ends in zeros. */
	if (!row->id[EVENT_ID_LEN - 1] && procs_identify(ps, p, m, row->pc, e->tid)) {
		m = mappings_find(p->maps, row->pc);
		if (is_padded(&m->module->id, row->id))
			return;
	}
	if (build_id_set(&id, BUILD_ID_GNU, row->id, padded_len(row->id), NULL))
		return;
	cache_build_id(ps, p, m, &id, e->time_ns);
	set_mapping_id(ps, p, m, &id);
}

static void take_event_hint(struct procs *ps, struct proc *p, const struct event_hint *row,
			    const struct event *e)
{
	const struct mapping *m;

	if (p->is_gone || p->must_scan || p->is_partial)
		map_hint(ps, p, row, e->time_ns);
	m = mappings_find(p->maps, row->pc);
	if (!m || m->module->kind != MODULE_FILE)
		return;
	if (p->read_ns) {
		confirm_hint(ps, p, m, row, e);
		return;
	}
	if (row->file_off != mapping_file_off(m, row->pc))
		return;
	if (!is_padded(&m->module->id, row->id))
		name_by_hint(ps, p, m, row, e);
	/* Note that the kernel told of the program, in case records are lost later. Shared mappings
	 * are left alone, because a copy costs more than this gains. */
	m = mappings_find(p->maps, row->pc);
	if (p->maps->refs == 1 && procs_is_program(p, m->module) &&
	    is_padded(&m->module->id, row->id))
		mappings_set_told(&p->maps, m, e->time_ns);
}

void procs_on_hint(struct procs *ps, const struct event *e)
{
	const struct event_hint *rows = e->data;
	struct proc *p = procs_of_start(ps, e->pid, e->hint.start_ns, e->time_ns, true);

	if (!p)
		return;
	p->namespaces = e->hint.namespaces;
	for (size_t i = 0; i < e->data_len / sizeof(*rows); i++)
		take_event_hint(ps, p, &rows[i], e);
}
