/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-gsym-build info prints the content of a table. */
#include <stdio.h>
#include <string.h>

#include "gsym_command.h"
#include "json.h"
#include "json_out.h"
#include "options.h"
#include "rsym_report.h"

static void print_table_info(const struct rsym *t)
{
	struct rsym_report r;
	struct rsym_note note;

	if (!rsym_report_read(t, &r))
		return;
	printf("  built from: %llu bytes, %llu units, %llu symbols\n",
	       (unsigned long long)r.input_len, (unsigned long long)r.unit_count,
	       (unsigned long long)r.symbol_count);
	printf("  inlined:    %llu calls with code\n", (unsigned long long)r.inline_count);
	if (r.relocations_skipped)
		printf("  skipped:    %llu relocations\n",
		       (unsigned long long)r.relocations_skipped);
	if (r.units_skipped)
		printf("  skipped:    %llu units\n", (unsigned long long)r.units_skipped);
	if (r.needs_alt_file)
		printf("  skipped:    names in a dwz file (.gnu_debugaltlink)\n");
	while (rsym_report_next(&r, &note)) {
		fputs("  skipped:    ", stdout);
		table_text_put(note.part, strlen(note.part));
		if (*note.name) {
			fputs(" (", stdout);
			table_text_put(note.name, strlen(note.name));
			putchar(')');
		}
		fputs(": ", stdout);
		table_text_put(note.why, strlen(note.why));
		putchar('\n');
	}
}

static void print_info(const char *path, const struct rsym *t)
{
	char hex[BUILD_ID_HEX_MAX];
	struct rsym_section s;

	printf("%s\n", path);
	printf("  build id:   %s%s\n", t->id.len ? build_id_hex(&t->id, hex) : "none",
	       t->id.kind == BUILD_ID_HTLHASH ? " (hash: the file has no build id)" : "");
	printf("  generation: %016llx\n", (unsigned long long)t->generation);
	printf("  bytes:      %zu\n", t->len);
	printf("  from:       %s%s%s\n", t->flags & RSYM_HAS_DWARF ? "debug information" : "",
	       t->flags & RSYM_HAS_DWARF && t->flags & RSYM_HAS_SYMBOLS ? ", " : "",
	       t->flags & RSYM_HAS_SYMBOLS ? "symbols" : "");
	printf("  functions:  %u\n", t->function_count);
	printf("  aliases:    %u (among the functions)\n", t->alias_count);
	printf("  ranges:     %llu\n", (unsigned long long)t->range_count);
	printf("  nodes:      %llu (functions, and inlined calls in their place)\n",
	       (unsigned long long)t->node_count);
	printf("  names:      %u\n", t->names.count);
	printf("  files:      %u\n", t->file_count);
	if (t->flags & RSYM_HAS_SEGMENTS)
		printf("  segments:   %u\n", t->segment_count);
	else
		printf("  segments:   none: file offsets cannot be resolved, only addresses\n");
	if (t->flags & RSYM_IS_KERNEL)
		printf("  _text:      0x%llx\n", (unsigned long long)t->text_base);
	for (uint32_t i = 0; rsym_section(t, i, &s); i++)
		printf("  %-11s %llu bytes\n", s.name, (unsigned long long)s.len);
	print_table_info(t);
}

struct options {
	bool json;
};

static const struct option_row rows[] = {
	OPTION_FLAG(0, "json", struct options, json, "print one JSON object on one line"),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack-gsym-build info",
	.synopsis = "[--json] TABLE",
	.about = "Validates a table and prints what it contains.",
	.rows = rows,
	.operands_min = 1,
	.operands_max = 1,
	.operands_wanted = "give one TABLE",
};

static int run_info(int argc, char **argv, struct err *err)
{
	_cleanup_(table_text_close) struct table_text text = {0};
	_cleanup_(buf_done) struct buf line = BUF_INIT(SIZE_MAX / 2);
	struct options o = {0};
	struct operands operands;

	TRY(options_parse(&usage, argc, argv, &o, &operands, err));
	TRY(table_text_open(&text, operands.list[0], err));
	if (!o.json) {
		print_info(operands.list[0], &text.table);
		return 0;
	}
	json_open(&line, '{');
	json_key_cstr(&line, "table", operands.list[0]);
	json_table(&line, &text.table);
	json_close(&line, '}');
	return json_print(&line, err);
}

const struct command gsym_command_info = {
	.usage = &usage,
	.summary = "print what a table contains",
	.run = run_info,
};
