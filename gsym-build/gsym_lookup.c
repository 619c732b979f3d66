/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-gsym-build lookup */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "gsym_command.h"
#include "json_out.h"

enum style {
	STYLE_LLVM,
	STYLE_GNU,
	STYLE_JSON
};

static const char *const style_names[] = {
	[STYLE_LLVM] = "llvm", [STYLE_GNU] = "gnu", [STYLE_JSON] = "json"};

static void put_text(const struct buf *text)
{
	if (!text->len)
		fputs("??", stdout);
	table_text_put(text->p, text->len);
}

static int print_frame(const struct table_text *t, enum style style, const struct rsym_frame *f,
		       struct err *err)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(LIMIT_NAME_LEN * 4);
	int rc = table_text_name(t, f->function, &text, err);

	if (rc)
		return rc;
	put_text(&text);
	putchar('\n');
	rc = table_text_file(t, f->file, &text, err);
	if (rc)
		return rc;
	put_text(&text);
	if (style == STYLE_LLVM)
		printf(":%u:%u\n", f->line, f->column);
	else if (f->line)
		printf(":%u\n", f->line);
	else
		puts(":?");
	return 0;
}

static int lookup(const struct table_text *t, enum style style, uint64_t vaddr, struct err *err)
{
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	int count = rsym_lookup(&t->table, vaddr, frames, ARRAY_LEN(frames)), rc = 0;

	if (style == STYLE_JSON)
		return json_print_frames(t, vaddr, frames, count, err);
	if (style == STYLE_GNU)
		printf("0x%016llx\n", (unsigned long long)vaddr);
	for (int i = 0; i < count && !rc; i++)
		rc = print_frame(t, style, &frames[i], err);
	if (!count)
		puts(style == STYLE_GNU ? "??\n??:0" : "??\n??:0:0");
	if (style == STYLE_LLVM)
		putchar('\n');
	return rc;
}

static int parse_address(const char *text, uint64_t *ret, struct err *err)
{
	const char *digits = text;
	char *end;

	if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
		digits += 2;
	errno = 0;
	*ret = strtoull(digits, &end, 16);
	/* strtoull() would take a sign, spaces and a second prefix. */
	if (!*digits || *end || errno || strspn(digits, "0123456789abcdefABCDEF") != strlen(digits))
		return err_set(err, ERR_USAGE, "'%.100s' is not a hexadecimal address", text);
	return 0;
}

static int lookup_lines(const struct table_text *t, enum style style, struct err *err)
{
	_cleanup_(freep) char *line = NULL;
	size_t cap = 0;
	uint64_t vaddr;
	int rc = 0;

	for (size_t number = 1; !rc && getline(&line, &cap, stdin) >= 0; number++) {
		line[strcspn(line, "\r\n")] = 0;
		if (!*line)
			continue;
		rc = parse_address(line, &vaddr, err);
		if (rc)
			return err_set(err, ERR_DATA,
				       "standard input, line %zu: '%.100s' is not a hexadecimal "
				       "address",
				       number, line);
		rc = lookup(t, style, vaddr, err);
		/* Somebody may be waiting at the other end of a pipe. */
		fflush(stdout);
	}
	return rc;
}

static int parse_style(const char *name, enum style *ret, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(style_names); i++) {
		if (strcmp(name, style_names[i]) == 0) {
			*ret = (enum style)i;
			return 0;
		}
	}
	return err_set(err, ERR_USAGE, "lookup: output style '%.40s' is not llvm, gnu or json",
		       name);
}

static int run(int argc, char **argv, struct err *err)
{
	static const struct option longs[] = {
		{"output-style", required_argument, NULL, 's'},
		{"demangle", no_argument, NULL, 'C'},
		{"no-demangle", no_argument, NULL, 'n'},
		{0},
	};
	_cleanup_(table_text_close) struct table_text text = {0};
	enum style style = STYLE_LLVM;
	int option, demangle = -1, rc;

	while ((option = getopt_long(argc, argv, ":C", longs, NULL)) != -1) {
		switch (option) {
		case 's':
			rc = parse_style(optarg, &style, err);
			if (rc)
				return rc;
			break;
		case 'C':
		case 'n':
			demangle = option == 'C';
			break;
		default:
			gsym_bad_option(&gsym_command_lookup, argv, option, err);
			return ERR_USAGE;
		}
	}
	if (optind >= argc)
		return err_set(err, ERR_USAGE, "lookup: give a TABLE; see --help");
	rc = table_text_open(&text, argv[optind], err);
	if (rc)
		return rc;
	/* Each style does by default what its model does. */
	text.style = demangle > 0 || (demangle < 0 && style != STYLE_GNU) ? DEMANGLE_FULL
									  : DEMANGLE_NONE;
	if (optind + 1 == argc)
		return lookup_lines(&text, style, err);
	for (int i = optind + 1; i < argc && !rc; i++) {
		uint64_t vaddr;

		rc = parse_address(argv[i], &vaddr, err);
		if (!rc)
			rc = lookup(&text, style, vaddr, err);
	}
	return rc;
}

const struct gsym_command gsym_command_lookup = {
	.name = "lookup",
	.summary = "function, file and line of addresses",
	.usage =
		"Usage: rawstack-gsym-build lookup [OPTION]... TABLE [ADDRESS]...\n\n"
		"Prints the functions at link-time addresses (hexadecimal, 0x or not), the "
		"innermost\n"
		"inlined call first. Without addresses reads them from standard input, one a "
		"line.\n\n"
		"      --output-style=llvm  as llvm-symbolizer --inlines (default); columns are 0\n"
		"      --output-style=gnu   as addr2line -a -f -i\n"
		"      --output-style=json  one object per address\n"
		"  -C, --demangle           readable names (default but for gnu)\n"
		"      --no-demangle        linkage names\n",
	.run = run,
};
