/* SPDX-License-Identifier: Apache-2.0 */
#include "ship_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "limits.h"

static const char help_text[] =
	"usage: rawstack-ship --spool DIR (--server HOST:PORT[,...] | --routes FILE) --out DIR\n"
	"                     [OPTION...]\n"
	"\n"
	"Ships what a sampler spools: each batch is symbolized by the service, written as a file\n"
	"into the output directory, and only then acknowledged. While the service is away nothing\n"
	"is lost; it goes on when the service is back. A batch that lacked names, for want of a\n"
	"table, is written again under its name when the table came, as long as the spool holds "
	"it.\n"
	"\n"
	"It is installed in libexec/rawstack, which is not on PATH: on a command line\n"
	"`rawstack-sampler ship` starts it, with the same options.\n"
	"\n"
	"  --spool DIR            the sampler's spool\n"
	"  --server HOST:PORT,... the service; the next one when one is away, the first one again\n"
	"                         after a minute; empty: none, for a unit that has --routes\n"
	"  --routes FILE          lines \"CLUSTER HOST:PORT[,...]\", \"*\" for any other; read "
	"again when\n"
	"                         it has changed\n"
	"  --cluster NAME         which line of --routes is ours [*]\n"
	"  --out DIR              where <batch id> files go; made if needed; one that everybody "
	"may\n"
	"                         write to is refused, and so is such a spool\n"
	"  --format KIND          pprof (.pb.gz), json (.jsonl) or folded [pprof]\n"
	"  --keep-days N          files older than that are removed, 0: none [90]\n"
	"  --keep-mib N           the oldest go when there are more MiB, 0: no limit [0]\n"
	"  --batch-samples N      of one batch at most [12500]\n"
	"  --batch-age SECONDS    fewer are shipped when the oldest is as old [10]\n"
	"  --in-flight N          batches under way at a time, 1 to 16 [3]\n"
	"  --rate KIB             of requests in a second, 0: no limit [0]\n"
	"  --nice N               priority, 0 to 19 [10]\n"
	"  --metrics FILE         the state as OpenMetrics text, every ten seconds\n"
	"  --once                 ship what is there now, then exit\n"
	"  --version              says which this is\n"
	"\n"
	"SIGHUP does nothing. SIGTERM and SIGINT do what --once does: exit status 0 when "
	"everything that was there is\n"
	"delivered, 1 (and how many samples stay in the spool) when it could not be.\n";

enum {
	OPT_SPOOL = 256,
	OPT_SERVER,
	OPT_ROUTES,
	OPT_CLUSTER,
	OPT_OUT,
	OPT_FORMAT,
	OPT_KEEP_DAYS,
	OPT_KEEP_MIB,
	OPT_BATCH_SAMPLES,
	OPT_BATCH_AGE,
	OPT_IN_FLIGHT,
	OPT_RATE,
	OPT_NICE,
	OPT_METRICS,
	OPT_ONCE,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{"spool", required_argument, NULL, OPT_SPOOL},
	{"server", required_argument, NULL, OPT_SERVER},
	{"routes", required_argument, NULL, OPT_ROUTES},
	{"cluster", required_argument, NULL, OPT_CLUSTER},
	{"out", required_argument, NULL, OPT_OUT},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"keep-days", required_argument, NULL, OPT_KEEP_DAYS},
	{"keep-mib", required_argument, NULL, OPT_KEEP_MIB},
	{"batch-samples", required_argument, NULL, OPT_BATCH_SAMPLES},
	{"batch-age", required_argument, NULL, OPT_BATCH_AGE},
	{"in-flight", required_argument, NULL, OPT_IN_FLIGHT},
	{"rate", required_argument, NULL, OPT_RATE},
	{"nice", required_argument, NULL, OPT_NICE},
	{"metrics", required_argument, NULL, OPT_METRICS},
	{"once", no_argument, NULL, OPT_ONCE},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, OPT_VERSION},
	{0},
};

static int number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
		  struct err *err)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || *ret < min || *ret > max)
		return err_set(err, ERR_USAGE, "%s: '%.40s' is not a number of %llu to %llu",
			       option, text, (unsigned long long)min, (unsigned long long)max);
	return 0;
}

static int parse_one(struct ship_options *o, int option, const char *value, struct err *err)
{
	uint64_t n = 0;
	int rc = 0;

	switch (option) {
	case OPT_SPOOL:
		o->spool = value;
		break;
	case OPT_SERVER:
		/* The unit gives one, which a file of routes is to replace. */
		o->servers = *value ? value : NULL;
		break;
	case OPT_ROUTES:
		o->routes = value;
		break;
	case OPT_CLUSTER:
		o->cluster = value;
		break;
	case OPT_OUT:
		o->out = value;
		break;
	case OPT_FORMAT:
		rc = sink_kind_of(value, &o->kind, err);
		if (rc)
			err_prefix(err, "--format");
		break;
	case OPT_KEEP_DAYS:
		rc = number("--keep-days", value, 0, 36500, &n, err);
		o->keep.age_ns = n * 86400 * UINT64_C(1000000000);
		break;
	case OPT_KEEP_MIB:
		rc = number("--keep-mib", value, 0, 1 << 30, &n, err);
		o->keep.bytes = n * MIB;
		break;
	case OPT_BATCH_SAMPLES:
		rc = number("--batch-samples", value, 1, 1000000, &n, err);
		o->batch_samples = (size_t)n;
		break;
	case OPT_BATCH_AGE:
		rc = number("--batch-age", value, 0, 3600, &n, err);
		o->batch_age_ns = n * UINT64_C(1000000000);
		break;
	case OPT_IN_FLIGHT:
		rc = number("--in-flight", value, 1, 16, &n, err);
		o->in_flight = (unsigned int)n;
		break;
	case OPT_RATE:
		rc = number("--rate", value, 0, 1 << 30, &n, err);
		o->rate_bytes = n * 1024;
		break;
	case OPT_NICE:
		rc = number("--nice", value, 0, 19, &n, err);
		o->nice_level = (int)n;
		break;
	case OPT_METRICS:
		o->metrics = value;
		break;
	default:
		o->once = true;
		break;
	}
	return rc;
}

int ship_options_parse(int argc, char **argv, struct ship_options *o, struct err *err)
{
	int c, rc;

	*o = (struct ship_options){
		.keep.age_ns = 90 * UINT64_C(86400000000000),
		.batch_samples = 12500,
		.batch_age_ns = UINT64_C(10000000000),
		.nice_level = 10,
		.in_flight = 3,
	};
	opterr = 0;
	while ((c = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help_text, stdout);
			return 1;
		}
		if (c == OPT_VERSION) {
			printf("rawstack-ship " RAWSTACK_VERSION "\n");
			return 1;
		}
		if (c == '?')
			return err_set(err, ERR_USAGE,
				       "%s: unknown option, or no value (see --help)",
				       argv[optind - 1]);
		rc = parse_one(o, c, optarg, err);
		if (rc)
			return rc;
	}
	if (optind < argc)
		return err_set(err, ERR_USAGE, "%s: unexpected argument (see --help)",
			       argv[optind]);
	if (!o->spool || (!o->servers && !o->routes) || !o->out)
		return err_set(err, ERR_USAGE,
			       "--spool, --server and --out are needed (see --help)");
	if (o->servers && o->routes)
		return err_set(err, ERR_USAGE, "--server and --routes exclude each other");
	return 0;
}
