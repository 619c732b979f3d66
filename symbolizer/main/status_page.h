/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STATUS_PAGE_H
#define RAWSTACK_STATUS_PAGE_H
/*
 * The service at a glance, as one page of HTML for people, without a script: tables, uploads and
 * builds under way, what is missing, and who asked. Names are a stranger's bytes and escaped; each
 * table has a few rows.
 */
#include "rpc_server.h"
#include "service.h"

void status_page_write(struct service *s, struct rpc_server *server, struct buf *out);

#endif
