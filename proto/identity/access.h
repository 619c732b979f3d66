/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ACCESS_H
#define RAWSTACK_ACCESS_H
/*
 * Who a client is, and which roles it has, by what it shows: a certificate, a token, or that it is
 * on this machine. Verdicts on certificates are kept by the SHA-256 of the certificate, until a
 * file changes; that one has expired is seen at each call. The files are looked at again at most
 * once a second; one with a mistake is told once, and what was there before stays.
 *
 * Safe from any thread, but for open and close.
 */
#include "base.h"
#include "err.h"
#include "roles.h"

struct access_config {
	/* Paths, borrowed; NULL: none. */
	const char *client_ca; /* certificates of these count */
	const char *roles;     /* without it who is known has ROLE_READ and ROLE_WRITE */
	const char *tokens;
	/* Of clients without certificate and token, on this machine; and of all such clients where
	 * no certificate and no token can be shown, for want of the files above. */
	unsigned int local_roles;
};

struct access;

/* Errors of trust_open(), roles_read() and tokens_read(). */
int access_open(struct access **ret, const struct access_config *config,
		struct err *err) _must_check_;
void access_close(struct access *a);
DEFINE_FREEP(struct access, access_close);

/* What a call comes with. Texts need no NUL where there is a length. */
struct access_shown {
	const char *leaf, *chain; /* PEM; NULL: none */
	size_t leaf_len, chain_len;
	const char *token; /* NULL: none */
	bool is_local;     /* from this machine, in plain text */
	bool is_plain;
};

struct access_verdict {
	unsigned int roles; /* ROLE_ANONYMOUS and what else it has */
	char who[128];      /* "spiffe://a/b", "DNS:a", "CN=a", "token:ci", "local" */
	uint64_t key;       /* a number for the whole name, of which `who` may lack the end */
	struct quota_limits quota;
};

/* 0, or ERR_UNAUTHENTICATED and why; then the verdict has ROLE_ANONYMOUS, and who it claims to be.
 */
int access_judge(struct access *a, const struct access_shown *shown, struct access_verdict *ret,
		 struct err *err);

/* Reads the files now, changed or not: 0, or the error of what is wrong; the old ones stay then. */
int access_reload(struct access *a, struct err *err);

#endif
