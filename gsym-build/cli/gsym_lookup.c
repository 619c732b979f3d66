/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-gsym-build lookup looks up addresses in a table. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gsym_command.h"
#include "json_out.h"
#include "number.h"
#include "options.h"

enum style {
	STYLE_LLVM,
	STYLE_GNU,
	STYLE_JSON
};

static const char *const style_words[] = {
	[STYLE_LLVM] = "llvm", [STYLE_GNU] = "gnu", [STYLE_JSON] = "json", NULL};

static void put_name_text(const struct buf *text)
{
	if (!text->len)
		fputs("??", stdout);
	table_text_put(text->p, text->len);
}

struct options {
	enum style style;
	bool verbose, aliases, file_off;
	const char *section; /* addresses are offsets in this section; or NULL */
	enum {
		NAMES_BY_STYLE,
		NAMES_DEMANGLED,
		NAMES_MANGLED
	} names;
};

static const struct option_row rows[] = {
	OPTION_WORD(0, "output-style", "STYLE", struct options, style, style_words,
		    "llvm: print as llvm-symbolizer --inlines does (default); columns are 0 if the "
		    "table was built without --columns\n"
		    "gnu: print as addr2line -a -f -i does\n"
		    "json: print one object per address, with the start of each function"),
	OPTION_FLAG(0, "file-offset", struct options, file_off,
		    "addresses are offsets in the executable's file, as samplers send them"),
	OPTION_TEXT(0, "section", "NAME", struct options, section,
		    "addresses are offsets in this section of an object file or kernel module"),
	OPTION_FLAG(0, "verbose", struct options, verbose,
		    "print as llvm-symbolizer --verbose does, with the start of each function; a "
		    "cold part has the start of its function"),
	OPTION_FLAG(0, "aliases", struct options, aliases,
		    "also print the other names of the function, and of functions with the same "
		    "code that the linker folded into it"),
	OPTION_SET('C', "demangle", struct options, names, NAMES_DEMANGLED,
		   "print demangled names (default, except for gnu); after 5 s of CPU time the "
		   "other names are printed as linkage names"),
	OPTION_SET(0, "no-demangle", struct options, names, NAMES_MANGLED, "print linkage names"),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack-gsym-build lookup",
	.synopsis = "[OPTION]... TABLE [ADDRESS]...",
	.about = "Prints the functions at link-time addresses, the innermost inlined call first. "
		 "Addresses are hexadecimal, with or without 0x. If none is given, they are read "
		 "from standard input, one per line.",
	.rows = rows,
	.operands_min = 1,
	.operands_max = OPERANDS_ANY,
	.operands_wanted = "give a TABLE",
};

/* Prints a frame like llvm-symbolizer --verbose, without lines for unknown values. */
static int print_verbose(const struct table_text *t, const struct rsym_frame *f,
			 uint32_t discriminator, struct err *err)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(LIMIT_NAME_LEN * 4);
	struct rsym_function function;
	int rc;

	TRY(table_text_file(t, f->file, &text, err));
	fputs("  Filename: ", stdout);
	put_name_text(&text);
	putchar('\n');
	TRY(rsym_function(&t->table, f->function, &function, err));
	TRY(table_text_file(t, function.file, &text, err));
	if (text.len) {
		fputs("  Function start filename: ", stdout);
		put_name_text(&text);
		putchar('\n');
	}
	if (function.start_line)
		printf("  Function start line: %u\n", function.start_line);
	if (function.has_entry)
		printf("  Function start address: 0x%llx\n", (unsigned long long)function.vaddr);
	buf_reset(&text);
	rc = rsym_type(&t->table, f->function, &text, err);
	if (rc < 0)
		return rc;
	if (rc) {
		fputs("  Type: ", stdout);
		put_name_text(&text);
		putchar('\n');
	}
	printf("  Line: %u\n  Column: %u\n", f->line, f->column);
	if (discriminator)
		printf("  Discriminator: %u\n", discriminator);
	return 0;
}

static int print_aliases(const struct table_text *t, uint32_t function, struct err *err)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(LIMIT_NAME_LEN * 4);
	_cleanup_(freep) uint32_t *list = NULL;
	struct rsym_function f;
	uint32_t count;
	int rc = rsym_function(&t->table, function, &f, err);

	if (rc || !f.has_entry)
		return rc;
	count = rsym_function_aliases(&t->table, f.vaddr, NULL, 0);
	list = calloc(count + 1, sizeof(*list));
	if (!list)
		return err_no_memory(err);
	rsym_function_aliases(&t->table, f.vaddr, list, count);
	for (uint32_t i = 0; i < count; i++) {
		TRY(table_text_name(t, list[i], &text, err));
		fputs("  Alias: ", stdout);
		put_name_text(&text);
		putchar('\n');
	}
	return 0;
}

static int print_lookup_frame(const struct table_text *t, const struct options *o,
			      const struct rsym_frame *f, uint32_t discriminator, struct err *err)
{
	enum style style = o->style;
	_cleanup_(buf_done) struct buf text = BUF_INIT(LIMIT_NAME_LEN * 4);

	TRY(table_text_name(t, f->function, &text, err));
	put_name_text(&text);
	putchar('\n');
	if (o->verbose)
		return print_verbose(t, f, discriminator, err);
	TRY(table_text_file(t, f->file, &text, err));
	put_name_text(&text);
	if (style == STYLE_LLVM)
		printf(":%u:%u\n", f->line, f->column);
	else if (f->line)
		printf(":%u\n", f->line);
	else
		puts(":?");
	return 0;
}

/* Converts the given number to a link-time address. Returns 1, or 0 if it has none in this
 * table. */
static int lookup_vaddr_of(const struct table_text *t, const struct options *o, uint64_t given,
			   uint64_t *ret)
{
	*ret = given;
	if (o->file_off)
		return rsym_vaddr_of_file_off(&t->table, given, ret);
	if (o->section)
		return rsym_vaddr_of_section(&t->table, o->section, strlen(o->section), given, ret);
	return 1;
}

static int lookup_address(const struct table_text *t, const struct options *o, uint64_t given,
			  struct err *err)
{
	uint64_t vaddr;
	uint32_t discriminators[RSYM_FRAMES_MAX];
	bool has_columns = false;
	bool placed = lookup_vaddr_of(t, o, given, &vaddr);
	enum style style = o->style;
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	int count = placed ? rsym_lookup(&t->table, vaddr, frames, ARRAY_LEN(frames)) : 0;

	if (count) {
		struct rsym_column columns[RSYM_FRAMES_MAX];

		has_columns = rsym_columns_at(&t->table, vaddr, columns, (size_t)count);
		for (int i = 0; i < count; i++) {
			frames[i].column = columns[i].column;
			discriminators[i] = columns[i].discriminator;
		}
	}
	if (style == STYLE_JSON)
		return json_print_frames(t, given, frames, has_columns ? discriminators : NULL,
					 count, o->aliases, err);
	if (style == STYLE_GNU)
		printf("0x%016llx\n", (unsigned long long)given);
	for (int i = 0; i < count; i++)
		TRY(print_lookup_frame(t, o, &frames[i], discriminators[i], err));
	if (count && o->aliases)
		TRY(print_aliases(t, frames[count - 1].function, err));
	if (!count)
		puts(style == STYLE_GNU ? "??\n??:0" : "??\n??:0:0");
	if (style == STYLE_LLVM)
		putchar('\n');
	return 0;
}

static int parse_lookup_address(const char *text, uint64_t *ret, struct err *err)
{
	const char *digits = text;

	if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
		digits += 2;
	if (!number_read(digits, 16, ret))
		return err_set(err, ERR_USAGE, "'%.100s' is not a hexadecimal address", text);
	return 0;
}

static int lookup_lines(const struct table_text *t, const struct options *o, struct err *err)
{
	_cleanup_(freep) char *line = NULL;
	size_t cap = 0;
	uint64_t vaddr;
	int rc = 0;

	for (size_t number = 1; !rc && getline(&line, &cap, stdin) >= 0; number++) {
		line[strcspn(line, "\r\n")] = 0;
		if (!*line)
			continue;
		rc = parse_lookup_address(line, &vaddr, err);
		if (rc)
			return err_set(err, ERR_DATA,
				       "standard input, line %zu: '%.100s' is not a hexadecimal "
				       "address",
				       number, line);
		rc = lookup_address(t, o, vaddr, err);
		/* Flush each answer, because a reader of the pipe may wait for it. */
		fflush(stdout);
	}
	return rc;
}

static int run_lookup(int argc, char **argv, struct err *err)
{
	_cleanup_(table_text_close) struct table_text text = {0};
	struct options o = {.style = STYLE_LLVM};
	struct operands operands;
	const char *path;

	TRY(options_parse(&usage, argc, argv, &o, &operands, err));
	if (o.file_off && o.section)
		return options_refuse(&usage, err, "--file-offset or --section, not both");
	path = operands.list[0];
	TRY(table_text_open(&text, path, err));
	if (o.file_off && !text.table.segment_count)
		return err_set(
			err, ERR_NOT_FOUND,
			"%s: has no segments; build it with --stripped, or from the executable",
			path);
	/* The default of each style is that of the program it imitates. */
	text.style =
		o.names == NAMES_DEMANGLED || (o.names == NAMES_BY_STYLE && o.style != STYLE_GNU)
			? DEMANGLE_FULL
			: DEMANGLE_NONE;
	if (operands.count == 1)
		return lookup_lines(&text, &o, err);
	for (size_t i = 1; i < operands.count; i++) {
		uint64_t vaddr;

		TRY(parse_lookup_address(operands.list[i], &vaddr, err));
		TRY(lookup_address(&text, &o, vaddr, err));
	}
	return 0;
}

const struct command gsym_command_lookup = {
	.usage = &usage,
	.summary = "print the functions, files and lines of addresses",
	.run = run_lookup,
};
