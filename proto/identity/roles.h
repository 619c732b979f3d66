/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ROLES_H
#define RAWSTACK_ROLES_H
/*
 * Reads which roles and quotas clients have. A file gives them to the alternative names of
 * certificates and to tokens: each line has a role and a name, or a name and its quotas.
 *
 *	# who may do what
 *	write  spiffe://example.org/ci
 *	host   spiffe://example.org/web*       # a * at the end stands for any text
 *	read   DNS:grafana.example.org
 *	admin  token:ops                       # a token by its name (tokens.h)
 *
 *	quota  spiffe://example.org/web*  bytes-a-day=10G requests=8 builds=1
 *	quota  default                    requests=32
 *
 * A client that several lines name has the roles of all of them. If a certificate has several URIs,
 * none of them counts, as SPIFFE has it (X.509-SVID, section 2). Safe from any thread.
 */
#include "base.h"
#include "err.h"
#include "quotas.h"

/* The most bytes of the file. */
#define LIMIT_ROLES_LEN MIB

/* Bits: the roles that a client has, and those of which a method wants one. */
enum role {
	ROLE_ANONYMOUS = 1, /* everybody has it */
	ROLE_READ = 2,
	ROLE_HOST = 4, /* looks addresses up, and uploads symbols of the kernel and the vDSO */
	ROLE_WRITE = 8,
	ROLE_ADMIN = 16,
};

/* The roles that a method may ask for, of which a caller needs one. A role that includes another is
 * in each set that has the other. */
#define ROLES_ANYONE (ROLE_ANONYMOUS | ROLES_KNOWN)
#define ROLES_KNOWN  (ROLE_READ | ROLE_HOST | ROLE_WRITE | ROLE_ADMIN)
#define ROLES_LOOKUP ROLES_KNOWN
#define ROLES_READ   (ROLE_READ | ROLE_WRITE | ROLE_ADMIN)
#define ROLES_UPLOAD (ROLE_HOST | ROLE_WRITE | ROLE_ADMIN)
#define ROLES_WRITE  (ROLE_WRITE | ROLE_ADMIN)

/* "read", "host", "write", "admin" in the order of the bits, ending in NULL. */
extern const char *const role_words[];

/* Writes "read, host" and so on, or "none". */
void role_names(unsigned int roles, char to[static 40]);

struct roles;

/* Reads the file. Returns 0, ERR_DATA with FILE:LINE and what is wrong there, or an error of
 * io_read_file() with LIMIT_ROLES_LEN. */
int roles_read(struct roles **ret, const char *path, struct err *err) _must_check_;
void roles_free(struct roles *r);
DEFINE_FREEP(struct roles, roles_free);

/* Returns the roles of one name, such as "DNS:a" or "token:b". */
unsigned int roles_of_name(const struct roles *r, const char *name);

/* The quotas that lines have given so far, each with the length of the name that gave it. */
struct roles_quota {
	struct quota_limits limits;
	size_t len[QUOTA_KINDS];
};

#define ROLES_QUOTA_INIT                                        \
	{                                                       \
		.limits = { {QUOTA_ANY, QUOTA_ANY, QUOTA_ANY} } \
	}

/* Adds the quotas of one name, which may also be "local" or "anonymous". Of the lines for a name
 * the longest decides each quota, and "default" is the shortest. */
void roles_add_quota(const struct roles *r, const char *name, struct roles_quota *quota);

#endif
