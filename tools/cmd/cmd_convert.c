/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack convert` and `merge`: add up profiles, and write them in the format of another tool. */
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

enum format_number {
	FORMAT_BY_SUFFIX,
	FORMAT_PPROF,
	FORMAT_FOLDED,
	FORMAT_SPEEDSCOPE,
	FORMAT_FIREFOX,
	FORMAT_PERF_SCRIPT,
	FORMAT_JSON,
	FORMAT_OTLP,
};

struct convert_options {
	const char *out, *title;
	enum format_number to;
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

	(void)value;
	TRY(perf_script_write(p, out, &summed, err));
	if (summed)
		log_warn("%s: %" PRIu64
			 " rows stand for many samples each and are one record each, "
			 "with the whole weight as its period: weigh records by their period",
			 o->out, summed);
	return 0;
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

/* The names of formats, from FORMAT_PPROF on. */
static const char *const format_words[] = {"pprof",       "folded", "speedscope", "firefox",
					   "perf-script", "json",   "otlp",       NULL};

static const struct format {
	format_fn *write;
	const char *suffixes[4]; /* endings of OUT that choose it without --to */
} formats[] = {
	{to_pprof, {".pb.gz", ".pprof"}},
	{to_folded, {".folded", ".collapsed"}},
	{to_speedscope, {".speedscope.json", ".speedscope"}},
	{to_firefox, {".firefox.json"}},
	{to_perf_script, {".perf", ".perf.txt"}},
	{to_json, {".jsonl", ".ndjson"}},
	{to_otlp, {".otlp", ".otlp.pb"}},
};

static bool path_ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), end_len = strlen(end);

	return len >= end_len && strcmp(s + len - end_len, end) == 0;
}

static const struct format *find_format(const struct convert_options *o, struct err *err)
{
	if (o->to)
		return &formats[o->to - FORMAT_PPROF];
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		const struct format *f = &formats[i];

		for (size_t k = 0; k < ARRAY_LEN(f->suffixes) && f->suffixes[k]; k++)
			if (path_ends_with(o->out, f->suffixes[k]))
				return f;
	}
	err_set(err, ERR_USAGE, "%s: its name says no format: --to FORMAT does", o->out);
	return NULL;
}

/* --- the command ----------------------------------------------------------------------------- */

static const struct option_row common_rows[] = {
	OPTION_TEXT('o', NULL, "OUT", struct convert_options, out,
		    "where to write; - is standard output"),
	OPTION_TEXT(0, "title", "TEXT", struct convert_options, title,
		    "the name of the profile, in formats that have one"),
	OPTION_FLAG(
		0, "marks", struct convert_options, marks,
		"in folded stacks, write _[k] behind kernel frames and _[i] behind inlined calls"),
	OPTION_FLAG(0, "json", struct convert_options, view.json, "the same as --to json"),
	OPTION_ROWS(struct convert_options, view, profile_view_rows_no_json),
	OPTION_END,
};

#define FORMAT_ROW(text)                                                               \
	OPTION_WORD(0, "to", "FORMAT", struct convert_options, to, format_words, text, \
		    .min = FORMAT_PPROF)

static const struct option_row convert_rows[] = {
	FORMAT_ROW("write this format, one of the names above"),
	OPTION_MORE(common_rows),
	OPTION_END,
};

static const struct option_row merge_rows[] = {
	FORMAT_ROW("write another format, one of those in `rawstack convert --help`"),
	OPTION_MORE(common_rows),
	OPTION_END,
};

static const struct option_usage convert_usage = {
	.name = "rawstack convert",
	.synopsis = "[OPTIONS] DIR|FILE... -o OUT",
	.about = "Reads pprof, perf.data, the text of perf script, folded stacks, directories of "
		 "pprof files, and spools, adds them up, and writes one file. The ending of OUT "
		 "chooses the format:\n"
		 "\n"
		 "  pprof              .pb.gz .pprof          go tool pprof\n"
		 "  folded             .folded .collapsed     flamegraph.pl, inferno\n"
		 "  speedscope         .speedscope.json       www.speedscope.app\n"
		 "  firefox            .firefox.json          profiler.firefox.com\n"
		 "  perf-script        .perf .perf.txt        readers of `perf script`\n"
		 "  json               .jsonl .ndjson         one line per sample, without loss\n"
		 "  otlp               .otlp .otlp.pb         OpenTelemetry, ProfilesData "
		 "of " OTLP_VERSION "\n"
		 "\n"
		 "perf-script has a record for each sample. If that would be more than 256 for "
		 "each row of the profile (and 65,536 in all), or more than 16 million, each row "
		 "is one record with its whole weight as the period, and a warning says so.",
	.rows = convert_rows,
	.operands_min = 1,
	.operands_max = OPERANDS_ANY,
	.operands_wanted = "no profile given",
	.notes = FILTER_NOTES,
};

static const struct option_usage merge_usage = {
	.name = "rawstack merge",
	.synopsis = "[OPTIONS] DIR|FILE... -o OUT",
	.about = "Adds up profiles of any format that `convert` reads, with their labels, modules "
		 "and comments, and writes one pprof file. The options are those of `convert`.",
	.rows = merge_rows,
	.operands_min = 1,
	.operands_max = OPERANDS_ANY,
	.operands_wanted = "no profile given",
	.notes = FILTER_NOTES,
};

static void convert_options_done(struct convert_options *o)
{
	profile_view_done(&o->view);
}

static int check_convert_options(const struct option_usage *usage, struct convert_options *o,
				 struct err *err)
{
	if (!o->out)
		return options_refuse(usage, err, "-o OUT is missing");
	if (o->view.json && o->to && o->to != FORMAT_JSON)
		return options_refuse(
			usage, err, "--json is short for --to json, but --to says another format");
	if (o->view.json)
		o->to = FORMAT_JSON;
	return 0;
}

static int convert_profiles(const struct option_usage *usage, int argc, char **argv,
			    enum format_number to, struct err *err)
{
	_cleanup_(convert_options_done) struct convert_options o = {.title = "rawstack"};
	_cleanup_(output_file_done) struct output_file file = OUTPUT_FILE_NONE;
	_cleanup_(text_out_done) struct text_out out = TEXT_OUT_INIT(output_file_write, &file);
	const struct format *format;
	struct operands profiles;

	profile_view_init(&o.view);
	TRY(options_parse(usage, argc, argv, &o, &profiles, err));
	TRY(check_convert_options(usage, &o, err));
	if (!o.to)
		o.to = to;
	format = find_format(&o, err);
	if (!format)
		return ERR_USAGE;
	TRY(profile_view_read(&o.view, profiles.list, profiles.count, err));
	TRY(output_file_open(&file, o.out, err));
	out.max = text_out_max(&o.view.p);
	TRY(format->write(&o.view.p, o.view.row, &o, &out, err));
	TRY(output_file_commit(&file, err));
	return profile_view_end(&o.view, err);
}

static int run_convert(int argc, char **argv, struct err *err)
{
	return convert_profiles(&convert_usage, argc, argv, FORMAT_BY_SUFFIX, err);
}

static int run_merge(int argc, char **argv, struct err *err)
{
	return convert_profiles(&merge_usage, argc, argv, FORMAT_PPROF, err);
}

const struct command cmd_convert = {
	.usage = &convert_usage,
	.run = run_convert,
	.summary = "write a profile in the format of another tool",
};

const struct command cmd_merge = {
	.usage = &merge_usage,
	.run = run_merge,
	.summary = "add up profiles to one pprof file",
};
