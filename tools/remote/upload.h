/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UPLOAD_H
#define RAWSTACK_UPLOAD_H
/*
 * Uploads one binary to the service: Begin, Upload, Finish, and the report. If the connection or
 * the service fails on the way, it tries again with growing pauses, from the byte up to which the
 * service has the file, until nothing has moved for a while. It waits longer when the service asks
 * for it. On another server than before the upload begins anew, because servers do not share files.
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
	uint32_t patience_ms; /* fails after so long without progress; 0: makes one attempt */
	uint32_t contact_ms;  /* likewise, as long as the service never answered */
	/* Called with the bytes of the file that were sent, which may fall if the service has fewer
	 * than it took. When all were sent, the table is being built. May be NULL. */
	void (*progress)(void *ctx, uint64_t done);
	void *ctx;
};

struct upload_result {
	bool present;       /* the service had it already; nothing was sent */
	uint64_t sent;      /* bytes, including those that were sent twice */
	unsigned int tries; /* 1: the first try worked */
	/* The report, in `message`; NULL if the service gave none. */
	const Rawstack__V1__BuildReport *report;
	ProtobufCMessage *message;
	/* If the service had it already: why no table could be made of it, escaped; else NULL. */
	char *failed;
};

/*
 * Uploads. Returns ERR_DATA, with a reason, if the service could not make a table; ERR_LIMIT or
 * ERR_UNSUPPORTED if it does not take the file; or ERR_UNAVAILABLE if it did not come back within
 * the patience. Release the result, also after a failure.
 */
int upload_run(struct rpc_client *c, const struct upload *u, struct upload_result *ret,
	       struct err *err) _must_check_;
void upload_result_done(struct upload_result *r);

#endif
