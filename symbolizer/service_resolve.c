/* SPDX-License-Identifier: Apache-2.0 */
/* Resolve: a batch of one module, its answer told as nested messages. */
#include <string.h>

#include "binary_meta.h"
#include "limits.h"
#include "service_priv.h"

enum {
	CANDIDATES_MAX = 100,
	FRAME_COST = 64 /* of a nested frame without its texts */
};

static int out_of_memory(struct err *err)
{
	return err_set(err, ERR_MEMORY, "out of memory");
}

/*
 * Without an id: the binaries that match name and labels. One, and it is the id; several, and they
 * are the candidates, newest first.
 */
static int by_name(struct service *s, const Rawstack__V1__ResolveRequest *request,
		   struct arena *arena, Rawstack__V1__ResolveReply *reply, struct err *err)
{
	Rawstack__V1__ListRequest list = RAWSTACK__V1__LIST_REQUEST__INIT;
	Rawstack__V1__ListReply found = RAWSTACK__V1__LIST_REPLY__INIT;
	size_t ready = 0;
	int rc;

	list.name = request->name;
	list.labels = request->labels;
	list.n_labels = request->n_labels;
	list.page_size = CANDIDATES_MAX;
	rc = service_list(s, &list, arena, &found, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < found.n_binaries; i++)
		if (found.binaries[i]->status == RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_READY)
			found.binaries[ready++] = found.binaries[i];
	found.n_binaries = ready;
	if (!found.n_binaries)
		return err_set(err, ERR_NOT_FOUND, "no binary of that name and these labels");
	for (size_t i = 1; i < found.n_binaries; i++)
		for (size_t k = i; k && found.binaries[k]->uploaded_unix_ns >
						found.binaries[k - 1]->uploaded_unix_ns;
		     k--) {
			Rawstack__V1__Binary *later = found.binaries[k];

			found.binaries[k] = found.binaries[k - 1];
			found.binaries[k - 1] = later;
		}
	reply->build_id = found.binaries[0]->build_id;
	if (found.n_binaries == 1)
		return 0;
	reply->candidates = arena_array(arena, found.n_binaries, sizeof(reply->candidates[0]));
	if (!reply->candidates)
		return out_of_memory(err);
	for (size_t i = 0; i < found.n_binaries; i++)
		reply->candidates[i] = found.binaries[i]->build_id;
	reply->n_candidates = found.n_binaries;
	reply->build_id = (ProtobufCBinaryData){0, NULL};
	return 0;
}

static int check(const Rawstack__V1__ResolveRequest *request, struct err *err)
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

/* The columns of the batch: the same kind and mode throughout. */
static int fill_batch(const Rawstack__V1__ResolveRequest *request, struct arena *arena,
		      Rawstack__V1__Locations *l, struct err *err)
{
	size_t count = request->n_addresses;

	l->kind = arena_array(arena, count, sizeof(l->kind[0]));
	l->module = arena_array(arena, count, sizeof(l->module[0]));
	l->mode = arena_array(arena, count, sizeof(l->mode[0]));
	if (!l->kind || !l->module || !l->mode)
		return out_of_memory(err);
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

/* The frame at row `at` of the columns; texts are copied, since the columns go. */
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

static int nest(const Rawstack__V1__SymbolizedBatch *b, const Rawstack__V1__ResolveRequest *request,
		struct arena *arena, Rawstack__V1__ResolveReply *reply, struct err *err)
{
	size_t count = request->n_addresses, at = 0, size = 0;

	reply->addresses = arena_array(arena, count, sizeof(reply->addresses[0]));
	if (!reply->addresses)
		return out_of_memory(err);
	for (size_t i = 0; i < count; i++) {
		Rawstack__V1__ResolvedAddress *a = arena_alloc(arena, sizeof(*a));
		size_t frames = b->frame_count[i];

		if (!a)
			return out_of_memory(err);
		rawstack__v1__resolved_address__init(a);
		a->address = request->addresses[i];
		a->status = b->status[i];
		a->frames = arena_array(arena, frames, sizeof(a->frames[0]));
		if (!a->frames)
			return out_of_memory(err);
		for (; a->n_frames < frames && size < LIMIT_REPLY_LEN; at++) {
			Rawstack__V1__Frame *frame = nest_frame(b, at, arena);

			if (!frame)
				return out_of_memory(err);
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
		    struct arena *arena, Rawstack__V1__ResolveReply *reply, struct err *err)
{
	_cleanup_(symbolize_freep) struct symbolize *work = NULL;
	Rawstack__V1__StackBatch batch = RAWSTACK__V1__STACK_BATCH__INIT;
	Rawstack__V1__Locations locations = RAWSTACK__V1__LOCATIONS__INIT;
	Rawstack__V1__Module module = RAWSTACK__V1__MODULE__INIT, *modules = &module;
	struct symbolize_env env = service_env(s);
	int rc = check(request, err);

	if (rc)
		return rc;
	reply->build_id = request->build_id;
	if (!request->build_id.len) {
		rc = by_name(s, request, arena, reply, err);
		if (rc || reply->n_candidates)
			return rc;
	}
	rc = fill_batch(request, arena, &locations, err);
	work = symbolize_new(false, err);
	if (rc || !work)
		return out_of_memory(err);
	module.build_id = reply->build_id;
	batch.modules = &modules;
	batch.n_modules = 1;
	batch.locations = &locations;
	batch.detail = request->detail;
	batch.demangle = request->demangle;
	batch.want_columns = true;
	batch.want_function_details = true;
	env.uncounted = true;
	rc = symbolize_run(work, &env, &batch, err);
	if (rc)
		return rc;
	reply->module = arena_alloc(arena, sizeof(*reply->module));
	if (!reply->module)
		return out_of_memory(err);
	*reply->module = *symbolize_reply(work)->modules[0];
	if (reply->module->reason.len) {
		bool failed = false;

		reply->module->reason = copy_text(arena, reply->module->reason, &failed);
		if (failed)
			return out_of_memory(err);
	}
	return nest(symbolize_reply(work), request, arena, reply, err);
}
