/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of a batch: opens their tables, and tells the store what was used or is missing. */
#include <stdio.h>
#include <string.h>

#include "batch_check.h"
#include "binary_meta.h"
#include "symbolize_priv.h"

enum {
	MODULE_COST = 30
};

/* --- dictionaries ---------------------------------------------------------------------------- */

/* Keeps bytes of a batch. In a stream it copies them, because its entries outlive their batch. */
static bool keep_bytes(struct symbolize *s, const ProtobufCBinaryData *from, struct kv_bytes *to)
{
	*to = (struct kv_bytes){from->data, from->len};
	if (s->is_stream)
		to->p = arena_copy(&s->copies, from->data, from->len);
	return !s->is_stream || to->p;
}

/* Checks and keeps the segments that a host sent for a file. They serve this request or stream
 * only. */
static bool keep_segments(struct symbolize *s, const Rawstack__V1__Module *from, struct module *to)
{
	struct arena *a = s->is_stream ? &s->copies : &s->arena;
	const size_t count = from->n_segment_file_off;
	struct file_segment *rows = arena_array(a, count, sizeof(*rows));
	struct err why;

	for (size_t i = 0; rows && i < count; i++)
		rows[i] = (struct file_segment){from->segment_file_off[i], from->segment_vaddr[i],
						from->segment_len[i]};
	if (rows && file_segments_check(rows, count, &why)) {
		to->segments_wrong = arena_copy(a, why.message, strlen(why.message));
		return to->segments_wrong != NULL;
	}
	to->segments = rows;
	to->segment_count = rows ? (uint32_t)count : 0;
	return rows != NULL;
}

static int add_batch_module(struct symbolize *s, const Rawstack__V1__Module *from, struct err *err)
{
	int kind = from->id_kind == RAWSTACK__V1__ID_KIND__ID_KIND_HTLHASH &&
				   from->build_id.len == HTLHASH_LEN
			   ? BUILD_ID_HTLHASH
			   : BUILD_ID_GNU;
	struct module *m;

	if (!GROW(s->modules, &s->modules_cap, s->module_count + 1, LIMIT_BATCH_MODULES))
		return err_no_memory(err);
	m = &s->modules[s->module_count];
	*m = (struct module){0};
	if (!keep_bytes(s, &from->path, &m->path) ||
	    (from->n_segment_file_off && !keep_segments(s, from, m)))
		return err_no_memory(err);
	s->module_count++;
	return build_id_set(&m->id, kind, from->build_id.data, from->build_id.len, err);
}

int symbolize_dictionaries_add(struct symbolize *s, struct err *err)
{
	const Rawstack__V1__StackBatch *b = s->batch;
	int rc = 0;

	s->first_module = s->module_count;
	s->first_string = s->string_count;
	for (size_t i = 0; !rc && i < b->n_modules; i++)
		rc = add_batch_module(s, b->modules[i], err);
	if (rc)
		return rc;
	if (!GROW(s->strings, &s->strings_cap, s->string_count + b->n_strings, LIMIT_BATCH_STRINGS))
		return err_no_memory(err);
	for (size_t i = 0; i < b->n_strings; i++)
		if (!keep_bytes(s, &b->strings[i], &s->strings[s->string_count++]))
			return err_no_memory(err);
	return 0;
}

/* --- tables ---------------------------------------------------------------------------------- */

#define TABLE_DAMAGED "the stored table was damaged and is taken away: push the binary again"
#define STORE_DAMAGED_REASON \
	"the store of the service is damaged, and this may be in it: its operator has to look"

static void without_table(struct symbolize *s, struct store_read *r, struct module *m, char *reason,
			  size_t reason_len)
{
	struct store_binary b;
	bool is_there; /* there is or was a table */
	int rc = store_binary(r, &m->found, &b, NULL);

	m->status = rc == 1 ? binary_meta_status(b.status) : MODULE_STATUS(MISSING);
	/* A damaged store may have it all the same. */
	if (rc != 1 && store_is_damaged(s->env->store))
		m->status = MODULE_STATUS(DAMAGED);
	is_there = m->status == MODULE_STATUS(PURGED) || m->status == MODULE_STATUS(UNSUPPORTED);
	if ((s->env->is_building && s->env->is_building(s->env->ctx, &m->found)) ||
	    (is_there && s->env->remake && s->env->remake(s->env->ctx, &m->found)))
		m->status = MODULE_STATUS(BUILDING);
	else if (m->status == MODULE_STATUS(DAMAGED))
		snprintf(reason, reason_len, STORE_DAMAGED_REASON);
	else if (rc == 1 && m->status != MODULE_STATUS(PURGED))
		binary_meta_reason(&b, reason, reason_len);
	else if (rc == 1 && store_was_lost(s->env->store, &m->found))
		snprintf(reason, reason_len, TABLE_DAMAGED);
	else if (rc != 1 && build_id_is_text(&m->id))
		snprintf(reason, reason_len, BUILD_ID_TEXT_HINT, m->id.len, m->id.len / 2);
}

/* Returns whether the batch asks by file offset, for which the table has no segments. */
static bool lacks_segments(const struct module *m)
{
	return m->status == MODULE_STATUS(READY) && m->by_offset &&
	       !(m->table.flags & RSYM_HAS_SEGMENTS);
}

static bool needs_executable(const struct module *m)
{
	return lacks_segments(m) && !m->segment_count;
}

/* Tells the client how file offsets are answered if the table has no segments. */
static void tell_segments(struct module *m, Rawstack__V1__ModuleReply *reply, char *reason,
			  size_t reason_len)
{
	reply->needs_executable = needs_executable(m);
	reply->segments_from_host = !reply->needs_executable;
	if (reply->segments_from_host) {
		m->generation = file_segments_hash(m->segments, m->segment_count, m->generation);
		snprintf(reason, reason_len,
			 "its table is of a debug file alone: file offsets are answered with the "
			 "segments that the host sent");
		return;
	}
	snprintf(reason, reason_len,
		 "its table is of a debug file alone: file offsets need its executable, too%s%s",
		 m->segments_wrong ? "; of the segments that the host sent, " : "",
		 m->segments_wrong ? m->segments_wrong : "");
}

static int open_module(struct symbolize *s, struct store_read *r, struct module *m,
		       Rawstack__V1__ModuleReply *reply, struct err *err)
{
	char reason[256] = "";
	int rc;

	m->found = store_resolve_alias(r, &m->id);
	rc = tables_get(s->env->tables, r, &m->found, &m->table, &m->number, err);
	m->damaged = m->is_odd = false;
	m->generation = 0;
	if (rc == 1) {
		m->status = MODULE_STATUS(READY);
		m->generation = m->table.generation;
		reply->has_dwarf = (m->table.flags & RSYM_HAS_DWARF) != 0;
		if (lacks_segments(m))
			tell_segments(m, reply, reason, sizeof(reason));
	} else if (rc == ERR_DATA && store_is_damaged(s->env->store)) {
		/* Nothing is deleted, because a salvage may still read the table. */
		m->status = MODULE_STATUS(DAMAGED);
		snprintf(reason, sizeof(reason), STORE_DAMAGED_REASON);
	} else if (rc == ERR_DATA) {
		m->status = MODULE_STATUS(PURGED);
		m->damaged = true;
		snprintf(reason, sizeof(reason), TABLE_DAMAGED);
	} else if (rc < 0) {
		return rc;
	} else {
		without_table(s, r, m, reason, sizeof(reason));
	}
	reply->generation = m->generation;
	reply->status = m->status;
	reply->reason.len = strlen(reason);
	reply->reason.data = (uint8_t *)arena_copy(&s->arena, reason, reply->reason.len);
	return reply->reason.data ? 0 : err_no_memory(err);
}

/* Opens a module, and adds its row to the reply if it is new or, in a stream, has changed. */
static int open_and_tell(struct symbolize *s, struct store_read *r, size_t i, struct err *err)
{
	Rawstack__V1__ModuleReply *reply = arena_alloc(&s->arena, sizeof(*reply));
	struct module *m = &s->modules[i];
	Rawstack__V1__ModuleStatus status = m->status;
	uint64_t generation = m->generation;
	size_t row = s->reply.n_modules;
	int rc;

	if (!reply)
		return err_no_memory(err);
	rawstack__v1__module_reply__init(reply);
	rc = open_module(s, r, m, reply, err);
	if (rc || (i < s->first_module && m->status == status && m->generation == generation))
		return rc;
	if (s->is_stream) {
		s->reply.module_index[row] = (uint32_t)i;
		s->reply.n_module_index++;
	}
	s->reply.modules[s->reply.n_modules++] = reply;
	return reply_names_weigh(&s->names, MODULE_COST + reply->reason.len)
		       ? 0
		       : err_set(err, ERR_LIMIT, "the modules alone fill a reply");
}

int symbolize_modules_open(struct symbolize *s, struct store_read *r, struct err *err)
{
	const Rawstack__V1__Locations *l = s->locations;
	size_t count = s->module_count;
	int rc = 0;

	s->reply.modules = arena_array(&s->arena, count, sizeof(s->reply.modules[0]));
	s->reply.module_index = arena_array(&s->arena, count, sizeof(s->reply.module_index[0]));
	if (!s->reply.modules || !s->reply.module_index)
		return err_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		s->modules[i].asked = s->modules[i].by_offset = false;
		s->modules[i].weight = 0;
	}
	for (size_t i = 0; i < l->n_kind; i++)
		if (batch_kind_has_module((int)l->kind[i])) {
			s->modules[l->module[i]].asked = true;
			if (l->kind[i] == RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_FILE_OFF)
				s->modules[l->module[i]].by_offset = true;
		}
	for (size_t i = s->first_module; !rc && i < count; i++)
		rc = open_and_tell(s, r, i, err);
	/* Modules of the stream's earlier batches are opened again if this batch uses them. */
	for (size_t i = 0; !rc && i < s->first_module; i++)
		if (s->modules[i].asked)
			rc = open_and_tell(s, r, i, err);
	return rc;
}

int symbolize_modules_recheck(struct symbolize *s, struct store_read *r, struct err *err)
{
	bool all_well = true;

	for (size_t i = 0; i < s->module_count; i++) {
		struct module *m = &s->modules[i];

		if (m->asked && m->is_odd && m->status == MODULE_STATUS(READY))
			all_well = store_recheck(r, &m->found, NULL) >= 0 && all_well;
		m->is_odd = false;
	}
	return all_well ? 0 : err_set(err, ERR_DAMAGED, "a table is damaged");
}

/* --- afterwards ------------------------------------------------------------------------------ */

int symbolize_record_use(struct symbolize *s, struct err *err)
{
	_cleanup_(freep) struct store_missing *notes = NULL;
	struct intern ids = INTERN_INIT(LIMIT_BATCH_MODULES, LIMIT_BATCH_MODULES * BUILD_ID_MAX);
	struct kv_bytes batch_id = {s->batch->batch_id.data, s->batch->batch_id.len};
	int rc = 0;

	for (size_t i = 0; i < s->module_count; i++) {
		struct module *m = &s->modules[i];
		uint32_t row;
		bool is_new;

		if (m->damaged && store_purge_damaged(s->env->store, &m->found, NULL) == 1 &&
		    s->env->damaged)
			s->env->damaged(s->env->ctx, &m->found);
		m->damaged = false;
		if (!m->asked || m->status == MODULE_STATUS(BUILDING) ||
		    m->status == MODULE_STATUS(DAMAGED))
			continue;
		if (m->status == MODULE_STATUS(READY)) {
			store_note_used(s->env->store, &m->found, s->env->now_ns);
			if (!needs_executable(m))
				continue;
		}
		if (!notes)
			notes = calloc(s->module_count, sizeof(*notes));
		if (!notes)
			break;
		row = intern_add(&ids, m->found.bytes, m->found.len, &is_new);
		if (row == INTERN_FULL)
			continue;
		if (is_new)
			notes[row] = (struct store_missing){
				.id = m->found,
				.client = s->env->client,
				.last_ns = s->env->now_ns,
				.has_table = needs_executable(m),
				.paths = {m->path},
				.path_count = 1,
			};
		if (!CHECKED_ADD(notes[row].weight, m->weight, &notes[row].weight))
			notes[row].weight = UINT64_MAX;
	}
	if (!s->env->uncounted && ids.count)
		rc = store_note_missing(s->env->store, batch_id, notes, ids.count, err);
	intern_done(&ids);
	return rc;
}
