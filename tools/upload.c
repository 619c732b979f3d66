/* SPDX-License-Identifier: Apache-2.0 */
#include "upload.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digest.h"
#include "io.h"
#include "limits.h"
#include "log.h"

/* A broken connection is tried again so often, if each time more has arrived. */
#define ATTEMPTS          5
#define UPLOAD_TIMEOUT_MS 3600000
#define BUILD_TIMEOUT_MS  LIMIT_WORKER_WALL_MS

struct state {
	struct rpc_client *c;
	const struct upload *u;
	uint8_t *chunk; /* LIMIT_UPLOAD_CHUNK */
	uint64_t size;
	uint8_t sha256[DIGEST_LEN];
	uint8_t id[64]; /* the upload's, from Begin */
	size_t id_len;
	uint64_t offset; /* where the service stands */
};

static void state_done(struct state *s)
{
	free(s->chunk);
}

static ProtobufCBinaryData borrow(const void *p, size_t len)
{
	return (ProtobufCBinaryData){.len = len, .data = (uint8_t *)(uintptr_t)p};
}

static ProtobufCBinaryData borrow_cstr(const char *s)
{
	return borrow(s, s ? strlen(s) : 0);
}

static int hash_file(struct state *s, struct err *err)
{
	_cleanup_(digest_freep) struct digest *d = digest_new(err);
	int rc = d ? 0 : ERR_MEMORY;

	for (uint64_t off = 0; !rc && off < s->size;) {
		uint64_t left = s->size - off;
		size_t n = left < LIMIT_UPLOAD_CHUNK ? left : LIMIT_UPLOAD_CHUNK;

		rc = io_read_all(io_system(), s->u->fd, s->chunk, n, (off_t)off, err);
		if (!rc)
			rc = digest_update(d, s->chunk, n, err);
		off += n;
	}
	return rc ? rc : digest_finish(d, s->sha256, err);
}

static void take_report(struct upload_result *r, const Rawstack__V1__BuildReport *report)
{
	if (!report)
		return;
	r->functions = report->functions;
	r->inline_nodes = report->inline_nodes;
	r->symbols = report->symbols;
	r->units = report->units;
	r->units_skipped = report->units_skipped;
	r->table_bytes = report->table_bytes;
	r->has_dwarf = report->has_dwarf;
}

static int refused(const Rawstack__V1__BeginReply *reply, struct err *err)
{
	int len = (int)reply->reason.len;
	const char *reason = len ? (const char *)reply->reason.data : "no reason given";

	len = len ? len : (int)strlen(reason);
	switch (reply->status) {
	case RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_IN_PROGRESS:
		return err_set(err, ERR_EXISTS, "another upload of it is under way: %.*s", len,
			       reason);
	case RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_OVER_QUOTA:
		return err_set(err, ERR_LIMIT, "the service has no room: %.*s", len, reason);
	case RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_UNSUPPORTED:
		return err_set(err, ERR_UNSUPPORTED, "the service refuses it: %.*s", len, reason);
	default:
		return err_set(err, ERR_INTERNAL, "the service answers Begin with status %d",
			       (int)reply->status);
	}
}

/* 1: needed from s->offset on; 0: it is there; negative. */
static int begin(struct state *s, struct upload_result *r, struct err *err)
{
	_cleanup_(remote_free_reply) ProtobufCMessage *message = NULL;
	Rawstack__V1__BeginRequest q = RAWSTACK__V1__BEGIN_REQUEST__INIT;
	const Rawstack__V1__BeginReply *reply;
	int rc;

	q.build_id = borrow(s->u->id.bytes, s->u->id.len);
	q.id_kind = s->u->id.kind == BUILD_ID_HTLHASH ? RAWSTACK__V1__ID_KIND__ID_KIND_HTLHASH
						      : RAWSTACK__V1__ID_KIND__ID_KIND_GNU;
	q.size = s->size;
	q.sha256 = borrow(s->sha256, sizeof(s->sha256));
	q.kind = s->u->kind;
	q.name = borrow_cstr(s->u->name);
	q.version = borrow_cstr(s->u->version);
	q.labels = s->u->labels;
	q.n_labels = s->u->label_count;
	rc = rpc_client_call(s->c, "/rawstack.v1.Binaries/Begin", &q.base,
			     &rawstack__v1__begin_reply__descriptor, REMOTE_TIMEOUT_MS, &message,
			     err);
	if (rc)
		return rc;
	reply = (const Rawstack__V1__BeginReply *)message;
	if (reply->status == RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_PRESENT) {
		take_report(r, reply->report);
		r->present = true;
		return 0;
	}
	if (reply->status != RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_NEEDED)
		return refused(reply, err);
	if (reply->upload_id.len > sizeof(s->id) || reply->offset > s->size)
		return err_set(err, ERR_INTERNAL, "the service answers Begin with nonsense");
	memcpy(s->id, reply->upload_id.data, reply->upload_id.len);
	s->id_len = reply->upload_id.len;
	s->offset = reply->offset;
	return 1;
}

static int send(struct state *s, struct upload_result *r, struct err *err)
{
	_cleanup_(rpc_stream_closep) struct rpc_stream *stream = NULL;
	_cleanup_(remote_free_reply) ProtobufCMessage *reply = NULL;
	int rc = rpc_stream_open(&stream, s->c, "/rawstack.v1.Binaries/Upload",
				 &rawstack__v1__upload_reply__descriptor, UPLOAD_TIMEOUT_MS, err);

	while (!rc && s->offset < s->size) {
		Rawstack__V1__UploadChunk chunk = RAWSTACK__V1__UPLOAD_CHUNK__INIT;
		uint64_t left = s->size - s->offset;
		size_t n = left < LIMIT_UPLOAD_CHUNK ? left : LIMIT_UPLOAD_CHUNK;

		rc = io_read_all(io_system(), s->u->fd, s->chunk, n, (off_t)s->offset, err);
		if (rc)
			break;
		chunk.upload_id = borrow(s->id, s->id_len);
		chunk.offset = s->offset;
		chunk.data = borrow(s->chunk, n);
		rc = rpc_stream_send(stream, &chunk.base, err);
		s->offset += n;
		r->sent += n;
		log_progress("%s: %3.0f %% of %.1f MiB sent", s->u->shown,
			     100.0 * (double)s->offset / (double)s->size,
			     (double)s->size / (double)MIB);
	}
	if (!stream)
		return rc;
	/* The status of a call comes only after its reply was taken. */
	if (!rc)
		rc = rpc_stream_half_close(stream, err);
	if (!rc)
		rc = rpc_stream_receive(stream, &reply, err);
	return rc < 0 ? rc : rpc_stream_finish(stream, err);
}

static int finish(struct state *s, struct upload_result *r, struct err *err)
{
	_cleanup_(remote_free_reply) ProtobufCMessage *message = NULL;
	Rawstack__V1__FinishRequest q = RAWSTACK__V1__FINISH_REQUEST__INIT;
	const Rawstack__V1__FinishReply *reply;
	int rc;

	log_progress("%s: building its table", s->u->shown);
	q.upload_id = borrow(s->id, s->id_len);
	q.wait = true;
	rc = rpc_client_call(s->c, "/rawstack.v1.Binaries/Finish", &q.base,
			     &rawstack__v1__finish_reply__descriptor, BUILD_TIMEOUT_MS, &message,
			     err);
	if (rc)
		return rc;
	reply = (const Rawstack__V1__FinishReply *)message;
	switch (reply->state) {
	case RAWSTACK__V1__BUILD_STATE__BUILD_STATE_DONE:
		take_report(r, reply->report);
		return 0;
	case RAWSTACK__V1__BUILD_STATE__BUILD_STATE_FAILED:
		return err_set(err, ERR_DATA, "%.*s", (int)reply->reason.len,
			       (const char *)reply->reason.data);
	default:
		return err_set(err, ERR_UNAVAILABLE, "uploaded; its table is still being built");
	}
}

/* 1: all bytes are there; 0: they were before; negative. */
static int transfer(struct state *s, struct upload_result *r, struct err *err)
{
	uint64_t before = 0;
	int rc = begin(s, r, err);

	for (int attempt = 0; rc > 0 && s->offset < s->size; attempt++) {
		before = s->offset;
		if (send(s, r, err) == 0)
			break;
		if (err->code != ERR_UNAVAILABLE || attempt == ATTEMPTS)
			return err->code;
		rc = begin(s, r, err);
		if (rc > 0 && s->offset <= before)
			return err_set(err, ERR_UNAVAILABLE, "the connection breaks at byte %llu",
				       (unsigned long long)s->offset);
	}
	return rc;
}

int upload_run(struct rpc_client *c, const struct upload *u, struct upload_result *ret,
	       struct err *err)
{
	_cleanup_(state_done) struct state s = {.c = c, .u = u};
	struct stat st;
	int rc;

	*ret = (struct upload_result){0};
	if (fstat(u->fd, &st))
		return err_sys(err, errno, "stat");
	if ((uint64_t)st.st_size > LIMIT_UPLOAD_LEN)
		return err_set(err, ERR_LIMIT, "larger than %llu bytes",
			       (unsigned long long)LIMIT_UPLOAD_LEN);
	s.size = (uint64_t)st.st_size;
	s.chunk = malloc(LIMIT_UPLOAD_CHUNK);
	if (!s.chunk)
		return err_set(err, ERR_MEMORY, "out of memory");
	rc = hash_file(&s, err);
	if (rc)
		return rc;
	rc = transfer(&s, ret, err);
	if (rc > 0)
		rc = finish(&s, ret, err);
	log_progress("%s", "");
	return rc;
}
