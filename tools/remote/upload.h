/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UPLOAD_H
#define RAWSTACK_UPLOAD_H
/*
 * One binary to the service: Begin, Upload, Finish, and what was understood. Whatever breaks on the
 * way (the connection, the service) is tried again with growing pauses, from the byte on that the
 * service has, until nothing has moved for a while.
 */
#include "build_id.h"
#include "remote.h"

struct upload {
	int fd; /* a regular file or memfd; borrowed */
	struct build_id id;
	Rawstack__V1__BinaryKind kind;
	const char *name, *version;
	Rawstack__V1__Label **labels;
	size_t label_count;
	bool pin, replace;
	uint32_t patience_ms; /* without any progress, then it fails */
	/* Where it stands, in bytes of the file; also falls, when the service has less than it
	 * took. Every byte there: the table is being built. May be NULL. */
	void (*progress)(void *ctx, uint64_t done);
	void *ctx;
};

struct upload_result {
	bool present;       /* it was there already: nothing was sent */
	uint64_t sent;      /* bytes, those that were sent twice included */
	unsigned int tries; /* 1: at the first go */
	/* NULL when the service gave none; lives in `message`. */
	const Rawstack__V1__BuildReport *report;
	ProtobufCMessage *message;
	/* Where it was there already: why no table could be made of it, escaped; else NULL. */
	char *failed;
};

/*
 * ERR_DATA: the service could make no table of it, with its reason. ERR_LIMIT, ERR_UNSUPPORTED: the
 * service does not take it. ERR_UNAVAILABLE: it did not come back within the patience. The result
 * is to be released, also after a failure.
 */
int upload_run(struct rpc_client *c, const struct upload *u, struct upload_result *ret,
	       struct err *err) _must_check_;
void upload_result_done(struct upload_result *r);

#endif
