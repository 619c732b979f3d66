/* SPDX-License-Identifier: Apache-2.0 */
/* Binaries.Begin, Upload and Finish. */
#include <string.h>

#include "binary_meta.h"
#include "limits.h"
#include "service_priv.h"
#include "upload_check.h"

#define KIND(name) RAWSTACK__V1__BINARY_KIND__BINARY_KIND_##name

static bool is_supported(Rawstack__V1__BinaryKind kind)
{
	switch (kind) {
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_UNSPECIFIED:
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_DEBUG:
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_EXECUTABLE:
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_BOTH:
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_KALLSYMS:
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_VDSO:
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_ALT:
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_DWP:
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_TABLE:
		return true;
	default:
		return false;
	}
}

static bool reply_misses_file(const Rawstack__V1__BuildReport *r, Rawstack__V1__BinaryKind kind)
{
	for (size_t i = 0; i < r->n_missing; i++)
		if (r->missing[i]->kind == kind)
			return true;
	return false;
}

/* Returns whether a file was kept that the table lacks. With it, a debug file that is sent again
 * adds to the table. */
static bool could_add(struct service *s, const struct build_id *id,
		      const Rawstack__V1__BuildReport *r)
{
	struct build_id alt;

	if (reply_misses_file(r, KIND(EXECUTABLE)) && kept_files_have(s->kept, id, KEPT_EXECUTABLE))
		return true;
	if (reply_misses_file(r, KIND(DWP)) && kept_files_have(s->kept, id, KEPT_DWP))
		return true;
	for (size_t i = 0; i < r->n_missing; i++)
		if (r->missing[i]->kind == KIND(ALT) &&
		    !build_id_set(&alt, BUILD_ID_GNU, r->missing[i]->build_id.data,
				  r->missing[i]->build_id.len, NULL) &&
		    kept_files_have(s->kept, &alt, KEPT_ALT))
			return true;
	return false;
}

/* Returns whether a file would add nothing to the present table, which m describes. */
static bool adds_nothing(struct service *s, const struct build_id *id,
			 const Rawstack__V1__BeginRequest *request, const Rawstack__V1__Binary *m)
{
	const Rawstack__V1__BuildReport *r = m->report;
	bool same = m->sha256.len == request->sha256.len &&
		    !memcmp(m->sha256.data, request->sha256.data, m->sha256.len);

	switch (request->kind) {
	case KIND(EXECUTABLE):
		return r->has_segments || kept_files_have(s->kept, id, KEPT_EXECUTABLE);
	case KIND(DWP):
		return !reply_misses_file(r, KIND(DWP));
	case KIND(KALLSYMS):
	case KIND(VDSO):
		return true;
	default:
		if (!r->has_dwarf)
			return same;
		if (request->kind == KIND(BOTH) && !r->has_segments && !same)
			return false;
		return kept_files_have(s->kept, id, KEPT_DEBUG) || !could_add(s, id, r);
	}
}

/* Returns 1 with the report of the table, if there is one, or 0 if the file is needed. */
static int is_present(struct service *s, const struct build_id *name,
		      const Rawstack__V1__BeginRequest *request, struct arena *arena,
		      Rawstack__V1__BuildReport **ret, struct err *err)
{
	_cleanup_(service_read_endp) struct store_read *r = NULL;
	const struct build_id *id = name;
	Rawstack__V1__Binary *m;
	struct build_id found;
	struct store_binary b;

	if (request->kind == KIND(ALT))
		return kept_files_have(s->kept, id, KEPT_ALT);
	TRY(service_store_error(store_read_begin(s->store, &r, err), err));
	/* The name may be the hash of the file. */
	if (request->id_kind == RAWSTACK__V1__ID_KIND__ID_KIND_HTLHASH) {
		found = store_resolve_alias(r, name);
		id = &found;
	}
	if (store_binary(r, id, &b, NULL) != 1 || b.status != STORE_READY)
		return (request->kind == KIND(DWP) && kept_files_have(s->kept, id, KEPT_DWP)) ||
		       (request->kind == KIND(EXECUTABLE) &&
			kept_files_have(s->kept, id, KEPT_EXECUTABLE));
	m = binary_meta_message(&b, arena);
	if (!m)
		return err_no_memory(err);
	if (upload_kind_is_of_host(m->kind) && !upload_kind_is_of_host(request->kind))
		return 0;
	*ret = m->report;
	return !m->report || adds_nothing(s, id, request, m);
}

int service_begin(struct service *s, const Rawstack__V1__BeginRequest *request, uint32_t client,
		  struct arena *arena, Rawstack__V1__BeginReply *reply, struct err *err)
{
	Rawstack__V1__BuildReport *report = NULL;
	struct upload_begun begun;
	struct build_id id;
	int rc;

	TRY(service_id(&id, &request->build_id, err));
	if (!is_supported(request->kind)) {
		reply->status = RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_UNSUPPORTED;
		reply->reason = binary_meta_text("this kind of file is not read");
		return 0;
	}
	if (!request->replace) {
		rc = is_present(s, &id, request, arena, &report, err);
		if (rc < 0)
			return rc;
		if (rc) {
			reply->status = RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_PRESENT;
			reply->report = report;
			/* No file will come, but the client wants the table pinned nevertheless. */
			rc = request->pin && report
				     ? service_store_error(store_pin(s->store, &id, true, err), err)
				     : 0;
			return rc < 0 ? rc : 0;
		}
	}
	TRY(uploads_begin(s->uploads, request, client, &begun, err));
	reply->status = begun.status;
	if (begun.will_pass)
		reply->retry_ms = LIMIT_UPLOAD_EMPTY_NS / 1000000;
	if (begun.reason) {
		reply->reason = binary_meta_text(begun.reason);
		return 0;
	}
	reply->offset = begun.offset;
	reply->upload_id.data = (uint8_t *)arena_copy(arena, begun.token, UPLOAD_TOKEN_LEN);
	if (!reply->upload_id.data)
		return err_no_memory(err);
	reply->upload_id.len = UPLOAD_TOKEN_LEN;
	return 0;
}

void service_own_upload(struct service *s, const uint8_t *token, const struct upload_owner *owner)
{
	uploads_own(s->uploads, token, owner);
}

int service_upload(struct service *s, struct upload **up, const Rawstack__V1__UploadChunk *chunk,
		   uint64_t *ret_received, struct err *err)
{
	int rc;

	if (!*up) {
		rc = uploads_attach(s->uploads, chunk->upload_id.data, chunk->upload_id.len, up,
				    err);
		if (rc) {
			*up = NULL;
			return rc;
		}
	} else if (chunk->upload_id.len &&
		   (chunk->upload_id.len != UPLOAD_TOKEN_LEN ||
		    memcmp(chunk->upload_id.data, (*up)->token, UPLOAD_TOKEN_LEN) != 0)) {
		return err_set(err, ERR_DATA, "upload_id: changed inside a stream");
	}
	return uploads_append(s->uploads, *up, chunk->offset, chunk->data.data, chunk->data.len,
			      ret_received, err);
}

void service_upload_end(struct service *s, struct upload *up)
{
	if (up)
		uploads_detach(s->uploads, up);
}

int service_finish(struct service *s, const Rawstack__V1__FinishRequest *request,
		   struct upload_waiter *waiter, struct arena *arena,
		   Rawstack__V1__FinishReply *reply, bool *ret_waits, struct err *err)
{
	struct upload_finished finished;
	int rc = uploads_finish(s->uploads, request->upload_id.data, request->upload_id.len, waiter,
				request->wait, &finished, err);

	*ret_waits = finished.waits;
	if (rc || finished.waits)
		return rc;
	reply->state = finished.state == UPLOAD_RUNNING
			       ? RAWSTACK__V1__BUILD_STATE__BUILD_STATE_RUNNING
			       : RAWSTACK__V1__BUILD_STATE__BUILD_STATE_QUEUED;
	reply->ticket.data = (uint8_t *)arena_copy(arena, finished.id.bytes, finished.id.len);
	reply->ticket.len = reply->ticket.data ? finished.id.len : 0;
	return 0;
}
