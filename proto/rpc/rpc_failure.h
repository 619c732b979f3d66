/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_FAILURE_H
#define RAWSTACK_RPC_FAILURE_H
/*
 * Explains a failed call of a client. gRPC core reports its own failures in texts for people who
 * know its source. They become one line that says what failed, where and, if it can be known, what
 * to do. Internal to proto/rpc. Safe from any thread.
 */
#include <grpc/status.h>

#include "base.h"
#include "err.h"

/* The text that our verification of a server's certificate puts in front of its reason. */
#define RPC_FAILURE_REFUSED "refused: "

/* The last step that a call reached. From RPC_UNCONNECTED on, nothing was sent. */
enum rpc_reach {
	RPC_ANSWERED,    /* the server ended the call */
	RPC_CUT,         /* the connection broke, or no answer came in time */
	RPC_UNCONNECTED, /* there is no connection: the certificate, or another protocol */
	RPC_UNREACHABLE, /* likewise: nobody accepts one, or not in time */
	RPC_UNRESOLVED,  /* likewise: the host's name has no address */
};

struct rpc_failure {
	const char *target;
	bool has_tls;
	bool is_told; /* the server sent metadata with the status, so the text is its own */
	grpc_status_code status;
	const char *text;
};

/* Fills *err, sets *ret and returns the code of the error, for a status that is not OK. */
int rpc_failure_explain(const struct rpc_failure *f, enum rpc_reach *ret, struct err *err);

#endif
