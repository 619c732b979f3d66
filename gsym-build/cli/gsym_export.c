/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-gsym-build export-gsym */
#include <getopt.h>
#include <stdio.h>

#include "gsym_command.h"
#include "gsym_output.h"
#include "io.h"
#include "llvm_gsym.h"
#include "table_text.h"

static int export_table(const char *table, const char *output, struct err *err)
{
	_cleanup_(table_text_close) struct table_text text = {0};
	_cleanup_(gsym_output_done) struct gsym_output out = GSYM_OUTPUT_INIT;
	_cleanup_(buf_done) struct buf bytes = BUF_INIT(UINT32_MAX);
	int rc = table_text_open(&text, table, err);

	if (rc)
		return rc;
	rc = llvm_gsym_write(&text.table, &bytes, err);
	if (rc)
		return err_prefix(err, "%s", table);
	rc = gsym_output_open(&out, output, err);
	if (!rc)
		rc = io_write_all(io_system(), out.fd, bytes.p, bytes.len, 0, err);
	if (!rc)
		rc = gsym_output_commit(&out, output, err);
	if (!rc)
		printf("%s: %zu bytes of LLVM GSYM from %zu\n", output, bytes.len, text.table.len);
	return rc;
}

static int run(int argc, char **argv, struct err *err)
{
	static const struct option longs[] = {{"output", required_argument, NULL, 'o'}, {0}};
	const char *output = NULL;
	int option;

	while ((option = getopt_long(argc, argv, ":o:", longs, NULL)) != -1) {
		if (option != 'o') {
			gsym_bad_option(&gsym_command_export, argv, option, err);
			return ERR_USAGE;
		}
		output = optarg;
	}
	if (optind + 1 != argc || !output)
		return err_set(err, ERR_USAGE, "export-gsym: give TABLE and -o OUT; see --help");
	return export_table(argv[optind], output, err);
}

const struct gsym_command gsym_command_export = {
	.name = "export-gsym",
	.summary = "a table as LLVM GSYM, for other programs",
	.usage = "Usage: rawstack-gsym-build export-gsym TABLE -o OUT\n\n"
		 "Writes what TABLE answers as LLVM GSYM, version 1, which llvm-gsymutil and "
		 "others\n"
		 "read: the same functions, files, lines and inlined calls at every address. What\n"
		 "GSYM has no place for stays behind: entries of functions, aliases, columns, "
		 "types,\n"
		 "segments, and bytes of a build id behind the 20th.\n\n"
		 "  -o, --output=OUT   the file to write\n",
	.run = run,
};
