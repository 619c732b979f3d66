/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_OPTIONS_H
#define RAWSTACK_SHIP_OPTIONS_H
/* The command line of rawstack-ship. */
#include "server_options.h"
#include "sink.h"

struct ship_options {
	const char *spool, *out, *metrics;
	const char *routes, *cluster;  /* NULL: none */
	struct server_options service; /* its `server` is a list; NULL if there are routes */
	enum sink_kind kind;
	struct sink_limits keep;
	size_t batch_samples;
	uint64_t batch_age_ns;
	uint64_t rate_bytes; /* of requests in a second; 0: no limit */
	int nice_level;
	unsigned int in_flight; /* batches at a time */
	bool once;
};

/* 1: it said what was asked for, exit 0; 0: go on; ERR_USAGE. Strings are borrowed from argv. */
int ship_options_parse(int argc, char **argv, struct ship_options *o, struct err *err);

#endif
