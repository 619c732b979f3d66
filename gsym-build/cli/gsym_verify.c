/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-gsym-build verify compares a table with its file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "companion_options.h"
#include "gsym_command.h"
#include "log.h"
#include "table_verify.h"

static int open_verify_file(const char *path, int *ret, struct err *err)
{
	*ret = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return *ret < 0 ? err_sys(err, errno, "%s", path) : 0;
}

/* Prints the verifier's output with control bytes replaced, because neither the file nor the
 * verifier is trusted. */
static int print_differences(int fd, struct err *err)
{
	unsigned char chunk[65536];
	ssize_t n;
	off_t off = 0;

	while ((n = pread(fd, chunk, sizeof(chunk), off)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if ((chunk[i] < 0x20 && chunk[i] != '\n') || chunk[i] == 0x7f)
				chunk[i] = '?';
		fwrite(chunk, 1, (size_t)n, stdout);
		off += n;
	}
	return n < 0 ? err_sys(err, errno, "differences") : 0;
}

struct options {
	const char *table, *file, *executable;
	struct companion_options companions;
};

/* Compares the table, and compares it again if files that the input refers to were missing and can
 * be found, as build_file() does. */
static int run_verifier(const struct options *o, struct table_request req, int table_fd,
			struct verify_report *report, struct err *err)
{
	_cleanup_(companions_close) struct companions c = {0};
	_cleanup_(buf_done) struct buf missing = BUF_INIT(LIMIT_MISSING_LEN);
	struct err why = {0};
	int rc;

	TRY(companion_options_open(&o->companions, o->file, &c, err));
	req.companions = c.list;
	req.companion_count = c.count;
	req.missing = &missing;
	rc = table_verify(&req, table_fd, report, err);
	if (rc || !companions_find(&c, o->file, bytes_of(missing.p, missing.len),
				   !o->companions.no_dwo, &why)) {
		if (!rc && why.code)
			log_warn("%s", why.message);
		return rc;
	}
	if (ftruncate(req.output_fd, 0))
		return err_sys(err, errno, "differences");
	req.companion_count = c.count;
	req.missing = NULL;
	return table_verify(&req, table_fd, report, err);
}

static int verify_file(const struct options *o, struct err *err)
{
	const char *table = o->table, *file = o->file, *executable = o->executable;
	_cleanup_(closep) int table_fd = -1, file_fd = -1, executable_fd = -1;
	_cleanup_(closep) int out_fd = memfd_create("differences", MFD_CLOEXEC);
	struct verify_report report;
	struct table_request req;
	int rc;

	if (out_fd < 0)
		return err_sys(err, errno, "memfd_create");
	TRY(open_verify_file(table, &table_fd, err));
	TRY(open_verify_file(file, &file_fd, err));
	if (executable)
		TRY(open_verify_file(executable, &executable_fd, err));
	req = (struct table_request){.input_fd = file_fd,
				     .executable_fd = executable_fd,
				     .output_fd = out_fd,
				     .input = TABLE_INPUT_ELF};
	rc = run_verifier(o, req, table_fd, &report, err);
	if (rc)
		return err_prefix(err, "%s against %s", table, file);
	TRY(print_differences(out_fd, err));
	printf("%s: %llu ranges of %s compared in %llu places, and %llu aliases, "
	       "%llu differences; %llu units "
	       "(%llu skipped), %.2f s of CPU, %.0f MB\n",
	       table, (unsigned long long)report.range_count, file,
	       (unsigned long long)report.place_count, (unsigned long long)report.alias_count,
	       (unsigned long long)report.difference_count, (unsigned long long)report.unit_count,
	       (unsigned long long)report.units_skipped, (double)report.cpu_ns / 1e9,
	       (double)report.peak_memory / 1048576);
	if (report.lines_refused)
		log_warn("%s: libdwarf cannot read %llu of its line tables, so their lines are not "
			 "verified independently",
			 file, (unsigned long long)report.lines_refused);
	if (report.difference_count)
		return err_set(err, ERR_MISMATCH, "%s does not say what %s says", table, file);
	return 0;
}

static const struct option_row rows[] = {
	OPTION_TEXT(0, "stripped", "FILE", struct options, executable,
		    "the executable, if FILE is its separate debug file, as in build"),
	OPTION_ROWS(struct options, companions, companion_option_rows),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack-gsym-build verify",
	.synopsis = "[OPTION]... TABLE FILE",
	.about =
		"Reads the debug information of FILE again by libdwarf, independently of the "
		"builder (in rawstack-table-verifier), and compares every range and alias of TABLE "
		"with it, and columns, discriminators and types if TABLE has them. Prints how many "
		"were compared, and the first 100 differences. Exits with 1 if there are any.",
	.rows = rows,
	.operands_min = 2,
	.operands_max = 2,
	.operands_wanted = "give TABLE and FILE",
};

static int run_verify_command(int argc, char **argv, struct err *err)
{
	struct options o = {0};
	struct operands operands;

	TRY(options_parse(&usage, argc, argv, &o, &operands, err));
	o.table = operands.list[0];
	o.file = operands.list[1];
	return verify_file(&o, err);
}

const struct command gsym_command_verify = {
	.usage = &usage,
	.summary = "compare a table with the file that it was built from",
	.run = run_verify_command,
};
