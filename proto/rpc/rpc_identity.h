/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_IDENTITY_H
#define RAWSTACK_RPC_IDENTITY_H
/*
 * What the clients of a program show to the service, and whom they believe. The files are read when
 * the first client is opened, and looked at again before calls, at most once a second. Changed ones
 * that do not fit together are told once in the log, and what was there before stays, for clients
 * that are opened later too. Counted by references. Safe from any thread.
 */
#include "base.h"
#include "err.h"
#include "tls_files.h"

/* Paths; NULL: none. */
struct rpc_client_files {
	struct tls_files tls;   /* ca turns TLS on; cert and key are shown to who asks */
	const char *token_file; /* one word, which each call shows (RFC 6750) */
};

struct rpc_identity;

/* Copies the paths and reads nothing yet. ERR_USAGE for a certificate without CAs: it is shown over
 * TLS only. */
int rpc_identity_new(struct rpc_identity **ret, const struct rpc_client_files *files,
		     struct err *err) _must_check_;
struct rpc_identity *rpc_identity_ref(struct rpc_identity *id);
void rpc_identity_unref(struct rpc_identity *id); /* NULL does nothing */
DEFINE_FREEP(struct rpc_identity, rpc_identity_unref);

bool rpc_identity_has_tls(const struct rpc_identity *id);
bool rpc_identity_has_token(const struct rpc_identity *id);
const char *rpc_identity_ca(const struct rpc_identity *id); /* its path */

/* Reads what was not read yet. Errors of tls_texts_read() and token_read(). */
int rpc_identity_load(struct rpc_identity *id, struct err *err) _must_check_;

/* Looks at the files; rises when there are other certificates. After a load. */
uint64_t rpc_identity_refresh(struct rpc_identity *id);

/* Copies of what counts now, after a load: the first is released with tls_texts_done(), the second
 * ("Bearer WORD"; NULL: memory is out, or no token) with token_free(). */
int rpc_identity_texts(struct rpc_identity *id, struct tls_texts *ret, uint64_t *ret_version,
		       struct err *err) _must_check_;
char *rpc_identity_authorization(struct rpc_identity *id);

#endif
