/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVICE_RPC_H
#define RAWSTACK_SERVICE_RPC_H
/* Puts the methods of rawstack.v1 on a server, by a table from path to function of service.h. */
#include "rpc_server.h"
#include "service.h"

struct service_rpc;

/* Adds the methods. The service must outlive the server. */
int service_rpc_open(struct service_rpc **ret, struct rpc_server *server, struct service *service,
		     struct err *err) _must_check_;

/* Frees the methods. The server has to be closed before. */
void service_rpc_close(struct service_rpc *r);

/* Full names of the services, ending in NULL. */
extern const char *const service_rpc_names[];

#endif
