/* SPDX-License-Identifier: Apache-2.0 */
/* Resolve answers a batch of one module with nested messages. */
#include <string.h>

#include "binary_meta.h"
#include "limits.h"
#include "service_priv.h"

enum {
	CANDIDATES_MAX = 100,
	FRAME_COST = 64 /* bytes of a nested frame without its texts */
};

/* The newest binaries that match, newest first. */
struct candidates {
	struct build_id ids[CANDIDATES_MAX];
	uint64_t uploaded_ns[CANDIDATES_MAX];
	size_t count;
};

static void add_named_binary(struct candidates *c, const Rawstack__V1__Binary *b)
{
	size_t at = c->count;

	while (at && c->uploaded_ns[at - 1] < b->uploaded_unix_ns)
		at--;
	if (at == CANDIDATES_MAX)
		return;
	if (c->count < CANDIDATES_MAX)
		c->count++;
	memmove(c->ids + at + 1, c->ids + at, (c->count - at - 1) * sizeof(c->ids[0]));
	memmove(c->uploaded_ns + at + 1, c->uploaded_ns + at,
		(c->count - at - 1) * sizeof(c->uploaded_ns[0]));
	c->uploaded_ns[at] = b->uploaded_unix_ns;
	(void)build_id_set(&c->ids[at], BUILD_ID_GNU, b->build_id.data, b->build_id.len, NULL);
}

/* Looks at all binaries that have the name and the labels, page by page. */
static int find_candidates(struct service *s, const Rawstack__V1__ResolveRequest *request,
			   const struct service_caller *caller, struct candidates *c,
			   struct err *err)
{
	_cleanup_(arena_done) struct arena page = ARENA_INIT(LIMIT_REPLY_MEMORY);
	Rawstack__V1__ListRequest list = RAWSTACK__V1__LIST_REQUEST__INIT;
	uint8_t token[BUILD_ID_MAX];

	list.name = request->name;
	list.labels = request->labels;
	list.n_labels = request->n_labels;
	list.page_size = LIMIT_PAGE;
	list.page_token.data = token;
	do {
		Rawstack__V1__ListReply found = RAWSTACK__V1__LIST_REPLY__INIT;

		TRY(service_list(s, &list, caller, &page, &found, err));
		for (size_t i = 0; i < found.n_binaries; i++)
			if (found.binaries[i]->status ==
			    RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_READY)
				add_named_binary(c, found.binaries[i]);
		list.page_token.len = found.next_page_token.len;
		if (list.page_token.len)
			memcpy(token, found.next_page_token.data, list.page_token.len);
		arena_reset(&page);
	} while (list.page_token.len);
	return 0;
}

/*
 * Finds the binaries that match name and labels, for a request without an id. If there is one, it
 * is answered; if there are several, they are the candidates, newest first.
 */
static int resolve_by_name(struct service *s, const Rawstack__V1__ResolveRequest *request,
			   const struct service_caller *caller, struct arena *arena,
			   Rawstack__V1__ResolveReply *reply, struct err *err)
{
	_cleanup_(freep) struct candidates *c = calloc(1, sizeof(*c));
	ProtobufCBinaryData *ids;

	if (!c)
		return err_no_memory(err);
	TRY(find_candidates(s, request, caller, c, err));
	if (!c->count)
		return err_set(err, ERR_NOT_FOUND, "no binary of that name and these labels");
	ids = arena_array(arena, c->count, sizeof(ids[0]));
	if (!ids)
		return err_no_memory(err);
	for (size_t i = 0; i < c->count; i++) {
		ids[i].data = (uint8_t *)arena_copy(arena, c->ids[i].bytes, c->ids[i].len);
		ids[i].len = c->ids[i].len;
		if (!ids[i].data)
			return err_no_memory(err);
	}
	if (c->count == 1) {
		reply->build_id = ids[0];
	} else {
		reply->candidates = ids;
		reply->n_candidates = c->count;
	}
	return 0;
}

/* Replaces an alias by the id of its binary, which the reply tells. */
static int resolve_by_id(struct service *s, const Rawstack__V1__ResolveRequest *request,
			 struct arena *arena, Rawstack__V1__ResolveReply *reply, struct err *err)
{
	struct build_id id;

	TRY(service_find_id(s, &id, &request->build_id, err));
	reply->build_id.data = (uint8_t *)arena_copy(arena, id.bytes, id.len);
	reply->build_id.len = id.len;
	return reply->build_id.data ? 0 : err_no_memory(err);
}

static int check_resolve_request(const Rawstack__V1__ResolveRequest *request, struct err *err)
{
	struct build_id id;

	if (request->n_addresses > LIMIT_RESOLVE_ADDRESSES)
		return err_set(err, ERR_DATA, "addresses: %zu, at most %llu", request->n_addresses,
			       (unsigned long long)LIMIT_RESOLVE_ADDRESSES);
	switch (request->kind) {
	case RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_UNSPECIFIED:
	case RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_VADDR:
	case RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_FILE_OFF:
	case RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_KERNEL_TEXT:
		break;
	default:
		return err_set(err, ERR_DATA, "kind: must be FILE_OFF, KERNEL_TEXT or VADDR");
	}
	if (!request->build_id.len && !request->name.len)
		return err_set(err, ERR_DATA, "build_id, name: both are empty");
	return request->build_id.len ? service_id(&id, &request->build_id, err) : 0;
}

/* Fills the columns of the batch, with the same kind and mode throughout. */
static int fill_batch(const Rawstack__V1__ResolveRequest *request, struct arena *arena,
		      Rawstack__V1__Locations *l, struct err *err)
{
	size_t count = request->n_addresses;

	l->kind = arena_array(arena, count, sizeof(l->kind[0]));
	l->module = arena_array(arena, count, sizeof(l->module[0]));
	l->mode = arena_array(arena, count, sizeof(l->mode[0]));
	if (!l->kind || !l->module || !l->mode)
		return err_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		l->kind[i] = request->kind ? request->kind
					   : RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_VADDR;
		l->mode[i] = request->mode;
	}
	l->address = request->addresses;
	l->n_kind = l->n_module = l->n_mode = l->n_address = count;
	return 0;
}

static ProtobufCBinaryData copy_text(struct arena *arena, ProtobufCBinaryData from, bool *failed)
{
	ProtobufCBinaryData to = {from.len, (uint8_t *)arena_copy(arena, from.data, from.len)};

	*failed = *failed || !to.data;
	return to;
}

/* Returns the frame at row `at` of the columns. Copies its texts, because the columns are freed
 * before the reply is sent. */
static Rawstack__V1__Frame *nest_frame(const Rawstack__V1__SymbolizedBatch *b, size_t at,
				       struct arena *arena)
{
	const Rawstack__V1__Functions *f = b->functions;
	Rawstack__V1__Frame *frame = arena_alloc(arena, sizeof(*frame));
	uint32_t row = b->frame_function[at];
	bool failed = false;

	if (!frame)
		return NULL;
	rawstack__v1__frame__init(frame);
	frame->function = copy_text(arena, b->strings[f->name[row]], &failed);
	frame->linkage_name = copy_text(arena, b->strings[f->linkage_name[row]], &failed);
	frame->file = copy_text(arena, b->strings[f->file[row]], &failed);
	frame->line = b->frame_line[at];
	frame->column = b->frame_column[at];
	frame->start_line = f->start_line[row];
	frame->start_address = f->start_address[row];
	return failed ? NULL : frame;
}

static int nest_frames(const Rawstack__V1__SymbolizedBatch *b,
		       const Rawstack__V1__ResolveRequest *request, struct arena *arena,
		       Rawstack__V1__ResolveReply *reply, struct err *err)
{
	size_t count = request->n_addresses, at = 0, size = 0;

	reply->addresses = arena_array(arena, count, sizeof(reply->addresses[0]));
	if (!reply->addresses)
		return err_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		Rawstack__V1__ResolvedAddress *a = arena_alloc(arena, sizeof(*a));
		size_t frames = b->frame_count[i];

		if (!a)
			return err_no_memory(err);
		rawstack__v1__resolved_address__init(a);
		a->address = request->addresses[i];
		a->status = b->status[i];
		a->frames = arena_array(arena, frames, sizeof(a->frames[0]));
		if (!a->frames)
			return err_no_memory(err);
		for (; a->n_frames < frames && size < LIMIT_REPLY_LEN; at++) {
			Rawstack__V1__Frame *frame = nest_frame(b, at, arena);

			if (!frame)
				return err_no_memory(err);
			frame->inlined = a->n_frames + 1 < frames;
			a->frames[a->n_frames++] = frame;
			size += frame->function.len + frame->linkage_name.len + frame->file.len +
				FRAME_COST;
		}
		/* Texts repeat in a nested reply, so that it may fill before the columns do. */
		if (size >= LIMIT_REPLY_LEN) {
			at += frames - a->n_frames;
			a->n_frames = 0;
			a->status = RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_DEFERRED;
		}
		reply->addresses[reply->n_addresses++] = a;
	}
	return 0;
}

int service_resolve(struct service *s, const Rawstack__V1__ResolveRequest *request,
		    const struct service_caller *caller, struct arena *arena,
		    Rawstack__V1__ResolveReply *reply, struct err *err)
{
	_cleanup_(symbolize_freep) struct symbolize *work = NULL;
	Rawstack__V1__StackBatch batch = RAWSTACK__V1__STACK_BATCH__INIT;
	Rawstack__V1__Locations locations = RAWSTACK__V1__LOCATIONS__INIT;
	Rawstack__V1__Module module = RAWSTACK__V1__MODULE__INIT, *modules = &module;
	struct symbolize_env env = service_env(s, caller);
	int rc;

	TRY(check_resolve_request(request, err));
	rc = request->build_id.len ? resolve_by_id(s, request, arena, reply, err)
				   : resolve_by_name(s, request, caller, arena, reply, err);
	if (rc || reply->n_candidates)
		return rc;
	rc = fill_batch(request, arena, &locations, err);
	work = symbolize_new(false, err);
	if (rc || !work)
		return err_no_memory(err);
	module.build_id = reply->build_id;
	batch.modules = &modules;
	batch.n_modules = 1;
	batch.locations = &locations;
	batch.detail = request->detail;
	batch.demangle = request->demangle;
	batch.want_columns = true;
	batch.want_function_details = true;
	env.uncounted = true;
	TRY(service_look_up(s, work, &env, &batch, err));
	reply->module = arena_alloc(arena, sizeof(*reply->module));
	if (!reply->module)
		return err_no_memory(err);
	*reply->module = *symbolize_reply(work)->modules[0];
	if (reply->module->reason.len) {
		bool failed = false;

		reply->module->reason = copy_text(arena, reply->module->reason, &failed);
		if (failed)
			return err_no_memory(err);
	}
	return nest_frames(symbolize_reply(work), request, arena, reply, err);
}
