/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_REMOTE_NAMES_H
#define RAWSTACK_REMOTE_NAMES_H
/*
 * Gets names for profiles from the service. It asks once, in batches (Symbolizer.Symbolize), for
 * every place without a name in a binary with a build id. Each place carries the number of its
 * samples, so that the service knows which binaries are missed most. A profile that is looked at
 * again is not counted again. For one thread.
 */
#include "name_source.h"
#include "server_options.h"

struct remote_names;

struct remote_names_ops {
	/* Opens the source as remote_open() opens a client. Does not connect yet. */
	int (*open)(struct remote_names **ret, const struct server_options *given, struct err *err);
	/* Returns the source, borrowed from n. Its prepare() fails with ERR_UNAVAILABLE if the
	 * service is away. */
	const struct name_source *(*source)(struct remote_names *n);
	void (*close)(struct remote_names *n);
};

/* The operations of the program that can ask a service; see program.h. */
extern const struct remote_names_ops remote_names_service;

#endif
