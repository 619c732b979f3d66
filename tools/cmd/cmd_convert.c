/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack convert` and `merge`: profiles as one, in the format of another tool. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "firefox_write.h"
#include "folded.h"
#include "json_lines_write.h"
#include "log.h"
#include "otlp_write.h"
#include "output_file.h"
#include "perf_script.h"
#include "pprof_write.h"
#include "profile_view.h"
#include "speedscope_write.h"

struct convert_options {
	const char *out, *to, *title;
	bool marks;
	struct profile_view view;
};

/* --- formats --------------------------------------------------------------------------------- */

typedef int format_fn(const struct profile *p, uint32_t value, const struct convert_options *o,
		      struct text_out *out, struct err *err);

static int to_pprof(const struct profile *p, uint32_t value, const struct convert_options *o,
		    struct text_out *out, struct err *err)
{
	_cleanup_(buf_done) struct buf file = BUF_INIT(LIMIT_PPROF_LEN);
	int rc = pprof_write(p, &file, err);

	(void)value;
	(void)o;
	return rc ? rc : out->write(out->ctx, file.p, file.len, err);
}

static int to_folded(const struct profile *p, uint32_t value, const struct convert_options *o,
		     struct text_out *out, struct err *err)
{
	return folded_write(p, value, o->marks, out, err);
}

static int to_perf_script(const struct profile *p, uint32_t value, const struct convert_options *o,
			  struct text_out *out, struct err *err)
{
	uint64_t summed;
	int rc = perf_script_write(p, out, &summed, err);

	(void)value;
	if (!rc && summed)
		log_warn("%s: %" PRIu64
			 " rows stand for many samples each and are one record each, "
			 "with the whole weight as its period: weigh records by their period",
			 o->out, summed);
	return rc;
}

static int to_speedscope(const struct profile *p, uint32_t value, const struct convert_options *o,
			 struct text_out *out, struct err *err)
{
	return speedscope_write(p, value, o->title, out, err);
}

static int to_firefox(const struct profile *p, uint32_t value, const struct convert_options *o,
		      struct text_out *out, struct err *err)
{
	return firefox_write(p, value, o->title, out, err);
}

static int to_json(const struct profile *p, uint32_t value, const struct convert_options *o,
		   struct text_out *out, struct err *err)
{
	(void)value;
	(void)o;
	return json_lines_write(p, out, err);
}

static int to_otlp(const struct profile *p, uint32_t value, const struct convert_options *o,
		   struct text_out *out, struct err *err)
{
	(void)value;
	(void)o;
	return otlp_write(p, out, err);
}

static const struct format {
	const char *name;
	format_fn *write;
	const char *suffixes[4]; /* of OUT, by which it is chosen without --to */
} formats[] = {
	{"pprof", to_pprof, {".pb.gz", ".pprof"}},
	{"folded", to_folded, {".folded", ".collapsed"}},
	{"speedscope", to_speedscope, {".speedscope.json", ".speedscope"}},
	{"firefox", to_firefox, {".firefox.json"}},
	{"perf-script", to_perf_script, {".perf", ".perf.txt"}},
	{"json", to_json, {".jsonl", ".ndjson"}},
	{"otlp", to_otlp, {".otlp", ".otlp.pb"}},
};

static bool path_ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), end_len = strlen(end);

	return len >= end_len && strcmp(s + len - end_len, end) == 0;
}

static const struct format *find_format(const struct convert_options *o, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		const struct format *f = &formats[i];

		if (o->to && strcmp(o->to, f->name) == 0)
			return f;
		for (size_t k = 0; !o->to && k < ARRAY_LEN(f->suffixes) && f->suffixes[k]; k++)
			if (path_ends_with(o->out, f->suffixes[k]))
				return f;
	}
	if (o->to)
		err_set(err, ERR_USAGE,
			"--to %s: not pprof, folded, speedscope, firefox, perf-script, json or "
			"otlp",
			o->to);
	else
		err_set(err, ERR_USAGE, "%s: its name says no format: --to FORMAT does", o->out);
	return NULL;
}

/* --- the command ----------------------------------------------------------------------------- */

static int parse_convert_options(int argc, char **argv, const struct command *self,
				 struct convert_options *o, struct err *err)
{
	enum {
		OPT_TO = 256,
		OPT_TITLE,
		OPT_MARKS,
	};
	static const struct option options[] = {
		VIEW_OPTIONS,
		{"to", required_argument, NULL, OPT_TO},
		{"title", required_argument, NULL, OPT_TITLE},
		{"marks", no_argument, NULL, OPT_MARKS},
		{0},
	};
	int c;

	while ((c = command_option(argc, argv, VIEW_LETTERS "o:", options, err)) != -1) {
		switch (c) {
		case 'o':
			o->out = optarg;
			break;
		case OPT_TO:
			o->to = optarg;
			break;
		case OPT_TITLE:
			o->title = optarg;
			break;
		case OPT_MARKS:
			o->marks = true;
			break;
		default:
			if (profile_view_option(c, optarg, &o->view, err) <= 0)
				return ERR_USAGE;
		}
	}
	if (o->view.json && o->to && strcmp(o->to, "json") != 0)
		return command_usage(self, "--json is --to json, and --to says another", err);
	if (o->view.json)
		o->to = "json";
	if (optind < argc && o->out)
		return 0;
	command_usage(self, optind == argc ? "no profile given" : "-o OUT is missing", err);
	return ERR_USAGE;
}

static void convert_options_done(struct convert_options *o)
{
	profile_view_done(&o->view);
}

static int convert_files(int argc, char **argv, const struct command *self, const char *to,
			 struct err *err)
{
	_cleanup_(convert_options_done) struct convert_options o = {.title = "rawstack"};
	_cleanup_(output_file_done) struct output_file file = OUTPUT_FILE_NONE;
	_cleanup_(text_out_done) struct text_out out = TEXT_OUT_INIT(output_file_write, &file);
	const struct format *format;
	int rc;

	profile_view_init(&o.view);
	rc = parse_convert_options(argc, argv, self, &o, err);
	if (rc)
		return rc;
	if (!o.to)
		o.to = to;
	format = find_format(&o, err);
	if (!format)
		return ERR_USAGE;
	rc = profile_view_read(&o.view, argv + optind, (size_t)(argc - optind), err);
	if (!rc)
		rc = output_file_open(&file, o.out, err);
	out.max = text_out_max(&o.view.p);
	if (!rc)
		rc = format->write(&o.view.p, o.view.row, &o, &out, err);
	if (!rc)
		rc = output_file_commit(&file, err);
	return profile_view_end(&o.view, rc, err);
}

static int run_convert(int argc, char **argv, struct err *err)
{
	return convert_files(argc, argv, &cmd_convert, NULL, err);
}

static int run_merge(int argc, char **argv, struct err *err)
{
	return convert_files(argc, argv, &cmd_merge, "pprof", err);
}

#define CONVERT_HELP                                                                   \
	"  --title TEXT       the profile's name in formats that show one\n"           \
	"  --marks            folded: _[k] behind kernel frames, _[i] behind inlined " \
	"calls\n" VIEW_HELP_JSON("the same as --to json")

const struct command cmd_convert = {
	.name = "convert",
	.run = run_convert,
	.summary = "a profile in the format of another tool",
	.help = "usage: rawstack convert [OPTIONS] DIR|FILE... -o OUT\n"
		"\n"
		"Reads pprof, perf.data, the text of perf script, folded stacks, directories of "
		"pprof\n"
		"files, and spools; adds them up; writes one file. The end of OUT says the "
		"format:\n"
		"\n"
		"  pprof              .pb.gz .pprof          go tool pprof\n"
		"  folded             .folded .collapsed     flamegraph.pl, inferno\n"
		"  speedscope         .speedscope.json       www.speedscope.app\n"
		"  firefox            .firefox.json          profiler.firefox.com\n"
		"  perf-script        .perf .perf.txt        what reads `perf script`\n"
		"  json               .jsonl .ndjson         a line for each sample, nothing lost\n"
		"  otlp               .otlp .otlp.pb         OpenTelemetry, ProfilesData "
		"of " OTLP_VERSION "\n"
		"\n"
		"perf-script has a record for each sample. Where these would be more than 256 for\n"
		"each row of the profile (or 65,536 in all), or more than 16 million, each row is\n"
		"one record with its whole weight as the period, and a warning says so.\n"
		"\n"
		"  -o OUT             where to write; - is standard output\n"
		"  --to FORMAT        one of the names above\n" CONVERT_HELP,
};

const struct command cmd_merge = {
	.name = "merge",
	.run = run_merge,
	.summary = "many profiles as one pprof file",
	.help = "usage: rawstack merge [OPTIONS] DIR|FILE... -o OUT\n"
		"\n"
		"Adds up profiles of any format that is read, with labels, modules and comments, "
		"and\n"
		"writes one pprof file. Options are those of `convert`.\n"
		"\n"
		"  -o OUT             where to write; - is standard output\n"
		"  --to FORMAT        another format, by its name in `convert "
		"--help`\n" CONVERT_HELP,
};
