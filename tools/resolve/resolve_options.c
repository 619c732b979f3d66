/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "addr2line.h"

static int check_filter(const struct resolve_options *o, size_t address_count, struct err *err)
{
	if (o->build_id || o->name || o->service.server)
		return options_refuse(&resolve_usage, err,
				      "--filter reads files of this machine: give neither "
				      "--server nor --build-id nor --name");
	if (address_count || o->section || o->drop_in || o->style != RESOLVE_TEXT || o->file_off ||
	    o->source)
		return options_refuse(
			&resolve_usage, err,
			"--filter copies a log: it takes no addresses, and no option that "
			"says what addresses mean or how answers are printed");
	if (o->kernel || o->label_count)
		return options_refuse(
			&resolve_usage, err,
			"--filter takes neither --kernel nor --label; it finds addresses of "
			"the kernel by itself");
	return 0;
}

/* addr2line reads many formats, of which -b names one; this program reads only ELF. */
static int check_target(void *at _unused_, const char *option _unused_, const char *name,
			struct err *err)
{
	if (strncmp(name, "elf32-", 6) == 0 || strncmp(name, "elf64-", 6) == 0 ||
	    strcmp(name, "default") == 0)
		return 0;
	return err_set(err, ERR_USAGE, "--target %s: this format is not supported, only ELF is",
		       name);
}

/* Checks that exactly one of four sources is given. */
static int check_source(const struct resolve_options *o, struct err *err)
{
	int count = (o->file_count != 0) + (o->build_id != NULL) + (o->name != NULL) +
		    (o->pid || o->kernel);

	if (count != 1)
		return options_refuse(
			&resolve_usage, err,
			"give either -e FILE or --build-id ID, --name, --pid, --kernel");
	if (!o->build_id && !o->name && o->service.server)
		return options_refuse(&resolve_usage, err,
				      "--server goes with --build-id or --name only");
	if (o->label_count && !o->name)
		return options_refuse(&resolve_usage, err, "--label needs --name");
	if (o->file_count > 1)
		return options_refuse(&resolve_usage, err, "more than one -e needs --filter");
	if (o->section && (!o->file_count || o->file_off))
		return options_refuse(&resolve_usage, err,
				      "--section needs -e FILE and no --file-off");
	if ((o->pid || o->kernel) && o->file_off)
		return options_refuse(
			&resolve_usage, err,
			"--file-off does not go with --pid or --kernel: their addresses are "
			"not file offsets");
	return 0;
}

static int check_resolve_options(struct resolve_options *o, size_t address_count, struct err *err)
{
	if (o->filter)
		return check_filter(o, address_count, err);
	if (o->drop_in && o->asked_style && o->style != RESOLVE_GNU)
		return options_refuse(
			&resolve_usage, err,
			"--output-style and --json do not go with addr2line's option letters");
	if (o->drop_in && !o->build_id && !o->file_count && !o->name && !o->pid && !o->kernel)
		o->files[o->file_count++] = "a.out"; /* as all binutils do */
	if (o->drop_in && o->file_count) {           /* the last one counts */
		o->files[0] = o->files[o->file_count - 1];
		o->file_count = 1;
	}
	TRY(check_source(o, err));
	if (!address_count && isatty(STDIN_FILENO) && !o->drop_in)
		return options_refuse(&resolve_usage, err, "no address given");
	if (o->drop_in)
		o->style = RESOLVE_GNU;
	else if (o->style == RESOLVE_GNU)
		o->gnu.addresses = o->gnu.functions = o->gnu.inlines = true;
	return 0;
}

static const char *const link_words[] = {"auto", "always", "never", NULL};

static int set_links(void *at, const char *option, const char *when, struct err *err)
{
	struct resolve_options *o = at;
	const char *term = getenv("TERM");
	int word = options_word(option, when, link_words, err);

	o->links = word == 1 ||
		   (word == 0 && isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb"));
	return word < 0 ? word : 0;
}

static const char *const style_words[] = {
	[RESOLVE_TEXT] = "text",
	[RESOLVE_JSON] = "json",
	[RESOLVE_LLVM] = "llvm",
	[RESOLVE_GNU] = "gnu",
	NULL,
};

static const struct option_row rows[] = {
	OPTION_LIST('e', "exe", "FILE", struct resolve_options, files, file_count,
		    RESOLVE_FILES_MAX, "an ELF file; its installed debug file is used, too"),
	OPTION_TEXT(0, "build-id", "ID", struct resolve_options, build_id,
		    "a binary that the service has"),
	OPTION_TEXT(0, "name", "NAME", struct resolve_options, name,
		    "a binary that the service has, by name"),
	OPTION_LIST(0, "label", "KEY=VALUE", struct resolve_options, labels, label_count,
		    LIMIT_LABELS,
		    "with --name: only binaries that were pushed with this label; may be repeated"),
	OPTION_ROWS(struct resolve_options, service, server_option_rows),
	OPTION_TEXT(0, "pid", "PID", struct resolve_options, pid,
		    "a running process: addresses are program counters"),
	OPTION_FLAG(0, "kernel", struct resolve_options, kernel,
		    "the running kernel (/proc/kallsyms; needs root)"),
	OPTION_FLAG(0, "filter", struct resolve_options, filter,
		    "copy a log and add names behind its addresses"),
	OPTION_FLAG(0, "file-off", struct resolve_options, file_off,
		    "addresses are offsets in the file"),
	OPTION_TEXT('j', "section", "NAME", struct resolve_options, section,
		    "addresses are offsets in this section of the file"),
	OPTION_FLAG(0, "return", struct resolve_options, return_address,
		    "addresses are return addresses: look up the call before"),
	OPTION_WORD(0, "output-style", "STYLE", struct resolve_options, asked_style, style_words,
		    "text, json, llvm (as llvm-symbolizer), gnu (as addr2line -afi)", .min = 1),
	OPTION_SET(0, "json", struct resolve_options, asked_style, 1 + RESOLVE_JSON,
		   "the same as --output-style json"),
	OPTION_FLAG(0, "source", struct resolve_options, source,
		    "print the lines of source around, if the file is here"),
	OPTION_CALL(0, "hyperlinks", "WHEN", set_links,
		    "make file names links: auto (on a terminal), always, never",
		    .words = link_words),
	OPTION_FLAG(0, "no-demangle", struct resolve_options, mangled, "print linkage names"),
	OPTION_FLAG(0, "no-cache", struct resolve_options, no_cache,
		    "neither read nor keep tables in ~/.cache/rawstack"),
	/* The options of addr2line, which the notes describe. */
	OPTION_FLAG('a', "addresses", struct resolve_options, gnu.addresses, NULL),
	OPTION_FLAG('f', "functions", struct resolve_options, gnu.functions, NULL),
	OPTION_FLAG('i', "inlines", struct resolve_options, gnu.inlines, NULL),
	OPTION_FLAG('p', "pretty-print", struct resolve_options, gnu.pretty, NULL),
	OPTION_FLAG('s', "basenames", struct resolve_options, gnu.base_names, NULL),
	OPTION_FLAG('C', "demangle", struct resolve_options, demangled, NULL, .argument = "STYLE",
		    .is_optional = true),
	OPTION_CALL('b', "target", "NAME", check_target, NULL),
	/* Demangling is always bounded. */
	OPTION_IGNORE('r', "recurse-limit", NULL),
	OPTION_IGNORE('R', "no-recurse-limit", NULL),
	OPTION_END,
};

const struct option_usage resolve_usage = {
	.name = "rawstack resolve",
	.synopsis = "[OPTIONS] -e FILE [ADDR...]\n"
		    "[OPTIONS] --build-id ID | --name NAME [ADDR...]\n"
		    "[OPTIONS] --pid PID | --kernel [ADDR...]\n"
		    "--filter [-e FILE]... [--pid PID] <LOG",
	.about = "Prints the functions, files and lines of addresses, from the service or from "
		 "files of this machine. Addresses are hexadecimal and as linked (what nm and "
		 "objdump print), or those of a running process or kernel; without any on the "
		 "command line they are read from standard input, one a line. Inlined calls come "
		 "innermost first. An address in no function gives ?? and exit status 1.",
	.rows = rows,
	.operands_max = OPERANDS_ANY,
	.notes = "A table is kept in ~/.cache/rawstack for a file that is asked about often, or "
		 "for many of its "
		 "functions at once. In the second case a process of low priority makes it after "
		 "the answer. Until there is one, the part that the last question needed is kept, "
		 "in case it is asked again. The answers are the same in every case.\n"
		 "\n"
		 "--filter knows what backtrace_symbols() of glibc, sanitizers, Go and Linux "
		 "print, and PATH+0xOFF anywhere. Files that the log names are read from this "
		 "machine; -e gives those that are elsewhere (a program, libraries, vmlinux, "
		 "modules). Bare addresses belong to --pid, else to the first -e.\n"
		 "\n"
		 "With the option letters of addr2line (-a -f -i -p -s -C), or called as "
		 "addr2line, it prints what addr2line prints, reads a.out without -e, and ends "
		 "with status 0; called by that name it also reads arguments from @FILE. -b, -r "
		 "and -R have no effect. tools/README.md lists the differences: no discriminators, "
		 "and LLVM's answer where LLVM and addr2line differ.",
};

int resolve_options_parse(int argc, char **argv, struct resolve_options *o, struct operands *ret,
			  struct err *err)
{
	TRY(set_links(o, "", link_words[0], err));
	o->drop_in = addr2line_is_name(argv[0]);
	TRY(options_parse(&resolve_usage, argc, argv, o, ret, err));
	o->drop_in |= o->gnu.addresses || o->gnu.functions || o->gnu.inlines || o->gnu.pretty ||
		      o->gnu.base_names || o->demangled;
	if (o->asked_style)
		o->style = (enum resolve_style)(o->asked_style - 1);
	return check_resolve_options(o, ret->count, err);
}
