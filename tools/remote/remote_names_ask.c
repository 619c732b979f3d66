/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "batch_reply.h"
#include "borrowed.h"
#include "digest.h"
#include "remote_names_priv.h"
#include "text.h"

/* Locations of one request: as many as are likely to be answered in one reply. */
#define BATCH      ((size_t)LIMIT_BATCH_LOCATIONS / 4)
#define TIMEOUT_MS 30000

static ProtobufCBinaryData borrow_string(const struct remote_names *n, uint32_t string, size_t max)
{
	struct profile_text t = profile_text(&n->found, string);

	return borrow_bytes(t.p, t.len < max ? t.len : max);
}

static bool new_ask_message(struct remote_names *n, Rawstack__V1__StackBatch **ret, size_t count)
{
	Rawstack__V1__StackBatch *q = arena_alloc(&n->arena, sizeof(*q));
	Rawstack__V1__Locations *rows = arena_alloc(&n->arena, sizeof(*rows));

	if (!q || !rows)
		return false;
	rawstack__v1__stack_batch__init(q);
	rawstack__v1__locations__init(rows);
	q->detail = RAWSTACK__V1__DETAIL__DETAIL_INLINES;
	q->want_function_details = true;
	q->locations = rows;
	q->modules = arena_array(&n->arena, count, sizeof(void *));
	q->strings = arena_array(&n->arena, count + 1, sizeof(*q->strings));
	rows->kind = arena_array(&n->arena, count, sizeof(*rows->kind));
	rows->mode = arena_array(&n->arena, count, sizeof(*rows->mode));
	rows->module = arena_array(&n->arena, count, sizeof(*rows->module));
	rows->address = arena_array(&n->arena, count, sizeof(*rows->address));
	rows->string = arena_array(&n->arena, count, sizeof(*rows->string));
	rows->weight = arena_array(&n->arena, count, sizeof(*rows->weight));
	*ret = q;
	return q->modules && q->strings && rows->kind && rows->mode && rows->module &&
	       rows->address && rows->string && rows->weight;
}

static bool add_asked_segments(struct remote_names *n, const struct file_segments *from,
			       Rawstack__V1__Module *to)
{
	const size_t count = from->count;

	if (!count)
		return true;
	to->segment_file_off = arena_array(&n->arena, count, sizeof(*to->segment_file_off));
	to->segment_vaddr = arena_array(&n->arena, count, sizeof(*to->segment_vaddr));
	to->segment_len = arena_array(&n->arena, count, sizeof(*to->segment_len));
	if (!to->segment_file_off || !to->segment_vaddr || !to->segment_len)
		return false;
	for (size_t i = 0; i < count; i++) {
		to->segment_file_off[i] = from->rows[i].file_off;
		to->segment_vaddr[i] = from->rows[i].vaddr;
		to->segment_len[i] = from->rows[i].len;
	}
	to->n_segment_file_off = to->n_segment_vaddr = to->n_segment_len = count;
	return true;
}

static bool add_asked_module(struct remote_names *n, Rawstack__V1__StackBatch *q, struct binary *b,
			     uint32_t path)
{
	Rawstack__V1__Module *m = arena_alloc(&n->arena, sizeof(*m));

	if (!m)
		return false;
	rawstack__v1__module__init(m);
	m->build_id = borrow_bytes(b->id.bytes, b->id.len);
	m->id_kind = RAWSTACK__V1__ID_KIND__ID_KIND_GNU;
	m->path = borrow_string(n, path, LIMIT_PATH_LEN);
	if (!add_asked_segments(n, &b->segments, m))
		return false;
	b->row = (uint32_t)q->n_modules;
	q->modules[q->n_modules++] = m;
	return true;
}

/* A section's name is repeated for each row, because few rows have one. */
static bool add_asked_row(struct remote_names *n, Rawstack__V1__StackBatch *q, size_t id,
			  size_t first)
{
	const struct place *at = place_at(n, id);
	struct binary *b = &n->binaries[at->binary];
	Rawstack__V1__Locations *rows = q->locations;
	size_t row = rows->n_kind++;

	if (b->row == PROFILE_NONE && !add_asked_module(n, q, b, n->paths[id - first]))
		return false;
	rows->kind[row] = (Rawstack__V1__LocationKind)at->kind;
	rows->mode[row] = (Rawstack__V1__AddressMode)at->mode;
	rows->module[row] = b->row;
	rows->address[row] = at->address;
	rows->weight[row] = n->weights[id - first];
	if (at->kind == RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_KERNEL_MODULE) {
		rows->string[row] = (uint32_t)q->n_strings;
		q->strings[q->n_strings++] = borrow_string(n, at->section, LIMIT_STRING_LEN);
	}
	return true;
}

/* Gives a batch its id. Equal questions get equal ids, so that Missing counts them once. */
static int name_batch(struct remote_names *n, Rawstack__V1__StackBatch *q, struct err *err)
{
	uint8_t *sum = arena_alloc(&n->arena, DIGEST_LEN);
	const Rawstack__V1__Locations *rows = q->locations;
	struct digest d;

	if (!sum)
		return err_no_memory(err);
	digest_init(&d);
	for (size_t i = 0; i < q->n_modules; i++)
		digest_update(&d, q->modules[i]->build_id.data, q->modules[i]->build_id.len);
	digest_update(&d, rows->address, rows->n_address * sizeof(*rows->address));
	digest_update(&d, rows->weight, rows->n_weight * sizeof(*rows->weight));
	digest_finish(&d, sum);
	q->batch_id = borrow_bytes(sum, DIGEST_LEN);
	return 0;
}

/* Makes a request for the first of the given places, as many as fit. */
static int make_request(struct remote_names *n, const uint32_t *ids, size_t count, size_t first,
			Rawstack__V1__StackBatch **ret, size_t *ret_taken, struct err *err)
{
	Rawstack__V1__StackBatch *q;
	size_t taken = 0;

	count = count < BATCH ? count : BATCH;
	if (!new_ask_message(n, &q, count))
		return err_no_memory(err);
	for (size_t i = 0; i < n->binary_ids.count; i++)
		n->binaries[i].row = PROFILE_NONE;
	q->strings[q->n_strings++] = borrow_bytes("", 0);
	/* All profiles of Rawstack have short names; --names full uses the linker's names, which
	 * the reply has too. */
	q->demangle = RAWSTACK__V1__DEMANGLE__DEMANGLE_SHORT;
	while (taken < count && q->n_modules < LIMIT_BATCH_MODULES)
		if (!add_asked_row(n, q, ids[taken++], first))
			return err_no_memory(err);
	q->locations->n_module = q->locations->n_address = q->locations->n_mode = taken;
	q->locations->n_string = q->locations->n_weight = taken;
	*ret = q;
	*ret_taken = taken;
	return name_batch(n, q, err);
}

/* --- answers --------------------------------------------------------------------------------- */

static uint32_t take_string(struct remote_names *n, const ProtobufCBinaryData *s)
{
	return profile_string(&n->found, s->data, s->len);
}

static uint32_t take_function(struct remote_names *n, const Rawstack__V1__SymbolizedBatch *r,
			      uint32_t row)
{
	const Rawstack__V1__Functions *f = r->functions;
	struct profile_function fn = {
		.name = take_string(n, &r->strings[f->name[row]]),
		.file = take_string(n, &r->strings[f->file[row]]),
	};

	fn.system_name =
		f->n_linkage_name ? take_string(n, &r->strings[f->linkage_name[row]]) : fn.name;
	if (f->n_start_line)
		fn.start_line = f->start_line[row];
	if (f->n_start_file)
		fn.decl_file = take_string(n, &r->strings[f->start_file[row]]);
	if (f->n_start_address && !fn.decl_file)
		fn.start = f->start_address[row];
	return profile_add_function(&n->found, &fn);
}

static uint32_t take_frames(struct remote_names *n, const Rawstack__V1__SymbolizedBatch *r,
			    size_t first, uint32_t count)
{
	struct profile_line lines[LIMIT_INLINE_DEPTH + 1];

	for (uint32_t i = 0; i < count; i++)
		lines[i] = (struct profile_line){take_function(n, r, r->frame_function[first + i]),
						 r->frame_line[first + i]};
	return profile_add_location(&n->found, &(struct profile_location){.module = PROFILE_NONE,
									  .lines = lines,
									  .line_count = count});
}

static int take_modules(struct remote_names *n, const Rawstack__V1__SymbolizedBatch *r,
			struct err *err)
{
	for (size_t i = 0; i < n->binary_ids.count; i++) {
		struct binary *b = &n->binaries[i];
		_cleanup_(buf_done) struct buf reason = BUF_INIT(MIB);
		const Rawstack__V1__ModuleReply *m;

		if (b->row == PROFILE_NONE)
			continue;
		if (b->row >= r->n_modules)
			return err_set(err, ERR_INTERNAL,
				       "the reply of the service lacks a status");
		m = r->modules[b->row];
		b->status = remote_module_status(m->status);
		text_append(&reason, m->reason.data, m->reason.len);
		free(b->reason);
		b->reason = strdup(buf_cstr(&reason));
		if (!b->reason)
			return err_no_memory(err);
	}
	return 0;
}

/* Takes the answers, and moves deferred places to the front of ids. */
static int take_reply(struct remote_names *n, const Rawstack__V1__SymbolizedBatch *r, uint32_t *ids,
		      size_t count, size_t *ret_deferred, struct err *err)
{
	size_t first = 0, deferred = 0;

	TRY(batch_reply_check(r, count, err));
	TRY(take_modules(n, r, err));
	for (size_t i = 0; i < count; i++) {
		if (r->status[i] == RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_DEFERRED)
			ids[deferred++] = ids[i];
		else if (batch_reply_names(r, first, r->frame_count[i]))
			n->answers[ids[i]] = take_frames(n, r, first, r->frame_count[i]);
		first += r->frame_count[i];
	}
	if (n->found.failed)
		return profile_full(&n->found, err, "names");
	if (deferred == count)
		return err_set(err, ERR_INTERNAL, "the service answers none of %zu places", count);
	*ret_deferred = deferred;
	return 0;
}

int remote_names_ask(struct remote_names *n, uint32_t **ids, size_t *count, struct err *err)
{
	struct rpc_request request = {
		.method = "/rawstack.v1.Symbolizer/Symbolize",
		.reply_type = &rawstack__v1__symbolized_batch__descriptor,
		.timeout_ms = TIMEOUT_MS,
		.arena = &n->arena,
	};
	ProtobufCMessage *reply;
	Rawstack__V1__StackBatch *q;
	size_t taken, deferred = 0;

	arena_reset(&n->arena);
	TRY(make_request(n, *ids, *count, n->asked, &q, &taken, err));
	request.message = &q->base;
	TRY(rpc_client_request(n->client, &request, &reply, err));
	TRY(take_reply(n, (const Rawstack__V1__SymbolizedBatch *)reply, *ids, taken, &deferred,
		       err));
	/* Deferred places are asked for again, together with those behind them. */
	memmove(*ids + taken - deferred, *ids, deferred * sizeof(**ids));
	*ids += taken - deferred;
	*count -= taken - deferred;
	return 0;
}
