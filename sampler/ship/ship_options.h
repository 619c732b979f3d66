/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_OPTIONS_H
#define RAWSTACK_SHIP_OPTIONS_H
/* Parses the command line of rawstack-ship. */
#include "config.h"
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
	uint64_t rate_bytes; /* most bytes of requests in a second; 0: no limit */
	int nice_level;
	unsigned int in_flight; /* batches that are under way at a time */
	bool once;
};

/* Reads the command line, the environment and the file of --config. Returns 0, or 1 if it printed
 * what was asked for (such as the help), or an error of config_parse(). The texts in *o are
 * borrowed from argv, the environment and *config, which the caller frees with config_done(). */
int ship_options_parse(int argc, char **argv, struct ship_options *o, struct config *config,
		       struct err *err) _must_check_;

#endif
