/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVICE_PUSH_H
#define RAWSTACK_SERVICE_PUSH_H
/* A whole upload in a unit test: Begin, Upload, Finish, and the end of the build. */
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "digest.h"
#include "image_summary.h"
#include "io.h"
#include "service_fixture.h"

struct built {
	struct upload_waiter waiter;
	atomic_int code; /* 1: not yet */
};

static inline void on_built(struct upload_waiter *w, const struct upload_result *result)
{
	atomic_store(&((struct built *)w)->code, result->code);
}

/*
 * Sends a file whole as what `request` says, which is filled except for the kind and what goes with
 * it; calls queued() if there is one, and waits for its table. How that ended, or 1 when nothing
 * was needed.
 */
static inline int push_as(struct service *s, const char *path, Rawstack__V1__BeginRequest *request,
			  void (*queued)(struct service *s, void *arg), void *arg)
{
	Rawstack__V1__FinishRequest finish = RAWSTACK__V1__FINISH_REQUEST__INIT;
	Rawstack__V1__FinishReply done = RAWSTACK__V1__FINISH_REPLY__INIT;
	Rawstack__V1__BeginReply reply = RAWSTACK__V1__BEGIN_REPLY__INIT;
	Rawstack__V1__UploadChunk chunk = RAWSTACK__V1__UPLOAD_CHUNK__INIT;
	_cleanup_(freep) uint8_t *content = NULL;
	struct built built = {.waiter.done = on_built, .code = 1};
	uint8_t sum[DIGEST_LEN];
	struct upload *up = NULL;
	uint64_t received;
	struct err err;
	bool waits;

	assert_int_equal(io_read_file(path, 256 << 20, &content, &request->size, &err), 0);
	digest_sha256(content, request->size, sum);
	request->sha256 = (ProtobufCBinaryData){DIGEST_LEN, sum};
	assert_int_equal(service_begin(s, request, 0, &arena, &reply, &err), 0);
	if (reply.status == RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_PRESENT)
		return 1;
	chunk.upload_id = finish.upload_id = reply.upload_id;
	chunk.data = (ProtobufCBinaryData){request->size, content};
	assert_int_equal(service_upload(s, &up, &chunk, &received, &err), 0);
	service_upload_end(s, up);
	finish.wait = true;
	if (service_finish(s, &finish, &built.waiter, &arena, &done, &waits, &err))
		fail_msg("%s", err.message);
	if (queued)
		queued(s, arg);
	for (int i = 0; i < 6000 && atomic_load(&built.code) == 1; i++)
		usleep(10000);
	return atomic_load(&built.code);
}

static inline struct build_id id_of_file(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct build_id id;

	assert_int_equal(image_identify(fd, &id, NULL), 0);
	return id;
}

/* Under its own id; it is needed, and made a table of. */
static inline struct build_id push_and(struct service *s, const char *path,
				       void (*queued)(struct service *s, void *arg), void *arg)
{
	Rawstack__V1__BeginRequest request = RAWSTACK__V1__BEGIN_REQUEST__INIT;
	struct build_id id = id_of_file(path);

	request.build_id = bytes_of_id(&id);
	assert_int_equal(push_as(s, path, &request, queued, arg), 0);
	return id;
}

#endif
