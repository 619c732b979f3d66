/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-gsym-build build */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "gsym_command.h"
#include "gsym_companions.h"
#include "gsym_output.h"
#include "gsym_report.h"
#include "limits.h"
#include "log.h"
#include "table_build.h"

struct options {
	const char *input, *output, *stripped, *dwp, *alt;
	bool kallsyms, no_dwo, json, columns, types, demangled;
	unsigned int jobs;
	struct build_id id;
};

static int parse(int argc, char **argv, struct options *o, struct err *err)
{
	static const struct option longs[] = {
		{"output", required_argument, NULL, 'o'},
		{"stripped", required_argument, NULL, 's'},
		{"dwp", required_argument, NULL, 'p'},
		{"alt", required_argument, NULL, 'a'},
		{"no-dwo", no_argument, NULL, 'n'},
		{"kallsyms", no_argument, NULL, 'k'},
		{"build-id", required_argument, NULL, 'b'},
		{"report", required_argument, NULL, 'r'},
		{"columns", no_argument, NULL, 'c'},
		{"jobs", required_argument, NULL, 'j'},
		{"types", no_argument, NULL, 't'},
		{"demangled", no_argument, NULL, 'd'},
		{0},
	};
	unsigned long jobs;
	int option, rc;
	char *end;

	while ((option = getopt_long(argc, argv, ":o:j:", longs, NULL)) != -1) {
		switch (option) {
		case 'o':
			o->output = optarg;
			break;
		case 's':
			o->stripped = optarg;
			break;
		case 'p':
			o->dwp = optarg;
			break;
		case 'a':
			o->alt = optarg;
			break;
		case 'n':
			o->no_dwo = true;
			break;
		case 't':
			o->types = true;
			break;
		case 'd':
			o->demangled = true;
			break;
		case 'c':
			o->columns = true;
			break;
		case 'r':
			o->json = strcmp(optarg, "json") == 0;
			if (!o->json && strcmp(optarg, "text") != 0)
				return err_set(err, ERR_USAGE,
					       "build: report '%.40s' is not text or json", optarg);
			break;
		case 'j':
			jobs = strtoul(optarg, &end, 10);
			if (end == optarg || *end || !jobs || jobs > 1024)
				return err_set(err, ERR_USAGE,
					       "build: '%.40s' is no number of threads", optarg);
			o->jobs = (unsigned int)jobs;
			break;
		case 'k':
			o->kallsyms = true;
			break;
		case 'b':
			rc = build_id_parse(&o->id, optarg, err);
			if (rc)
				return rc;
			break;
		default:
			gsym_bad_option(&gsym_command_build, argv, option, err);
			return ERR_USAGE;
		}
	}
	if (optind + 1 != argc)
		return err_set(err, ERR_USAGE, "build: give one FILE; see --help");
	o->input = argv[optind];
	if (o->kallsyms && o->id.kind == BUILD_ID_NONE)
		return err_set(err, ERR_USAGE, "build: --kallsyms needs --build-id");
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

/* Builds; and once more when the file asks for others that can be found. */
static int build(const struct options *o, const struct table_request *without,
		 struct build_report *report, struct buf *missing, struct err *err)
{
	struct table_request req = *without;
	_cleanup_(companions_close) struct companions c = {0};
	struct err why = {0};
	int rc = 0;

	if (o->dwp)
		rc = companions_add(&c, o->dwp, TABLE_COMPANION_DWP, err);
	else
		companions_add_package(&c, o->input);
	c.alt_path = o->alt;
	if (rc)
		return rc;
	req.companions = c.list;
	req.companion_count = c.count;
	req.missing = missing;
	rc = table_build(&req, report, err);
	if (rc ||
	    !companions_find(&c, o->input, bytes_of(missing->p, missing->len), !o->no_dwo, &why)) {
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

static int run(int argc, char **argv, struct err *err)
{
	_cleanup_(closep) int input = -1;
	_cleanup_(closep) int stripped = -1;
	_cleanup_(gsym_output_done) struct gsym_output out = GSYM_OUTPUT_INIT;
	struct options o = {0};
	char path[LIMIT_PATH_LEN];
	_cleanup_(buf_done) struct buf missing = BUF_INIT(LIMIT_MISSING_LEN);
	struct build_report report = {0};
	struct gsym_outcome outcome = {.report = &report};
	struct table_request req;
	struct err ignored;
	int rc = parse(argc, argv, &o, err);

	if (rc)
		return rc;
	if (!o.output) {
		if (snprintf(path, sizeof(path), "%s.rsym", o.input) >= (int)sizeof(path))
			return err_set(err, ERR_USAGE, "%s: path too long", o.input);
		o.output = path;
	}
	input = open(o.input, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (input < 0)
		return err_sys(err, errno, "%s", o.input);
	if (o.stripped) {
		stripped = open(o.stripped, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (stripped < 0)
			return err_sys(err, errno, "%s", o.stripped);
	}
	rc = gsym_output_open(&out, o.output, err);
	if (rc)
		return rc;
	req = (struct table_request){
		.input_fd = input,
		.stripped_fd = stripped,
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
	rc = build(&o, &req, &report, &missing, err);
	log_progress("%s", "");
	if (rc)
		rc = err_prefix(err, "%s", o.input);
	else
		rc = gsym_output_commit(&out, o.output, err);
	outcome.input = o.input;
	outcome.output = o.output;
	outcome.missing = bytes_of(missing.p, missing.len);
	outcome.failed = rc ? err : NULL;
	if (o.json)
		return gsym_report_print_json(&outcome, rc ? &ignored : err) ? err->code : rc;
	if (!rc)
		gsym_report_print(&outcome);
	return rc;
}

const struct gsym_command gsym_command_build = {
	.name = "build",
	.summary = "make a lookup table from a binary",
	.usage =
		"Usage: rawstack-gsym-build build [OPTION]... FILE\n\n"
		"Reads the debug information and symbols of an ELF file (an executable, a shared\n"
		"object, an object file or kernel module, or a separate debug file) and writes a\n"
		"lookup table. The file is read in a process of its own with limits; a damaged "
		"one\n"
		"cannot do harm. In an object file or module the first code section starts at "
		"0.\n\n"
		"  -o, --output=OUT     the table; default: FILE.rsym\n"
		"      --stripped=FILE  the executable that FILE is the debug file of; it knows\n"
		"                       where the code lies in the file\n"
		"      --dwp=DWP        the package of its split units; default: FILE.dwp\n"
		"      --alt=ALT        the dwz file it shares names with; default: by its "
		"debug link\n"
		"      --no-dwo         do not look for .dwo files where FILE says they are\n"
		"      --kallsyms       FILE is the text of /proc/kallsyms\n"
		"      --build-id=ID    the identity, instead of the file's own\n"
		"      --columns        keep columns and discriminators; the table grows by half "
		"or more\n"
		"      --demangled      keep names demangled too, as the service does, which then\n"
		"                       copies them; the table grows by half\n"
		"  -j, --jobs=N         threads; a second one makes it faster, more do not\n"
		"      --types          keep what functions return and take\n"
		"      --report=json    what was understood, each unit that could not be read, "
		"and\n"
		"                       files that are missing, as one JSON object; default: "
		"text\n",
	.run = run,
};
