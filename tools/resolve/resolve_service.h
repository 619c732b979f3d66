/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RESOLVE_SERVICE_H
#define RAWSTACK_RESOLVE_SERVICE_H
/* Resolves addresses of a binary that the service has. It is a table of functions because the
 * program that answers from files does not have them; see program.h. */
#include "resolve.h"
#include "server_options.h"

/* The service and the binary; all borrowed for the call. */
struct resolve_service_of {
	const struct server_options *service; /* as for remote_open() */
	const char *build_id;                 /* or NULL: the next two say which */
	const char *name;                     /* the name that it was pushed with */
	const char *const *labels;            /* KEY=VALUE; all must match */
	size_t label_count;
};

struct resolve_service;

struct resolve_service_ops {
	/* Opens it. Returns ERR_USAGE if the build id or a label is malformed, or ERR_NOT_FOUND if
	 * no binary or several have the name; the message says what to do. */
	int (*open)(struct resolve_service **ret, const struct resolve_service_of *of,
		    struct err *err);
	/* Prints every address and adds to *unknown those without an answer. Returns ERR_NOT_FOUND
	 * if the service has no table for the id; the message says what to do. */
	int (*answer)(struct resolve_service *s, const struct resolve_query *q,
		      struct resolve_printer *printer, size_t *unknown, struct err *err);
	void (*close)(struct resolve_service *s);
};

extern const struct resolve_service_ops resolve_remote;

#endif
