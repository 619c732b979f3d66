/* SPDX-License-Identifier: Apache-2.0 */
#include "ship_options.h"

#include "config_check.h"
#include "options.h"

#define NS_PER_S UINT64_C(1000000000)

static int set_format(void *at, const char *option, const char *argument, struct err *err)
{
	struct ship_options *o = at;

	return sink_kind_of(argument, &o->kind, err) ? err_prefix(err, "%s", option) : 0;
}

static const char *const format_words[] = {"pprof", "json", "folded", NULL};

static const struct option_row rows[] = {
	OPTION_TEXT(0, "spool", "DIR", struct ship_options, spool, "the sampler's spool"),
	OPTION_TEXT(
		0, "server", "HOST:PORT,...", struct ship_options, service.server,
		"the service, as HOST:PORT, [ADDRESS]:PORT or unix:PATH; the next one when one is "
		"away, the first one again after a minute ($RAWSTACK_SERVER); empty: none, for a "
		"unit that has --routes",
		.variable = "RAWSTACK_SERVER", .may_be_empty = true),
	OPTION_ROWS(struct ship_options, service, server_file_rows),
	OPTION_TEXT(0, "routes", "FILE", struct ship_options, routes,
		    "lines \"CLUSTER HOST:PORT[,...]\", \"*\" for any other; read again when it "
		    "has changed"),
	OPTION_TEXT(0, "cluster", "NAME", struct ship_options, cluster,
		    "which line of --routes is ours [*]"),
	OPTION_TEXT(0, "out", "DIR", struct ship_options, out,
		    "where <batch id> files go; made if needed; one that everybody may write to is "
		    "refused, and so is such a spool"),
	OPTION_CALL(0, "format", "KIND", set_format,
		    "pprof (.pb.gz), json (.jsonl) or folded [pprof]", .words = format_words),
	OPTION_NUMBER(0, "keep-days", "N", struct ship_options, keep.age_ns, 0, 36500,
		      86400 * NS_PER_S, "files older than that are removed, 0: none [90]"),
	OPTION_NUMBER(0, "keep-mib", "N", struct ship_options, keep.bytes, 0, 1 << 30, MIB,
		      "the oldest go when there are more MiB, 0: no limit [0]"),
	OPTION_NUMBER(0, "batch-samples", "N", struct ship_options, batch_samples, 1, 1000000, 1,
		      "of one batch at most [12500]"),
	OPTION_NUMBER(0, "batch-age", "SECONDS", struct ship_options, batch_age_ns, 0, 3600,
		      NS_PER_S, "fewer are shipped when the oldest is as old [10]"),
	OPTION_NUMBER(0, "in-flight", "N", struct ship_options, in_flight, 1, 16, 1,
		      "batches under way at a time, 1 to 16 [3]"),
	OPTION_NUMBER(0, "rate", "KIB", struct ship_options, rate_bytes, 0, 1 << 30, 1024,
		      "of requests in a second, 0: no limit [0]"),
	OPTION_NUMBER(0, "nice", "N", struct ship_options, nice_level, 0, 19, 1,
		      "priority, 0 to 19 [10]"),
	OPTION_TEXT(0, "metrics", "FILE", struct ship_options, metrics,
		    "the state as OpenMetrics text, every ten seconds"),
	OPTION_FLAG(0, "once", struct ship_options, once, "ship what is there now, then exit"),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack-ship",
	.config = &(const struct option_config){.prefix = "RAWSTACK_SHIP_"},
	.synopsis = "--spool DIR (--server HOST:PORT[,...] | --routes FILE) --out DIR [OPTION...]",
	.about =
		"Ships what a sampler spools: each batch is symbolized by the service, written as "
		"a file into the output directory, and only then acknowledged. While the service "
		"is away nothing is lost; it goes on when the service is back. A batch that lacked "
		"names, for want of a table, is written again under its name when the table came, "
		"as long as the spool holds it.\n"
		"\n"
		"It is installed in libexec/rawstack, which is not on PATH: on a command line "
		"`rawstack-sampler ship` starts it, with the same options.",
	.rows = rows,
	.notes =
		"The unit reads /etc/rawstack/ship.conf. The variable of the option --batch-age is "
		"RAWSTACK_SHIP_BATCH_AGE.\n"
		"\n"
		"SIGHUP makes the shipper read the file of --config again and start anew with it; "
		"a "
		"file with an error changes nothing. SIGTERM and SIGINT do what --once does: exit "
		"status 0 when "
		"everything that was there is delivered, 1 (and how many samples stay in the "
		"spool) when it could not be.",
	.version = RAWSTACK_VERSION,
};

/* Treats empty texts as not given. */
static void drop_empty_texts(struct server_options *s)
{
	const char **const texts[] = {&s->server, &s->ca, &s->cert, &s->key, &s->token_file};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (*texts[i] && !**texts[i])
			*texts[i] = NULL;
}

/* Checks what the values lead to. The shipper waits for files that it shows to the service, so that
 * only --check-config misses them. */
static int check_ship_values(const struct ship_options *o, const struct config *c, struct err *err)
{
	const struct config_named dirs[] = {{"spool", o->spool}, {"out", o->out}};
	const struct config_named shown[] = {
		{"ca", o->service.ca},
		{"cert", o->service.cert},
		{"key", o->service.key},
		{"token-file", o->service.token_file},
	};
	const struct config_named server = {"server", o->service.server};
	const struct config_named routes = {"routes", o->routes}, metrics = {"metrics", o->metrics};

	TRY(config_check_servers(c, &usage, &server, err));
	TRY(config_check_file(c, &usage, &routes, err));
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		TRY(config_check_dir(c, &usage, &dirs[i], err));
	for (size_t i = 0; c->wants_check && i < ARRAY_LEN(shown); i++)
		TRY(config_check_file(c, &usage, &shown[i], err));
	return config_check_output(c, &usage, &metrics, err);
}

int ship_options_parse(int argc, char **argv, struct ship_options *o, struct config *config,
		       struct err *err)
{
	*o = (struct ship_options){
		.keep.age_ns = 90 * 86400 * NS_PER_S,
		.batch_samples = 12500,
		.batch_age_ns = 10 * NS_PER_S,
		.nice_level = 10,
		.in_flight = 3,
	};
	TRY(config_parse(&usage, argc, argv, o, config, err));
	/* If both --server and --routes are given, the one from the higher source counts. */
	drop_empty_texts(&o->service);
	if (config_source_of(config, "routes") > config_source_of(config, "server"))
		o->service.server = NULL;
	else if (config_source_of(config, "server") > config_source_of(config, "routes"))
		o->routes = NULL;
	if (!o->spool || (!o->service.server && !o->routes) || !o->out)
		return options_refuse(&usage, err, "--spool, --server and --out are needed");
	if (o->service.server && o->routes)
		return options_refuse(&usage, err, "--server and --routes exclude each other");
	TRY(check_ship_values(o, config, err));
	return config_answer(config, &usage, o, err);
}
