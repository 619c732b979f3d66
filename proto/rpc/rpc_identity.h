/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_IDENTITY_H
#define RAWSTACK_RPC_IDENTITY_H
/*
 * Keeps what the clients of a program show to the service, and which CAs they trust. The files are
 * read when the first client is opened, and checked again before calls, at most once a second. When
 * changed files do not fit together, that is logged once and the former content stays, for clients
 * that are opened later too. Counted by references. Safe from any thread.
 */
#include "base.h"
#include "err.h"
#include "tls_files.h"

/* Paths; NULL: none. */
struct rpc_client_files {
	struct tls_files tls;   /* ca turns TLS on; a server that asks is shown cert and key */
	const char *token_file; /* contains one word, which each call shows (RFC 6750) */
};

struct rpc_identity;

/* Copies the paths and reads no file yet. Returns ERR_USAGE for a certificate without CAs, because
 * a certificate is shown over TLS only. */
int rpc_identity_new(struct rpc_identity **ret, const struct rpc_client_files *files,
		     struct err *err) _must_check_;
struct rpc_identity *rpc_identity_ref(struct rpc_identity *id);
void rpc_identity_unref(struct rpc_identity *id); /* NULL does nothing */
DEFINE_FREEP(struct rpc_identity, rpc_identity_unref);

bool rpc_identity_has_tls(const struct rpc_identity *id);
bool rpc_identity_has_token(const struct rpc_identity *id);
const char *rpc_identity_ca(const struct rpc_identity *id); /* its path */

/* Reads the files that have not been read yet. Returns the errors of tls_texts_read() and
 * token_read(). */
int rpc_identity_load(struct rpc_identity *id, struct err *err) _must_check_;

/* Checks the files, after a load. Returns a version, which rises when the certificates change. */
uint64_t rpc_identity_refresh(struct rpc_identity *id);

/* Return copies of the current content, after a load: the first is released with tls_texts_done(),
 * the second with token_free(). The second is "Bearer WORD", or NULL when memory is out or there is
 * no token. */
int rpc_identity_texts(struct rpc_identity *id, struct tls_texts *ret, uint64_t *ret_version,
		       struct err *err) _must_check_;
char *rpc_identity_authorization(struct rpc_identity *id);

#endif
