/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ACCESS_H
#define RAWSTACK_ACCESS_H
/*
 * Decides who a client is, and which roles and quotas it has, by what it shows: a certificate, a
 * token, or that it is on this machine. The verdict on a certificate is kept by its SHA-256 until a
 * file changes; an expired certificate is noticed at each call. The files are looked at again at
 * most once a second. A file with a mistake is logged once, and what was read before stays in
 * force.
 *
 * Safe from any thread, except open and close.
 */
#include "base.h"
#include "err.h"
#include "roles.h"

struct access_config {
	/* Paths, borrowed; NULL: none. */
	const char *client_ca; /* the CAs whose certificates clients may show */
	const char *roles;     /* without it everybody who is known has ROLE_READ and ROLE_WRITE */
	const char *tokens;
	/* The roles of a client that shows neither certificate nor token: if it is on this machine,
	 * if it speaks plain text, or if there is neither client_ca nor tokens. */
	unsigned int local_roles;
};

struct access;

/* Reads the files. Returns 0, ERR_MEMORY, or an error of tls_texts_read(), trust_open(),
 * roles_read() or tokens_read(). */
int access_open(struct access **ret, const struct access_config *config,
		struct err *err) _must_check_;
void access_close(struct access *a);
DEFINE_FREEP(struct access, access_close);

/* Warns of files that others may change, or whose tokens they may read. So does each time when new
 * files are taken. Before other threads use it. */
void access_tell_open_files(const struct access *a);

/* What the client of a call shows. All is borrowed. Texts with a length need no NUL. */
struct access_shown {
	const char *leaf, *chain; /* PEM; NULL: none */
	size_t leaf_len, chain_len;
	const char *token; /* NULL: none */
	bool is_local;     /* the client is on this machine and speaks plain text */
	bool is_plain;     /* the client speaks plain text */
};

struct access_verdict {
	unsigned int roles; /* bits of enum role; ROLE_ANONYMOUS is always set */
	char who[128];      /* "spiffe://a/b", "DNS:a", "CN=a", "token:ci", "local", "anonymous" */
	uint64_t key;       /* a hash of the whole name, of which `who` may lack the end */
	struct quota_limits quota;
};

/* Judges a client. Returns 0, or ERR_UNAUTHENTICATED and why; then the verdict has no role but
 * ROLE_ANONYMOUS, and `who` is whom the client claims to be. */
int access_judge(struct access *a, const struct access_shown *shown, struct access_verdict *ret,
		 struct err *err);

/* Reads the files now, changed or not. Returns 0, or an error as access_open(), after which what
 * was read before stays in force. */
int access_reload(struct access *a, struct err *err);

#endif
