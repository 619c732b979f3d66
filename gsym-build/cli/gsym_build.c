/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-gsym-build build makes a table of a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "companion_options.h"
#include "gsym_command.h"
#include "gsym_output.h"
#include "gsym_report.h"
#include "limits.h"
#include "log.h"
#include "table_build.h"

struct options {
	const char *input, *output, *executable;
	struct companion_options companions;
	bool kallsyms, columns, types, demangled;
	enum {
		REPORT_TEXT,
		REPORT_JSON
	} report;
	unsigned int jobs;
	struct build_id id;
};

static int set_build_id(void *at, const char *option _unused_, const char *argument,
			struct err *err)
{
	return build_id_parse(&((struct options *)at)->id, argument, err);
}

static const char *const report_words[] = {[REPORT_TEXT] = "text", [REPORT_JSON] = "json", NULL};

static const struct option_row rows[] = {
	OPTION_TEXT('o', "output", "OUT", struct options, output,
		    "write the table to OUT; default: FILE.rsym"),
	OPTION_TEXT(0, "stripped", "FILE", struct options, executable,
		    "the executable, if FILE is its separate debug file; only the executable says "
		    "at which file offsets its code is"),
	OPTION_ROWS(struct options, companions, companion_option_rows),
	OPTION_FLAG(0, "kallsyms", struct options, kallsyms, "FILE has the text of /proc/kallsyms"),
	OPTION_CALL(0, "build-id", "ID", set_build_id,
		    "the build id to store, instead of the one in FILE"),
	OPTION_FLAG(0, "columns", struct options, columns,
		    "store columns and discriminators; the table grows by half or more"),
	OPTION_FLAG(0, "demangled", struct options, demangled,
		    "store each name also in demangled form, as the service does; the table grows "
		    "by half"),
	OPTION_NUMBER(
		'j', "jobs", "N", struct options, jobs, 1, 1024, 1,
		"use N threads (1); a second one makes the build faster, more have no effect"),
	OPTION_FLAG(0, "types", struct options, types,
		    "store the return type and the parameters of each function"),
	OPTION_WORD(0, "report", "FORM", struct options, report, report_words,
		    "json prints one JSON object: what was read, each unit that could not be "
		    "read, and each file that is missing; default: text"),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack-gsym-build build",
	.synopsis = "[OPTION]... FILE",
	.about = "Reads the debug information and symbols of an ELF file (an executable, a shared "
		 "object, an object file or kernel module, or a separate debug file) and writes a "
		 "lookup table. A sandboxed process with limits reads the file, so a damaged file "
		 "does no harm. In an object file or module the first code section starts at "
		 "address 0.",
	.rows = rows,
	.operands_min = 1,
	.operands_max = 1,
	.operands_wanted = "give one FILE",
};

static int parse_build_options(int argc, char **argv, struct options *o, struct err *err)
{
	struct operands operands;

	TRY(options_parse(&usage, argc, argv, o, &operands, err));
	o->input = operands.list[0];
	if (o->kallsyms && o->id.kind == BUILD_ID_NONE)
		return options_refuse(&usage, err, "--kallsyms needs --build-id");
	return 0;
}

static void show_progress(void *ctx, enum table_stage stage, uint64_t done, uint64_t all)
{
	const struct options *o = ctx;

	if (stage == TABLE_STAGE_DWARF && all)
		log_progress("reading %s: %3.0f %%", o->input, 100 * (double)done / (double)all);
	else
		log_progress("%s %s", stage == TABLE_STAGE_PACK ? "packing" : "reading", o->input);
}

/* Builds the table, and builds it again if files that the input refers to were missing and can be
 * found. */
static int build_file(const struct options *o, const struct table_request *without,
		      struct build_report *report, struct buf *missing, struct err *err)
{
	struct table_request req = *without;
	_cleanup_(companions_close) struct companions c = {0};
	struct err why = {0};
	int rc;

	TRY(companion_options_open(&o->companions, o->input, &c, err));
	req.companions = c.list;
	req.companion_count = c.count;
	req.missing = missing;
	rc = table_build(&req, report, err);
	if (rc || !companions_find(&c, o->input, bytes_of(missing->p, missing->len),
				   !o->companions.no_dwo, &why)) {
		if (!rc && why.code)
			log_warn("%s", why.message);
		return rc;
	}
	if (c.left_out)
		log_warn("%s: %zu .dwo files are left out, at most %llu are read: make a .dwp file",
			 o->input, c.left_out, (unsigned long long)LIMIT_COMPANIONS);
	if (ftruncate(req.output_fd, 0))
		return err_sys(err, errno, "%s", o->output);
	req.companion_count = c.count;
	buf_reset(missing);
	return table_build(&req, report, err);
}

static int run_build(int argc, char **argv, struct err *err)
{
	_cleanup_(closep) int input = -1;
	_cleanup_(closep) int executable = -1;
	_cleanup_(gsym_output_done) struct gsym_output out = GSYM_OUTPUT_INIT;
	struct options o = {0};
	char path[LIMIT_PATH_LEN];
	_cleanup_(buf_done) struct buf missing = BUF_INIT(LIMIT_MISSING_LEN);
	struct build_report report = {0};
	struct gsym_outcome outcome = {.report = &report};
	struct table_request req;
	struct err ignored;
	int rc;

	TRY(parse_build_options(argc, argv, &o, err));
	if (!o.output) {
		if (snprintf(path, sizeof(path), "%s.rsym", o.input) >= (int)sizeof(path))
			return err_set(err, ERR_USAGE, "%s: path too long", o.input);
		o.output = path;
	}
	input = open(o.input, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (input < 0)
		return err_sys(err, errno, "%s", o.input);
	if (o.executable) {
		executable = open(o.executable, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (executable < 0)
			return err_sys(err, errno, "%s", o.executable);
	}
	TRY(gsym_output_open(&out, o.output, err));
	req = (struct table_request){
		.input_fd = input,
		.executable_fd = executable,
		.output_fd = out.fd,
		.input = o.kallsyms ? TABLE_INPUT_KALLSYMS : TABLE_INPUT_AUTO,
		.id = o.id,
		.columns = o.columns,
		.jobs = o.jobs,
		.types = o.types,
		.shown = o.demangled,
		.progress = isatty(STDERR_FILENO) ? show_progress : NULL,
		.progress_ctx = &o,
	};
	rc = build_file(&o, &req, &report, &missing, err);
	log_progress("%s", "");
	if (rc)
		rc = err_prefix(err, "%s", o.input);
	else
		rc = gsym_output_commit(&out, o.output, err);
	outcome.input = o.input;
	outcome.output = o.output;
	outcome.missing = bytes_of(missing.p, missing.len);
	outcome.failed = rc ? err : NULL;
	if (o.report == REPORT_JSON)
		return gsym_report_print_json(&outcome, rc ? &ignored : err) ? err->code : rc;
	if (!rc)
		gsym_report_print(&outcome);
	return rc;
}

const struct command gsym_command_build = {
	.usage = &usage,
	.summary = "make a lookup table from a binary",
	.run = run_build,
};
