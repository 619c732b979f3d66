/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BINARY_SELECT_H
#define RAWSTACK_BINARY_SELECT_H
/* Finds the binary of the service that a name and labels mean. */
#include "build_id.h"
#include "remote.h"

struct binary_select {
	const char *name;
	const char *const *labels; /* KEY=VALUE; all must match */
	size_t label_count;
};

/*
 * Finds the binary that has a table. Returns ERR_USAGE if a label is not KEY=VALUE, and
 * ERR_NOT_FOUND in two cases. If there is none, the message names one whose table could not be
 * made, or says that samples asked for one and how to push it. If there are several, the message
 * lists them, newest first.
 */
int binary_select_find(struct rpc_client *c, const struct binary_select *n, struct build_id *ret,
		       struct err *err) _must_check_;

#endif
