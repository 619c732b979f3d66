/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RESOLVE_REPLY_H
#define RAWSTACK_RESOLVE_REPLY_H
/*
 * The addresses of a reply to Resolve, made of the columns that answer them. They are written as
 * they go over the wire: built as messages first and packed by protobuf-c, they cost more than the
 * lookups.
 */
#include "arena.h"
#include "err.h"
#include "rawstack/v1/symbolizer.pb-c.h"

/*
 * Puts one ResolvedAddress for each address of the request into the reply, behind all of its other
 * fields: packing the reply writes them, and `addresses` stays empty. From the first on that does
 * not fit into LIMIT_REPLY_LEN bytes, they are DEFERRED. The memory is the arena's; nothing of the
 * columns is needed later. Returns ERR_MEMORY.
 */
int resolve_reply_fill(Rawstack__V1__ResolveReply *reply,
		       const Rawstack__V1__SymbolizedBatch *columns,
		       const Rawstack__V1__ResolveRequest *request, struct arena *arena,
		       struct err *err) _must_check_;

#endif
