/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RESOLVE_SERVICE_H
#define RAWSTACK_RESOLVE_SERVICE_H
/* Addresses of a binary that the service has. Through a table of functions, for the program that
 * answers from files has none of them: see program.h. */
#include "resolve.h"

/* Which binary, of which service; all borrowed for the call. */
struct resolve_service_of {
	const char *server;        /* as of remote_open() */
	const char *build_id;      /* or NULL, and then: */
	const char *name;          /* that it was pushed with */
	const char *const *labels; /* KEY=VALUE; all must match */
	size_t label_count;
};

struct resolve_service;

struct resolve_service_ops {
	/* Returns ERR_USAGE: no build id, no label. ERR_NOT_FOUND: of that name there is none, or
	 * there are several; the message says what to do. */
	int (*open)(struct resolve_service **ret, const struct resolve_service_of *of,
		    struct err *err);
	/* Prints every address and adds to *unknown those without an answer. ERR_NOT_FOUND: the
	 * service has no table for the id; the message says what to do. */
	int (*answer)(struct resolve_service *s, const struct resolve_query *q,
		      struct resolve_printer *printer, size_t *unknown, struct err *err);
	void (*close)(struct resolve_service *s);
};

extern const struct resolve_service_ops resolve_remote;

#endif
