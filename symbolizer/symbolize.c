/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize.h"

#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "batch_check.h"
#include "binary_meta.h"
#include "limits.h"
#include "location.h"
#include "reply_names.h"

#define STATUS(name) RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_##name
#define MODULE(name) RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_##name

enum {
	LOCATION_COST = 4, /* status and frame count, as varints */
	FRAME_COST = 10,   /* function and line */
	COLUMN_COST = 5,
	MODULE_COST = 24,
	FRAMING_COST = 256, /* tags and lengths of the columns, the batch id */
	FRAMES_MAX = 1 << 20,
	CANCEL_INTERVAL = 1024, /* locations */
};

struct module {
	struct build_id id;
	struct rsym table; /* when status is READY */
	Rawstack__V1__ModuleStatus status;
	char reason[128];
	bool damaged;
	bool asked;      /* a location refers to it */
	uint64_t weight; /* of its locations, saturating */
};

/* The frames of an address that was resolved before in this batch. */
struct known {
	uint32_t first, count;
	uint32_t status;
};

struct symbolize {
	const struct symbolize_env *env;
	const Rawstack__V1__StackBatch *batch;
	const Rawstack__V1__Locations *locations;
	Rawstack__V1__SymbolizedBatch reply;
	struct arena arena; /* of what has a size known from the request */
	struct module *modules;
	struct reply_names names;

	struct intern addresses; /* (module, vaddr) */
	struct known *known;     /* of each */
	size_t known_cap;

	uint32_t *frame_function, *frame_line, *frame_column;
	size_t frame_count, function_cap, line_cap, column_cap;
	struct rsym_frame frames[RSYM_FRAMES_MAX];
};

struct symbolize *symbolize_new(struct err *err)
{
	struct symbolize *s = calloc(1, sizeof(*s));

	if (!s) {
		err_set(err, ERR_MEMORY, "out of memory");
		return NULL;
	}
	s->arena = (struct arena)ARENA_INIT(LIMIT_REPLY_MEMORY);
	s->addresses =
		(struct intern)INTERN_INIT(LIMIT_BATCH_LOCATIONS, LIMIT_BATCH_LOCATIONS * 16);
	rawstack__v1__symbolized_batch__init(&s->reply);
	return s;
}

void symbolize_free(struct symbolize *s)
{
	if (!s)
		return;
	arena_done(&s->arena);
	reply_names_done(&s->names);
	intern_done(&s->addresses);
	free(s->known);
	free(s->frame_function);
	free(s->frame_line);
	free(s->frame_column);
	free(s);
}

const Rawstack__V1__SymbolizedBatch *symbolize_reply(const struct symbolize *s)
{
	return &s->reply;
}

/* --- modules ------------------------------------------------------------------------------- */

static void without_table(struct symbolize *s, struct store_read *r, struct module *m)
{
	struct store_binary b;
	int rc = store_binary(r, &m->id, &b, NULL);

	m->status = MODULE(MISSING);
	if (rc == 1 && b.status == STORE_FAILED) {
		m->status = MODULE(FAILED);
		binary_meta_reason(&b, m->reason, sizeof(m->reason));
	} else if (rc != 0) {
		m->status = MODULE(PURGED);
	}
	if (s->env->is_building && s->env->is_building(s->env->ctx, &m->id))
		m->status = MODULE(BUILDING);
}

static int open_module(struct symbolize *s, struct store_read *r, const Rawstack__V1__Module *from,
		       struct module *m, Rawstack__V1__ModuleReply *reply, struct err *err)
{
	int kind = from->id_kind == RAWSTACK__V1__ID_KIND__ID_KIND_HTLHASH &&
				   from->build_id.len == HTLHASH_LEN
			   ? BUILD_ID_HTLHASH
			   : BUILD_ID_GNU;
	int rc = build_id_set(&m->id, kind, from->build_id.data, from->build_id.len, err);

	if (rc)
		return rc;
	rc = tables_get(s->env->tables, r, &m->id, &m->table, err);
	if (rc == 1) {
		m->status = MODULE(READY);
		reply->generation = m->table.generation;
		reply->has_dwarf = (m->table.flags & RSYM_HAS_DWARF) != 0;
	} else if (rc == ERR_DATA) {
		m->status = MODULE(PURGED);
		m->damaged = true;
		snprintf(m->reason, sizeof(m->reason), "the stored table was damaged");
	} else if (rc < 0) {
		return rc;
	} else {
		without_table(s, r, m);
	}
	reply->status = m->status;
	reply->reason.data = (uint8_t *)m->reason;
	reply->reason.len = strlen(m->reason);
	return reply_names_weigh(&s->names, MODULE_COST + reply->reason.len)
		       ? 0
		       : err_set(err, ERR_LIMIT, "the modules alone fill a reply");
}

static int open_modules(struct symbolize *s, struct store_read *r, struct err *err)
{
	size_t count = s->batch->n_modules;
	Rawstack__V1__ModuleReply *replies = arena_array(&s->arena, count, sizeof(*replies));

	s->modules = arena_array(&s->arena, count, sizeof(s->modules[0]));
	s->reply.modules = arena_array(&s->arena, count, sizeof(s->reply.modules[0]));
	if (!replies || !s->modules || !s->reply.modules)
		return err_set(err, ERR_MEMORY, "out of memory");
	s->reply.n_modules = count;
	for (size_t i = 0; i < count; i++) {
		int rc;

		rawstack__v1__module_reply__init(&replies[i]);
		s->reply.modules[i] = &replies[i];
		rc = open_module(s, r, s->batch->modules[i], &s->modules[i], &replies[i], err);
		if (rc)
			return rc;
	}
	return 0;
}

/* --- locations ----------------------------------------------------------------------------- */

enum outcome {
	FITS,
	FULL
};

static bool append_frame(struct symbolize *s, uint32_t function, uint32_t line, uint32_t column)
{
	bool columns = s->batch->want_columns;
	size_t want = s->frame_count + 1;

	if (function == RSYM_NONE ||
	    !reply_names_weigh(&s->names, FRAME_COST + (columns ? COLUMN_COST : 0)) ||
	    !grow_array((void **)&s->frame_function, &s->function_cap, want, sizeof(uint32_t),
			FRAMES_MAX) ||
	    !grow_array((void **)&s->frame_line, &s->line_cap, want, sizeof(uint32_t),
			FRAMES_MAX) ||
	    (columns && !grow_array((void **)&s->frame_column, &s->column_cap, want,
				    sizeof(uint32_t), FRAMES_MAX)))
		return false;
	s->frame_function[s->frame_count] = function;
	s->frame_line[s->frame_count] = line;
	if (columns)
		s->frame_column[s->frame_count] = column;
	s->frame_count++;
	return true;
}

static bool repeat(struct symbolize *s, const struct known *k)
{
	for (uint32_t i = k->first; i < k->first + k->count; i++)
		if (!append_frame(s, s->frame_function[i], s->frame_line[i],
				  s->batch->want_columns ? s->frame_column[i] : 0))
			return false;
	return true;
}

static bool append_frames(struct symbolize *s, uint32_t module, int count)
{
	const struct rsym *t = &s->modules[module].table;
	const struct rsym_frame *inner = &s->frames[0], *outer = &s->frames[count - 1];

	switch (s->batch->detail) {
	case RAWSTACK__V1__DETAIL__DETAIL_NAMES:
		return append_frame(
			s, reply_names_function(&s->names, module, t, outer->function, RSYM_NONE),
			0, 0);
	case RAWSTACK__V1__DETAIL__DETAIL_LINES:
		return append_frame(
			s, reply_names_function(&s->names, module, t, outer->function, inner->file),
			inner->line, inner->column);
	default:
		for (int i = 0; i < count; i++)
			if (!append_frame(s,
					  reply_names_function(&s->names, module, t,
							       s->frames[i].function,
							       s->frames[i].file),
					  s->frames[i].line, s->frames[i].column))
				return false;
		return true;
	}
}

static int status_of_frames(const struct symbolize *s, uint32_t module, int count)
{
	struct rsym_function f;

	if (s->frames[0].line)
		return STATUS(RESOLVED);
	if (!rsym_function(&s->modules[module].table, s->frames[count - 1].function, &f, NULL) &&
	    f.from_symbol)
		return STATUS(SYMBOL_ONLY);
	return STATUS(NO_LINE);
}

static enum outcome look_up(struct symbolize *s, uint32_t module, uint64_t vaddr, int *status)
{
	struct {
		uint64_t module, vaddr;
	} key = {module, vaddr};
	uint32_t first = (uint32_t)s->frame_count;
	uint32_t i = intern_find(&s->addresses, &key, sizeof(key));
	int count;

	if (i != INTERN_FULL) {
		*status = (int)s->known[i].status;
		return repeat(s, &s->known[i]) ? FITS : FULL;
	}
	*status = STATUS(NOT_IN_MODULE);
	count = rsym_lookup(&s->modules[module].table, vaddr, s->frames, ARRAY_LEN(s->frames));
	if (count > 0) {
		if (!append_frames(s, module, count))
			return FULL;
		*status = status_of_frames(s, module, count);
	}
	if (grow_array((void **)&s->known, &s->known_cap, s->addresses.count + 1,
		       sizeof(s->known[0]), LIMIT_BATCH_LOCATIONS)) {
		i = intern_add(&s->addresses, &key, sizeof(key), NULL);
		if (i != INTERN_FULL)
			s->known[i] = (struct known){first, (uint32_t)s->frame_count - first,
						     (uint32_t)*status};
	}
	return FITS;
}

/* The link-time address of a location in a module that is ready; false: it has none there. */
static bool vaddr_of(const struct rsym *t, int kind, uint64_t address, bool is_return,
		     uint64_t *ret)
{
	if (is_return && address == 0)
		return false;
	address -= is_return;
	switch (kind) {
	case LOCATION_FILE_OFF:
		return rsym_vaddr_of_file_off(t, address, ret) == 1;
	case LOCATION_KERNEL_TEXT:
		return (t->flags & RSYM_IS_KERNEL) && CHECKED_ADD(t->text_base, address, ret);
	case LOCATION_KERNEL_MODULE:
		return false; /* tables do not know where sections of modules begin */
	default:
		*ret = address;
		return true;
	}
}

static enum outcome in_module(struct symbolize *s, size_t i, int *status)
{
	const Rawstack__V1__Locations *l = s->locations;
	struct module *m = &s->modules[l->module[i]];
	bool is_return = l->n_mode && l->mode[i] == RAWSTACK__V1__ADDRESS_MODE__ADDRESS_MODE_RETURN;
	uint64_t vaddr;

	m->asked = true;
	if (!CHECKED_ADD(m->weight, l->n_weight ? l->weight[i] : 1, &m->weight))
		m->weight = UINT64_MAX;
	if (m->status == MODULE(BUILDING)) {
		*status = STATUS(BUILDING);
	} else if (m->status != MODULE(READY)) {
		*status = STATUS(UNKNOWN_MODULE);
	} else if (!vaddr_of(&m->table, (int)l->kind[i], l->address[i], is_return, &vaddr)) {
		*status = STATUS(NOT_IN_MODULE);
	} else {
		return look_up(s, l->module[i], vaddr, status);
	}
	return FITS;
}

static enum outcome answer(struct symbolize *s, size_t i, int *status)
{
	const Rawstack__V1__Locations *l = s->locations;
	int kind = (int)l->kind[i];
	const ProtobufCBinaryData *name;

	if (batch_kind_has_module(kind))
		return in_module(s, i, status);
	switch (kind) {
	case LOCATION_HOST_NAMED:
		*status = STATUS(HOST_NAMED);
		name = &s->batch->strings[l->string[i]];
		return append_frame(s, reply_names_plain(&s->names, name->data, name->len), 0, 0)
			       ? FITS
			       : FULL;
	case LOCATION_UNRESOLVED:
		*status = STATUS(UNRESOLVED);
		return FITS;
	default:
		*status = STATUS(MALFORMED);
		return FITS;
	}
}

/* Everything from the first location that does not fit is deferred. */
static int answer_all(struct symbolize *s, struct err *err)
{
	size_t count = s->reply.n_status;

	for (size_t i = 0; i < count; i++) {
		size_t first = s->frame_count;
		int status;

		if (i % CANCEL_INTERVAL == 0 && s->env->cancelled &&
		    s->env->cancelled(s->env->cancelled_arg))
			return err_set(err, ERR_CANCELLED, "nobody waits for the answer");
		if (answer(s, i, &status) == FULL) {
			s->frame_count = first;
			if (first == 0) {
				/* Fills a reply all by itself: asking again would not help. */
				s->reply.status[i] = STATUS(MALFORMED);
				continue;
			}
			for (; i < count; i++, s->reply.deferred++)
				s->reply.status[i] = STATUS(DEFERRED);
			break;
		}
		s->reply.status[i] = status;
		s->reply.frame_count[i] = (uint32_t)(s->frame_count - first);
	}
	return 0;
}

/* --- the reply ----------------------------------------------------------------------------- */

static int fill_functions(struct symbolize *s, Rawstack__V1__Functions *f, struct err *err)
{
	const struct reply_names *n = &s->names;
	size_t count = n->functions.count;

	f->name = arena_array(&s->arena, count, sizeof(f->name[0]));
	f->file = arena_array(&s->arena, count, sizeof(f->file[0]));
	f->linkage_name = arena_array(&s->arena, count, sizeof(f->linkage_name[0]));
	f->start_line = arena_array(&s->arena, count, sizeof(f->start_line[0]));
	f->start_address = arena_array(&s->arena, count, sizeof(f->start_address[0]));
	if (!f->name || !f->file || !f->linkage_name || !f->start_line || !f->start_address)
		return err_set(err, ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < count; i++) {
		struct reply_function row;
		size_t len;

		memcpy(&row, intern_get(&n->functions, i, &len), sizeof(row));
		f->name[i] = row.name;
		f->file[i] = row.file;
		f->linkage_name[i] = row.linkage_name;
		f->start_line[i] = row.start_line;
		f->start_address[i] = row.start_address;
	}
	f->n_name = f->n_file = count;
	if (n->details)
		f->n_linkage_name = f->n_start_line = f->n_start_address = count;
	return 0;
}

static int fill_reply(struct symbolize *s, struct err *err)
{
	Rawstack__V1__SymbolizedBatch *reply = &s->reply;
	size_t count = s->names.strings.count;
	int rc;

	reply->batch_id = s->batch->batch_id;
	reply->frame_function = s->frame_function;
	reply->frame_line = s->frame_line;
	reply->n_frame_function = reply->n_frame_line = s->frame_count;
	if (s->batch->want_columns) {
		reply->frame_column = s->frame_column;
		reply->n_frame_column = s->frame_count;
	}
	reply->strings = arena_array(&s->arena, count, sizeof(reply->strings[0]));
	reply->functions = arena_alloc(&s->arena, sizeof(*reply->functions));
	if (!reply->strings || !reply->functions)
		return err_set(err, ERR_MEMORY, "out of memory");
	rawstack__v1__functions__init(reply->functions);
	rc = fill_functions(s, reply->functions, err);
	reply->n_strings = count;
	for (uint32_t i = 0; i < count; i++) {
		size_t len;
		const void *p = intern_get(&s->names.strings, i, &len);

		/* Lives in the arena of strings, which does not grow any more. */
		memcpy(&reply->strings[i].data, &p, sizeof(p));
		reply->strings[i].len = len;
	}
	return rc;
}

/* What the store learns of the batch, once the read has ended. */
static int take_note(struct symbolize *s, struct err *err)
{
	_cleanup_(freep) struct store_missing *notes = NULL;
	struct intern ids = INTERN_INIT(LIMIT_BATCH_MODULES, LIMIT_BATCH_MODULES * BUILD_ID_MAX);
	struct kv_bytes batch_id = {s->batch->batch_id.data, s->batch->batch_id.len};
	size_t count = s->batch->n_modules;
	int rc = 0;

	notes = calloc(count + 1, sizeof(*notes));
	if (!notes)
		return err_set(err, ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < count; i++) {
		const ProtobufCBinaryData *path = &s->batch->modules[i]->path;
		struct module *m = &s->modules[i];
		uint32_t row;
		bool is_new;

		if (m->damaged)
			store_purge(s->env->store, &m->id, NULL);
		if (!m->asked || m->status == MODULE(BUILDING))
			continue;
		if (m->status == MODULE(READY)) {
			store_note_used(s->env->store, &m->id, s->env->now_ns);
			continue;
		}
		row = intern_add(&ids, m->id.bytes, m->id.len, &is_new);
		if (row == INTERN_FULL)
			continue;
		if (is_new)
			notes[row] = (struct store_missing){
				.id = m->id,
				.last_ns = s->env->now_ns,
				.paths = {{path->data, path->len}},
				.path_count = 1,
			};
		if (!CHECKED_ADD(notes[row].weight, m->weight, &notes[row].weight))
			notes[row].weight = UINT64_MAX;
	}
	if (!s->env->uncounted)
		rc = store_note_missing(s->env->store, batch_id, notes, ids.count, err);
	intern_done(&ids);
	return rc;
}

static enum demangle_style style_of(Rawstack__V1__Demangle d)
{
	switch (d) {
	case RAWSTACK__V1__DEMANGLE__DEMANGLE_NONE:
		return DEMANGLE_NONE;
	case RAWSTACK__V1__DEMANGLE__DEMANGLE_FULL:
		return DEMANGLE_FULL;
	default:
		return DEMANGLE_SHORT;
	}
}

int symbolize_run(struct symbolize *s, const struct symbolize_env *env,
		  const Rawstack__V1__StackBatch *batch, struct err *err)
{
	static const Rawstack__V1__Locations none = RAWSTACK__V1__LOCATIONS__INIT;
	struct store_read *r;
	size_t count;
	int rc = batch_check(batch, err);

	if (rc)
		return rc;
	s->env = env;
	s->batch = batch;
	s->locations = batch->locations ? batch->locations : &none;
	count = s->locations->n_kind;
	rc = reply_names_init(&s->names, style_of(batch->demangle), batch->want_function_details,
			      FRAMING_COST + count * LOCATION_COST, LIMIT_REPLY_LEN, err);
	if (rc)
		return rc;
	s->reply.status = arena_array(&s->arena, count, sizeof(s->reply.status[0]));
	s->reply.frame_count = arena_array(&s->arena, count, sizeof(s->reply.frame_count[0]));
	if (!s->reply.status || !s->reply.frame_count)
		return err_set(err, ERR_MEMORY, "out of memory");
	s->reply.n_status = s->reply.n_frame_count = count;

	rc = store_read_begin(env->store, &r, err);
	if (rc)
		return rc;
	rc = open_modules(s, r, err);
	if (!rc)
		rc = answer_all(s, err);
	store_read_end(r);
	if (!rc)
		rc = fill_reply(s, err);
	return rc ? rc : take_note(s, err);
}
