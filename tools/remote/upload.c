/* SPDX-License-Identifier: Apache-2.0 */
#include "upload.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "borrowed.h"
#include "digest.h"
#include "io.h"
#include "limits.h"
#include "text.h"

enum {
	UPLOAD_TIMEOUT_MS = 3600000,
	PAUSE_MIN_MS = 100,
	PAUSE_MAX_MS = 5000,
};

#define BUILD_TIMEOUT_MS LIMIT_WORKER_WALL_MS

struct state {
	struct rpc_client *c;
	const struct upload *u;
	uint8_t *chunk; /* LIMIT_UPLOAD_CHUNK bytes */
	uint64_t size;
	uint8_t sha256[DIGEST_LEN];
	uint8_t id[64]; /* the upload's id, from Begin */
	size_t id_len;
	uint64_t offset;    /* bytes that the service has or was sent */
	bool building;      /* a build of the binary is under way */
	bool answered;      /* the service answered at least once */
	const char *server; /* that the upload is on; NULL: none yet */
	uint64_t high;      /* the most bytes that this server had or was sent */
	uint32_t retry_ms;  /* what its last reply asked to wait; 0: it did not */
};

static void state_done(struct state *s)
{
	free(s->chunk);
}

static ProtobufCBinaryData borrow_cstr(const char *s)
{
	return borrow_bytes(s, s ? strlen(s) : 0);
}

static int hash_file(struct state *s, struct err *err)
{
	struct digest d;

	digest_init(&d);
	for (uint64_t off = 0; off < s->size;) {
		uint64_t left = s->size - off;
		size_t n = left < LIMIT_UPLOAD_CHUNK ? left : LIMIT_UPLOAD_CHUNK;

		TRY(io_read_all(io_system(), s->u->fd, s->chunk, n, (off_t)off, err));
		digest_update(&d, s->chunk, n);
		off += n;
	}
	digest_finish(&d, s->sha256);
	return 0;
}

/* Gives the report to the result, with the message that holds it. */
static void take_report(struct upload_result *r, ProtobufCMessage **message,
			const Rawstack__V1__BuildReport *report)
{
	upload_result_done(r);
	r->message = TAKE_PTR(*message);
	r->report = report;
}

static void show_upload(const struct state *s)
{
	if (s->u->progress)
		s->u->progress(s->u->ctx, s->offset);
}

/* Notes which server an upload is on. Another one has nothing of it. */
static void note_server(struct state *s)
{
	const char *server = rpc_client_server(s->c);

	if (s->server != server)
		s->high = 0;
	s->server = server;
}

static int upload_refused(const Rawstack__V1__BeginReply *reply, struct err *err)
{
	int len = (int)reply->reason.len;
	const char *reason = len ? (const char *)reply->reason.data : "no reason given";

	len = len ? len : (int)strlen(reason);
	switch (reply->status) {
	case RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_IN_PROGRESS:
		/* It may be our own, whose connection broke a moment ago. */
		return err_set(err, ERR_UNAVAILABLE,
			       "another upload of this binary is under way: %.*s", len, reason);
	case RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_OVER_QUOTA:
		return err_set(err, reply->retry_ms ? ERR_UNAVAILABLE : ERR_LIMIT,
			       "the service has no room: %.*s", len, reason);
	case RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_UNSUPPORTED:
		return err_set(err, ERR_UNSUPPORTED, "the service refuses it: %.*s", len, reason);
	default:
		return err_set(err, ERR_INTERNAL, "the service answers Begin with status %d",
			       (int)reply->status);
	}
}

/* Returns what the service knows of the binary, which *message holds, or NULL if it cannot say. */
static const Rawstack__V1__Binary *get_binary(struct state *s, ProtobufCMessage **message)
{
	Rawstack__V1__GetRequest q = RAWSTACK__V1__GET_REQUEST__INIT;

	q.build_id = borrow_bytes(s->u->id.bytes, s->u->id.len);
	if (rpc_client_call(s->c, "/rawstack.v1.Binaries/Get", &q.base,
			    &rawstack__v1__binary__descriptor, REMOTE_TIMEOUT_MS, message, NULL))
		return NULL;
	return (const Rawstack__V1__Binary *)*message;
}

/* Returns whether the service is building the binary's table. */
static bool is_building(struct state *s)
{
	_cleanup_(remote_free_reply) ProtobufCMessage *message = NULL;
	const Rawstack__V1__Binary *b = get_binary(s, &message);

	return b && b->status == RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_BUILDING;
}

/* Gets the reason if no table could be made of a file that the service has. Companion files never
 * have a table of their own. */
static int note_failure(struct state *s, struct upload_result *r, struct err *err)
{
	_cleanup_(remote_free_reply) ProtobufCMessage *message = NULL;
	_cleanup_(buf_done) struct buf reason = BUF_INIT(MIB);
	const Rawstack__V1__Binary *b;

	if (s->u->kind == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_ALT ||
	    s->u->kind == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_DWP)
		return 0;
	b = get_binary(s, &message);
	if (!b || b->status != RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_FAILED)
		return 0;
	text_append(&reason, b->reason.data, b->reason.len);
	free(r->failed);
	r->failed = strdup(buf_cstr(&reason));
	return r->failed ? 0 : err_no_memory(err);
}

/* Begins the upload. Returns 1 if the service needs the file from s->offset on, 0 if it has the
 * file, or a negative error. */
static int begin_remote_upload(struct state *s, struct upload_result *r, struct err *err)
{
	_cleanup_(remote_free_reply) ProtobufCMessage *message = NULL;
	Rawstack__V1__BeginRequest q = RAWSTACK__V1__BEGIN_REQUEST__INIT;
	const Rawstack__V1__BeginReply *reply;

	q.build_id = borrow_bytes(s->u->id.bytes, s->u->id.len);
	q.id_kind = s->u->id.kind == BUILD_ID_HTLHASH ? RAWSTACK__V1__ID_KIND__ID_KIND_HTLHASH
						      : RAWSTACK__V1__ID_KIND__ID_KIND_GNU;
	q.size = s->size;
	q.sha256 = borrow_bytes(s->sha256, sizeof(s->sha256));
	q.kind = s->u->kind;
	q.name = borrow_cstr(s->u->name);
	q.version = borrow_cstr(s->u->version);
	q.labels = s->u->labels;
	q.n_labels = s->u->label_count;
	q.pin = s->u->pin;
	q.replace = s->u->replace;
	TRY(rpc_client_call(s->c, "/rawstack.v1.Binaries/Begin", &q.base,
			    &rawstack__v1__begin_reply__descriptor, REMOTE_TIMEOUT_MS, &message,
			    err));
	s->answered = true;
	note_server(s);
	reply = (const Rawstack__V1__BeginReply *)message;
	s->retry_ms = reply->retry_ms;
	if (reply->status == RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_PRESENT) {
		r->present = r->tries == 1 || !r->sent;
		take_report(r, &message, reply->report);
		return r->report ? 0 : note_failure(s, r, err);
	}
	s->building = false;
	if (reply->status == RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_IN_PROGRESS)
		s->building = is_building(s);
	if (reply->status != RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_NEEDED)
		return upload_refused(reply, err);
	if (reply->upload_id.len > sizeof(s->id) || reply->offset > s->size)
		return err_set(
			err, ERR_INTERNAL,
			"the service answers Begin with an offset or id that is out of range");
	memcpy(s->id, reply->upload_id.data, reply->upload_id.len);
	s->id_len = reply->upload_id.len;
	s->offset = reply->offset;
	show_upload(s);
	return 1;
}

static int send_pieces(struct state *s, struct upload_result *r, struct err *err)
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
		chunk.upload_id = borrow_bytes(s->id, s->id_len);
		chunk.offset = s->offset;
		chunk.data = borrow_bytes(s->chunk, n);
		rc = rpc_stream_send(stream, &chunk.base, err);
		s->offset += n;
		r->sent += n;
		show_upload(s);
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

static int finish_remote_upload(struct state *s, struct upload_result *r, struct err *err)
{
	_cleanup_(remote_free_reply) ProtobufCMessage *message = NULL;
	Rawstack__V1__FinishRequest q = RAWSTACK__V1__FINISH_REQUEST__INIT;
	const Rawstack__V1__FinishReply *reply;

	q.upload_id = borrow_bytes(s->id, s->id_len);
	q.wait = true;
	TRY(rpc_client_call(s->c, "/rawstack.v1.Binaries/Finish", &q.base,
			    &rawstack__v1__finish_reply__descriptor, BUILD_TIMEOUT_MS, &message,
			    err));
	reply = (const Rawstack__V1__FinishReply *)message;
	switch (reply->state) {
	case RAWSTACK__V1__BUILD_STATE__BUILD_STATE_DONE:
		take_report(r, &message, reply->report);
		return 0;
	case RAWSTACK__V1__BUILD_STATE__BUILD_STATE_FAILED:
		return err_set(err, ERR_DATA, "%.*s", (int)reply->reason.len,
			       (const char *)reply->reason.data);
	default:
		return err_set(err, ERR_UNAVAILABLE, "uploaded; its table is still being built");
	}
}

/* Makes one attempt; its result is in s and r. */
static int attempt_upload(struct state *s, struct upload_result *r, struct err *err)
{
	int rc = begin_remote_upload(s, r, err);

	if (rc <= 0)
		return rc;
	if (s->offset < s->size)
		TRY(send_pieces(s, r, err));
	return finish_remote_upload(s, r, err);
}

/* Returns whether another attempt may succeed: the service is away, or it forgot the upload, which
 * Begin finds out. */
static bool is_passing(int code)
{
	return code == ERR_UNAVAILABLE || code == ERR_NOT_FOUND || code == ERR_MISMATCH ||
	       code == ERR_CANCELLED;
}

/* Sleeps as long as the service asked for, or else pause_ms, but not beyond left_ms. */
static void pause_upload(const struct state *s, uint64_t pause_ms, uint64_t left_ms)
{
	const uint32_t refused_ms = rpc_client_retry_ms(s->c);
	const uint32_t asked_ms = refused_ms ? refused_ms : s->retry_ms;

	pause_ms = asked_ms > pause_ms ? asked_ms : pause_ms;
	usleep((useconds_t)(pause_ms < left_ms ? pause_ms : left_ms) * 1000);
}

static int attempt_uploads(struct state *s, struct upload_result *r, struct err *err)
{
	const struct io *io = io_system();
	uint64_t pause_ms = PAUSE_MIN_MS, moved_ns = io->mono_ns(io->ctx);

	rpc_client_begin(s->c);
	for (;;) {
		uint64_t now, still_ms, patience_ms;
		int rc;

		r->tries++;
		s->retry_ms = 0;
		rc = attempt_upload(s, r, err);
		if (!is_passing(rc))
			return rc;
		now = io->mono_ns(io->ctx);
		if (s->offset > s->high || s->building) {
			s->high = s->offset > s->high ? s->offset : s->high;
			moved_ns = now;
			pause_ms = s->building ? pause_ms : PAUSE_MIN_MS;
		}
		still_ms = (now - moved_ns) / 1000000;
		patience_ms = s->answered ? s->u->patience_ms : s->u->contact_ms;
		if (still_ms >= patience_ms)
			return rc;
		pause_upload(s, pause_ms, patience_ms - still_ms);
		pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
	}
}

int upload_run(struct rpc_client *c, const struct upload *u, struct upload_result *ret,
	       struct err *err)
{
	_cleanup_(state_done) struct state s = {.c = c, .u = u};
	struct stat st;

	*ret = (struct upload_result){0};
	if (fstat(u->fd, &st))
		return err_sys(err, errno, "stat");
	if (st.st_size == 0 || (uint64_t)st.st_size > LIMIT_UPLOAD_LEN)
		return err_set(err, ERR_LIMIT, "%lld bytes, must be 1 to %llu",
			       (long long)st.st_size, (unsigned long long)LIMIT_UPLOAD_LEN);
	s.size = (uint64_t)st.st_size;
	s.chunk = malloc(LIMIT_UPLOAD_CHUNK);
	if (!s.chunk)
		return err_no_memory(err);
	TRY(hash_file(&s, err));
	return attempt_uploads(&s, ret, err);
}

void upload_result_done(struct upload_result *r)
{
	if (r->message)
		protobuf_c_message_free_unpacked(r->message, NULL);
	free(r->failed);
	r->message = NULL;
	r->report = NULL;
	r->failed = NULL;
}
