/* SPDX-License-Identifier: Apache-2.0 */
#include "mappings.h"

#include <string.h>

#include "bisect.h"
#include "limits.h"

/* --- modules --------------------------------------------------------------------------------- */

void modules_init(struct modules *ms)
{
	*ms = (struct modules){0};
}

void modules_done(struct modules *ms)
{
	for (size_t i = 0; i < ARRAY_LEN(ms->buckets); i++) {
		while (ms->buckets[i]) {
			struct module *m = ms->buckets[i];

			ms->buckets[i] = m->next;
			free(m);
		}
	}
	ms->count = ms->len = 0;
}

/* FNV-1a suffices: a bucket that is filled on purpose grows as long as one process may have
 * mappings. */
static uint32_t hash_of(const struct build_id *id, const char *path, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < id->len; i++)
		h = (h ^ id->bytes[i]) * 16777619u;
	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)path[i]) * 16777619u;
	return h;
}

static struct module **bucket_of(struct modules *ms, uint32_t hash)
{
	return &ms->buckets[hash % ARRAY_LEN(ms->buckets)];
}

enum module_kind module_kind_of(const char *path, size_t len)
{
	static const char vdso[] = "[vdso]", anon[] = "//anon", toolong[] = "//toolong",
			  nomem[] = "//enomem", unknown[] = MODULE_PATH_UNKNOWN;

	if (len == sizeof(vdso) - 1 && !memcmp(path, vdso, len))
		return MODULE_VDSO;
	/* The kernel writes "//toolong" for a path that is too long: it is a file. */
	if ((len == sizeof(toolong) - 1 && !memcmp(path, toolong, len)) ||
	    (len == sizeof(nomem) - 1 && !memcmp(path, nomem, len)) ||
	    (len == sizeof(unknown) - 1 && !memcmp(path, unknown, len)))
		return MODULE_FILE;
	if (len == 0 || path[0] != '/' || (len == sizeof(anon) - 1 && !memcmp(path, anon, len)))
		return MODULE_ANONYMOUS;
	return MODULE_FILE;
}

/* Compares modules by the id that they began with, because the next mapping of a file comes without
 * the id that was found later. */
static bool is_same(const struct module *m, const struct build_id *id, const struct file_key *file)
{
	if (id->len)
		return !m->is_id_found && build_id_equal(&m->id, id);
	if (m->id.len &&
	    (!m->is_id_found || m->owner->now_ns - m->found_ns >= MODULE_FOUND_KEEP_NS))
		return false;
	return m->file.dev == file->dev && m->file.inode == file->inode &&
	       m->file.generation == file->generation;
}

static size_t module_len(const struct module *m)
{
	return sizeof(*m) + m->path_len + 1;
}

struct module *module_get(struct modules *ms, const struct build_id *id,
			  const struct file_key *file, const char *path, size_t path_len)
{
	static const char deleted[] = " (deleted)";
	const size_t deleted_len = sizeof(deleted) - 1;
	const struct file_key key = file && !id->len ? *file : (struct file_key){0};
	struct module **bucket, *m;
	uint32_t hash;

	if (path_len > deleted_len && !memcmp(path + path_len - deleted_len, deleted, deleted_len))
		path_len -= deleted_len;
	hash = hash_of(id, path, path_len);
	bucket = bucket_of(ms, hash);
	for (m = *bucket; m; m = m->next)
		if (m->hash == hash && is_same(m, id, &key) && m->path_len == path_len &&
		    !memcmp(m->path, path, path_len))
			return module_ref(m);
	m = calloc(1, sizeof(*m) + path_len + 1);
	if (!m)
		return NULL;
	m->refs = 1;
	m->kind = module_kind_of(path, path_len);
	m->id = *id;
	m->id_state = m->kind == MODULE_FILE && !id->len ? MODULE_ID_UNASKED : MODULE_ID_KNOWN;
	m->file = key;
	m->hash = hash;
	m->owner = ms;
	m->path_len = path_len;
	memcpy(m->path, path, path_len);
	m->next = *bucket;
	*bucket = m;
	ms->count++;
	ms->len += module_len(m);
	if (m->kind == MODULE_FILE && id->len && strcmp(m->path, MODULE_PATH_UNKNOWN) != 0)
		ms->of_id[id->bytes[0]] = m;
	return m;
}

bool module_is_file(const struct module *m, const struct file_key *file, const char *path,
		    size_t path_len)
{
	static const struct build_id none = {.kind = BUILD_ID_NONE};

	return is_same(m, &none, file) && m->path_len == path_len &&
	       !memcmp(m->path, path, path_len);
}

struct module *module_of_id(struct modules *ms, const struct build_id *id)
{
	const struct module *m = ms->of_id[id->bytes[0]];

	if (m && build_id_equal(&m->id, id))
		return module_get(ms, id, NULL, m->path, m->path_len);
	return module_get(ms, id, NULL, MODULE_PATH_UNKNOWN, strlen(MODULE_PATH_UNKNOWN));
}

void module_set_id(struct module *m, const struct build_id *id)
{
	m->id = *id;
	m->id_state = MODULE_ID_KNOWN;
	m->is_id_found = true;
	m->found_ns = m->owner->now_ns;
	m->spool_segment = 0; /* the spool has it without this id */
}

struct module *module_ref(struct module *m)
{
	m->refs++;
	return m;
}

void module_unref(struct module *m)
{
	struct module **at;

	if (!m || --m->refs)
		return;
	for (at = bucket_of(m->owner, m->hash); *at != m; at = &(*at)->next)
		;
	*at = m->next;
	if (m->id.len && m->owner->of_id[m->id.bytes[0]] == m)
		m->owner->of_id[m->id.bytes[0]] = NULL;
	m->owner->count--;
	m->owner->len -= module_len(m);
	free(m);
}

/* --- mappings -------------------------------------------------------------------------------- */

static uint64_t next_version(void)
{
	static uint64_t last;

	return ++last;
}

struct mappings *mappings_new(void)
{
	struct mappings *m = calloc(1, sizeof(*m));

	if (m) {
		m->refs = 1;
		m->version = next_version();
	}
	return m;
}

struct mappings *mappings_ref(struct mappings *m)
{
	m->refs++;
	return m;
}

void mappings_unref(struct mappings *m)
{
	if (!m || --m->refs)
		return;
	for (size_t i = 0; i < m->count; i++) {
		m->rows[i].module->owner->len -= sizeof(*m->rows);
		module_unref(m->rows[i].module);
	}
	free(m->rows);
	free(m);
}

/* A new row inside another makes three of it. */
#define ROWS_MAX (LIMIT_PROC_MAPPINGS + 2)

static bool make_own(struct mappings **m)
{
	struct mappings *own;

	if ((*m)->refs == 1)
		return true;
	own = mappings_new();
	if (!own || !GROW(own->rows, &own->cap, (*m)->count, ROWS_MAX)) {
		mappings_unref(own);
		return false;
	}
	for (size_t i = 0; i < (*m)->count; i++) {
		own->rows[i] = (*m)->rows[i];
		module_ref(own->rows[i].module)->owner->len += sizeof(*own->rows);
	}
	own->count = (*m)->count;
	own->has_anonymous = (*m)->has_anonymous;
	mappings_unref(*m);
	*m = own;
	return true;
}

/* Returns the index of the first row that ends behind pc. */
static size_t row_at(const struct mappings *m, uint64_t pc)
{
	return BISECT(m->count, i, m->rows[i].end <= pc);
}

bool mappings_add(struct mappings **ret, const struct mapping *row)
{
	struct mapping put[3];
	size_t first, last, put_count = 0;
	struct mappings *m;

	/* Room for the row and for both ends of one that it cuts in two. */
	if (row->start >= row->end || !make_own(ret))
		return false;
	m = *ret;
	if (m->count >= LIMIT_PROC_MAPPINGS || !GROW(m->rows, &m->cap, m->count + 2, ROWS_MAX))
		return false;
	first = row_at(m, row->start);
	for (last = first; last < m->count && m->rows[last].start < row->end; last++)
		;
	if (first < last && m->rows[first].start < row->start) {
		put[put_count] = m->rows[first];
		put[put_count].end = row->start;
		module_ref(put[put_count++].module);
	}
	put[put_count] = *row;
	module_ref(put[put_count++].module);
	if (first < last && m->rows[last - 1].end > row->end) {
		put[put_count] = m->rows[last - 1];
		put[put_count].file_off += row->end - put[put_count].start;
		put[put_count].start = row->end;
		module_ref(put[put_count++].module);
	}
	for (size_t i = first; i < last; i++)
		module_unref(m->rows[i].module);
	memmove(m->rows + first + put_count, m->rows + last, (m->count - last) * sizeof(*m->rows));
	memcpy(m->rows + first, put, put_count * sizeof(*put));
	row->module->owner->len += put_count * sizeof(*put);
	row->module->owner->len -= (last - first) * sizeof(*put);
	m->count = m->count - (last - first) + put_count;
	m->version = next_version();
	m->has_anonymous |= row->module->kind == MODULE_ANONYMOUS;
	return true;
}

void mappings_identify(struct mappings *m, struct module *from, struct module *to)
{
	if (from->id.len)
		m->version = next_version();
	module_ref(from);
	for (size_t i = 0; i < m->count; i++) {
		if (m->rows[i].module != from)
			continue;
		module_unref(from);
		m->rows[i].module = module_ref(to);
	}
	module_unref(from);
}

void mappings_set_asked(struct mappings *m, const struct module *module)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->rows[i].module == module)
			m->rows[i].is_asked = true;
}

void mappings_set_used(struct mappings *m, const struct mapping *row)
{
	m->rows[row - m->rows].is_used = true;
}

static bool is_same_row(const struct mapping *a, const struct mapping *b)
{
	const struct file_key *x = &a->module->file, *y = &b->module->file;

	return a->start == b->start && a->end == b->end && a->file_off == b->file_off &&
	       a->module->path_len == b->module->path_len &&
	       !memcmp(a->module->path, b->module->path, a->module->path_len) &&
	       /* A module whose id was told has no key. */
	       (!x->inode || !y->inode || x->inode == y->inode);
}

void mappings_set_since(struct mappings *m, uint64_t since_ns)
{
	for (size_t i = 0; i < m->count; i++)
		if (!m->rows[i].since_ns)
			m->rows[i].since_ns = since_ns;
}

void mappings_set_younger(struct mappings *m, uint64_t start, uint64_t end, uint64_t since_ns)
{
	for (size_t i = row_at(m, start); i < m->count && m->rows[i].start < end; i++)
		if (m->rows[i].since_ns < since_ns)
			m->rows[i].since_ns = since_ns;
}

void mappings_keep_age(struct mappings *m, const struct mappings *from, uint64_t until_ns)
{
	for (size_t i = 0, k = 0; i < m->count; i++) {
		struct mapping *row = &m->rows[i];

		while (k < from->count && from->rows[k].start < row->start)
			k++;
		if (k == from->count)
			break;
		if (!is_same_row(row, &from->rows[k]))
			continue;
		row->told_ns = from->rows[k].told_ns;
		if (from->rows[k].since_ns <= until_ns)
			row->since_ns = from->rows[k].since_ns;
	}
}

void mappings_set_told(struct mappings **m, const struct mapping *row, uint64_t told_ns)
{
	const size_t i = (size_t)(row - (*m)->rows);

	if (make_own(m) && i < (*m)->count)
		(*m)->rows[i].told_ns = told_ns;
}

static uint64_t mix_number(uint64_t h, uint64_t n)
{
	h = (h ^ n) * 0x9e3779b97f4a7c15;
	return h ^ h >> 29;
}

uint64_t mappings_digest(const struct mappings *m)
{
	uint64_t h = 0;

	for (size_t i = 0; i < m->count; i++) {
		const struct mapping *row = &m->rows[i];
		const struct module *module = row->module;

		if (module->kind == MODULE_ANONYMOUS)
			continue;
		h = mix_number(h, row->start);
		h = mix_number(h, row->end);
		h = mix_number(h, row->file_off);
		h = mix_number(h, module->hash);
		h = mix_number(h, module->file.dev);
		h = mix_number(h, module->file.inode);
	}
	return h;
}

void mappings_touch(struct mappings *m)
{
	m->version = next_version();
}

const struct mapping *mappings_find(const struct mappings *m, uint64_t pc)
{
	size_t i = row_at(m, pc);

	return i < m->count && m->rows[i].start <= pc ? &m->rows[i] : NULL;
}
