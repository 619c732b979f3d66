/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-gsym-build info */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "gsym_command.h"
#include "json.h"
#include "json_out.h"
#include "rsym_report.h"

static void print_report(const struct rsym *t)
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
	print_report(t);
}

static int run(int argc, char **argv, struct err *err)
{
	static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {0}};
	_cleanup_(table_text_close) struct table_text text = {0};
	_cleanup_(buf_done) struct buf line = BUF_INIT(SIZE_MAX / 2);
	bool json = false;
	int option, rc;

	while ((option = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (option != 'j') {
			gsym_bad_option(&gsym_command_info, argv, option, err);
			return ERR_USAGE;
		}
		json = true;
	}
	if (optind + 1 != argc)
		return err_set(err, ERR_USAGE, "info: give one TABLE; see --help");
	rc = table_text_open(&text, argv[optind], err);
	if (rc)
		return rc;
	if (!json) {
		print_info(argv[optind], &text.table);
		return 0;
	}
	json_open(&line, '{');
	json_key_cstr(&line, "table", argv[optind]);
	json_table(&line, &text.table);
	json_close(&line, '}');
	return json_print(&line, err);
}

const struct gsym_command gsym_command_info = {
	.name = "info",
	.summary = "what a table holds",
	.usage = "Usage: rawstack-gsym-build info [--json] TABLE\n\n"
		 "Validates a table and prints what it holds.\n\n"
		 "      --json   one object on one line\n",
	.run = run,
};
