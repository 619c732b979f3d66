/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-gsym-build export-gsym writes a table as LLVM GSYM. */
#include <stdio.h>

#include "gsym_command.h"
#include "gsym_output.h"
#include "io.h"
#include "llvm_gsym.h"
#include "options.h"
#include "table_text.h"

static int export_table(const char *table, const char *output, struct err *err)
{
	_cleanup_(table_text_close) struct table_text text = {0};
	_cleanup_(gsym_output_done) struct gsym_output out = GSYM_OUTPUT_INIT;
	_cleanup_(buf_done) struct buf bytes = BUF_INIT(UINT32_MAX);

	TRY(table_text_open(&text, table, err));
	if (llvm_gsym_write(&text.table, &bytes, err))
		return err_prefix(err, "%s", table);
	TRY(gsym_output_open(&out, output, err));
	TRY(io_write_all(io_system(), out.fd, bytes.p, bytes.len, 0, err));
	TRY(gsym_output_commit(&out, output, err));
	printf("%s: %zu bytes of LLVM GSYM from %zu\n", output, bytes.len, text.table.len);
	return 0;
}

struct options {
	const char *output;
};

static const struct option_row rows[] = {
	OPTION_TEXT('o', "output", "OUT", struct options, output, "the file to write"),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack-gsym-build export-gsym",
	.synopsis = "TABLE -o OUT",
	.about =
		"Writes the answers of TABLE in the format LLVM GSYM, version 1, which "
		"llvm-gsymutil and others read: the same functions, files, lines and inlined calls "
		"at every address. GSYM has no place for entry points of functions, aliases, "
		"columns, types, segments, and the bytes of a build id after the 20th; these are "
		"left out.",
	.rows = rows,
	.operands_min = 1,
	.operands_max = 1,
	.operands_wanted = "give TABLE and -o OUT",
};

static int run_export(int argc, char **argv, struct err *err)
{
	struct options o = {0};
	struct operands operands;

	TRY(options_parse(&usage, argc, argv, &o, &operands, err));
	if (!o.output)
		return options_refuse(&usage, err, "%s", usage.operands_wanted);
	return export_table(operands.list[0], o.output, err);
}

const struct command gsym_command_export = {
	.usage = &usage,
	.summary = "write a table as LLVM GSYM, for other programs",
	.run = run_export,
};
