/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_QUOTAS_H
#define RAWSTACK_QUOTAS_H
/*
 * Counts what each identity takes of a service, and refuses what exceeds its quota: calls at the
 * same time, and bytes of requests on one day (UTC). A thread writes the bytes of the day to a file
 * every two seconds while they change, and at the close, so that a restart does not forget them.
 *
 * Safe from any thread, except open and close.
 */
#include "base.h"
#include "err.h"

enum quota_kind {
	QUOTA_DAY_BYTES,
	QUOTA_REQUESTS, /* calls at the same time */
	QUOTA_BUILDS,   /* tables that are built at the same time; the build queue obeys it */
	QUOTA_KINDS
};

#define QUOTA_ANY UINT64_MAX

struct quota_limits {
	uint64_t most[QUOTA_KINDS]; /* QUOTA_ANY: no limit */
};

extern const struct quota_limits quota_no_limits;

/* The caller: a number that no other identity has, and its name for people. */
struct quota_owner {
	uint64_t key;
	const char *name; /* borrowed for the call */
};

struct quotas;
struct quota_account;

/* Reads the file, if it exists; one that does not parse is told in the log and counts as empty.
 * The path is copied; without one (NULL) a restart forgets. */
int quotas_open(struct quotas **ret, const char *path, struct err *err) _must_check_;
void quotas_close(struct quotas *q);
DEFINE_FREEP(struct quotas, quotas_close);

/*
 * Begins a call. *ret is the account to charge, until quotas_end(), or NULL for an owner without
 * limits on bytes and requests. Returns ERR_LIMIT if a quota is used up; *ret_retry_ms is the time
 * until the next day then, or 0 if the call may succeed at any moment.
 */
int quotas_begin(struct quotas *q, const struct quota_owner *owner,
		 const struct quota_limits *limits, struct quota_account **ret,
		 uint32_t *ret_retry_ms, struct err *err);
void quotas_end(struct quotas *q, struct quota_account *account);

/* Counts bytes that have come. Returns ERR_LIMIT, as above, if they exceed the quota of the day. */
int quotas_charge(struct quotas *q, struct quota_account *account, uint64_t len,
		  uint32_t *ret_retry_ms, struct err *err);

#endif
