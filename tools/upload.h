/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UPLOAD_H
#define RAWSTACK_UPLOAD_H
/*
 * One binary to the service: Begin, Upload, Finish, and what was understood. A connection that
 * breaks is taken up again where the service stands.
 */
#include "build_id.h"
#include "remote.h"

struct upload {
	int fd;            /* a regular file or memfd; borrowed */
	const char *shown; /* for progress: the file's name */
	struct build_id id;
	Rawstack__V1__BinaryKind kind;
	const char *name, *version;
	Rawstack__V1__Label **labels;
	size_t label_count;
};

struct upload_result {
	bool present; /* it was there already: nothing was sent */
	uint64_t sent;
	/* Counts of the report; all 0 when the service did not give one. */
	uint64_t functions, inline_nodes, symbols, units, units_skipped, table_bytes;
	bool has_dwarf;
};

/* ERR_DATA: the service could make no table of it, with its reason. */
int upload_run(struct rpc_client *c, const struct upload *u, struct upload_result *ret,
	       struct err *err) _must_check_;

#endif
