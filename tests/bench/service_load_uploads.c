/* SPDX-License-Identifier: Apache-2.0 */
/* Files on their way into the build queue; connections that do nothing. */
#include <stdio.h>
#include <string.h>

#include "digest.h"
#include "rawstack/v1/binaries.pb-c.h"
#include "rpc_client.h"
#include "service_load.h"

enum {
	CHUNK = 1 << 20,
};

static ProtobufCMessage *call(struct rpc_client *c, const char *method, const ProtobufCMessage *q,
			      const ProtobufCMessageDescriptor *type)
{
	ProtobufCMessage *reply;
	struct err err = {0};

	if (rpc_client_call(c, method, q, type, CALL_MS, &reply, &err))
		die(method, &err);
	return reply;
}

/* One file of random bytes, which is no ELF file: from Begin until the service has all of it, after
 * which it is queued as soon as Finish asks for its build; and until there is a ticket for it,
 * which is given when the disk has it. */
static void upload_one(struct rpc_client *c, uint8_t *p, size_t len, uint64_t *seed)
{
	Rawstack__V1__BeginRequest b = RAWSTACK__V1__BEGIN_REQUEST__INIT;
	Rawstack__V1__FinishRequest f = RAWSTACK__V1__FINISH_REQUEST__INIT;
	uint8_t sha256[DIGEST_LEN], id[16];
	struct rpc_stream *s;
	ProtobufCMessage *begun, *received;
	Rawstack__V1__BeginReply *reply;
	struct err err = {0};
	uint64_t start, received_at;

	for (size_t i = 0; i + 8 <= len; i += 512) {
		uint64_t r = random_next(seed);

		memcpy(p + i, &r, sizeof(r));
	}
	memcpy(id, p, sizeof(id));
	digest_sha256(p, len, sha256);
	b.build_id = (ProtobufCBinaryData){sizeof(id), id};
	b.size = len;
	b.sha256 = (ProtobufCBinaryData){sizeof(sha256), sha256};
	start = mono_ns();
	begun = call(c, "/rawstack.v1.Binaries/Begin", &b.base,
		     &rawstack__v1__begin_reply__descriptor);
	reply = (Rawstack__V1__BeginReply *)begun;
	if (reply->status != RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_NEEDED)
		die("Begin refuses", NULL);
	if (rpc_stream_open(&s, c, "/rawstack.v1.Binaries/Upload",
			    &rawstack__v1__upload_reply__descriptor, CALL_MS, &err))
		die("Upload", &err);
	for (size_t at = 0; at < len; at += CHUNK) {
		Rawstack__V1__UploadChunk k = RAWSTACK__V1__UPLOAD_CHUNK__INIT;

		k.upload_id = reply->upload_id;
		k.offset = at;
		k.data = (ProtobufCBinaryData){len - at < CHUNK ? len - at : CHUNK, p + at};
		if (rpc_stream_send(s, &k.base, &err))
			die("Upload", &err);
	}
	if (rpc_stream_half_close(s, &err) || rpc_stream_receive(s, &received, &err) != 1 ||
	    rpc_stream_finish(s, &err))
		die("Upload", &err);
	rpc_stream_close(s);
	received_at = mono_ns();
	f.upload_id = reply->upload_id;
	protobuf_c_message_free_unpacked(received, NULL);
	protobuf_c_message_free_unpacked(call(c, "/rawstack.v1.Binaries/Finish", &f.base,
					      &rawstack__v1__finish_reply__descriptor),
					 NULL);
	printf("upload_mb_per_s %.0f\n", (double)len * 1e3 / (double)(received_at - start));
	printf("ticket_mb_per_s %.0f\n", (double)len * 1e3 / (double)(mono_ns() - start));
	protobuf_c_message_free_unpacked(begun, NULL);
}

void upload(const char *server, size_t len, unsigned long count)
{
	uint8_t *p = calloc(1, len);
	struct rpc_client *c = open_client(server);
	uint64_t seed = mono_ns();

	if (!p)
		die("upload", NULL);
	for (; count; count--)
		upload_one(c, p, len, &seed);
	rpc_client_close(c);
	free(p);
}

static void ask_limits(struct rpc_client *c)
{
	Rawstack__V1__LimitsRequest q = RAWSTACK__V1__LIMITS_REQUEST__INIT;

	protobuf_c_message_free_unpacked(call(c, "/rawstack.v1.Binaries/Limits", &q.base,
					      &rawstack__v1__limits_reply__descriptor),
					 NULL);
}

void hold(const char *server, size_t count)
{
	struct rpc_client **c = calloc(count, sizeof(*c));

	if (!c)
		die("connections", NULL);
	for (size_t i = 0; i < count; i++) {
		c[i] = open_client(server);
		ask_limits(c[i]);
	}
	printf("held %zu\n", count);
	fflush(stdout);
	while (getchar() != EOF)
		;
	for (size_t i = 0; i < count; i++)
		rpc_client_close(c[i]);
	free(c);
}

struct connecting {
	const char *server;
	uint64_t end_ns;
	atomic_size_t made;
};

static void *connect_until(void *arg)
{
	struct connecting *k = arg;

	while (mono_ns() < k->end_ns) {
		struct rpc_client *c = open_client(k->server);

		ask_limits(c);
		rpc_client_close(c);
		atomic_fetch_add(&k->made, 1);
	}
	return NULL;
}

void connect_often(const char *server, double seconds, unsigned int threads)
{
	const uint64_t start = mono_ns();
	struct connecting k = {.server = server, .end_ns = start + (uint64_t)(seconds * 1e9)};
	pthread_t *thread = calloc(threads, sizeof(*thread));

	if (!thread)
		die("threads", NULL);
	for (unsigned int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, connect_until, &k))
			die("thread", NULL);
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("connections %zu\nseconds %.2f\n", atomic_load(&k.made),
	       (double)(mono_ns() - start) / 1e9);
	free(thread);
}
