/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BINARY_SELECT_H
#define RAWSTACK_BINARY_SELECT_H
/* Which binary of the service is meant by a name and labels. */
#include "build_id.h"
#include "remote.h"

struct binary_select {
	const char *name;
	const char *const *labels; /* KEY=VALUE; all must match */
	size_t label_count;
};

/*
 * The one that has a table. ERR_NOT_FOUND: there is none, and the message says of which one no
 * table could be made, or who asked for one of that name and how to push it; or there are several,
 * and the message lists them, the newest first. ERR_USAGE: a label is not KEY=VALUE.
 */
int binary_select_find(struct rpc_client *c, const struct binary_select *n, struct build_id *ret,
		       struct err *err) _must_check_;

#endif
