/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack resolve`: addresses of one binary to functions, files and lines. */
#include <stdio.h>
#include <string.h>

#include "address_input.h"
#include "command.h"
#include "program.h"
#include "resolve_log.h"
#include "resolve_process.h"
#include "resolve_service.h"
#include "stdout_end.h"

/* Of --filter: a program and the libraries that are not where the log says. */
#define FILES_MAX 64

struct resolve_options {
	const char *server, *build_id, *name;
	const char *labels[LIMIT_LABELS];
	size_t label_count;
	const char *files[FILES_MAX]; /* one, but for --filter */
	size_t file_count;
	const char *pid, *section;
	enum resolve_style style;
	struct resolve_gnu gnu;
	bool file_off, return_address;
	bool drop_in; /* called as addr2line, or with its letters */
	bool mangled, demangled, no_cache;
	bool filter, kernel, source, links;
	bool styled; /* the style was asked for */
};

static int parse_style(const char *text, enum resolve_style *ret, struct err *err)
{
	static const char *const names[] = {
		[RESOLVE_TEXT] = "text",
		[RESOLVE_JSON] = "json",
		[RESOLVE_LLVM] = "llvm",
		[RESOLVE_GNU] = "gnu",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(text, names[i]) == 0) {
			*ret = (enum resolve_style)i;
			return 0;
		}
	return err_set(err, ERR_USAGE, "--output-style %s: not text, json, llvm or gnu", text);
}

/* A letter of addr2line; false when it is none. */
static bool parse_letter(int c, struct resolve_options *o)
{
	switch (c) {
	case 'a':
		o->gnu.addresses = true;
		break;
	case 'f':
		o->gnu.functions = true;
		break;
	case 'i':
		o->gnu.inlines = true;
		break;
	case 'p':
		o->gnu.pretty = true;
		break;
	case 's':
		o->gnu.base_names = true;
		break;
	case 'C':
		o->demangled = true;
		break;
	default:
		return false;
	}
	o->drop_in = true;
	return true;
}

static int check_filter(const struct resolve_options *o, int address_count, struct err *err)
{
	if (o->build_id || o->name || o->server)
		return command_usage(&cmd_resolve, "--filter reads files of this machine", err);
	if (address_count || o->section || o->drop_in || o->style != RESOLVE_TEXT || o->file_off ||
	    o->source)
		return command_usage(&cmd_resolve, "--filter copies a log, and nothing else", err);
	if (o->kernel || o->label_count)
		return command_usage(&cmd_resolve,
				     "--kernel and --label are not for --filter, which names the "
				     "kernel's addresses anyway",
				     err);
	return 0;
}

/* addr2line reads many formats, and is told which; here there is one. */
static int check_target(const char *name, struct err *err)
{
	if (strncmp(name, "elf32-", 6) == 0 || strncmp(name, "elf64-", 6) == 0 ||
	    strcmp(name, "default") == 0)
		return 0;
	return err_set(err, ERR_USAGE, "--target %s: not a format that is read here: ELF", name);
}

/* Where answers come from: one of four. */
static int check_source(const struct resolve_options *o, struct err *err)
{
	int count = (o->file_count != 0) + (o->build_id != NULL) + (o->name != NULL) +
		    (o->pid || o->kernel);

	if (count != 1)
		return command_usage(
			&cmd_resolve,
			"give either -e FILE or --build-id ID, --name, --pid, --kernel", err);
	if (!o->build_id && !o->name && o->server)
		return command_usage(&cmd_resolve, "only --build-id and --name need --server", err);
	if (o->label_count && !o->name)
		return command_usage(&cmd_resolve, "--label chooses among those of a --name", err);
	if (o->file_count > 1)
		return command_usage(&cmd_resolve, "more than one -e is for --filter", err);
	if (o->section && (!o->file_count || o->file_off))
		return command_usage(&cmd_resolve, "--section is for addresses of a -e FILE", err);
	if ((o->pid || o->kernel) && o->file_off)
		return command_usage(&cmd_resolve, "addresses of a process are no file offsets",
				     err);
	return 0;
}

static int check(struct resolve_options *o, int address_count, struct err *err)
{
	int rc;

	if (o->filter)
		return check_filter(o, address_count, err);
	if (o->drop_in && o->styled && o->style != RESOLVE_GNU)
		return command_usage(&cmd_resolve,
				     "--output-style and --json are not for addr2line's letters",
				     err);
	if (o->drop_in && !o->build_id && !o->file_count && !o->name && !o->pid && !o->kernel)
		o->files[o->file_count++] = "a.out"; /* as every binutil */
	rc = check_source(o, err);
	if (rc)
		return rc;
	if (!address_count && isatty(STDIN_FILENO) && !o->drop_in)
		return command_usage(&cmd_resolve, "no address given", err);
	if (o->drop_in)
		o->style = RESOLVE_GNU;
	else if (o->style == RESOLVE_GNU)
		o->gnu.addresses = o->gnu.functions = o->gnu.inlines = true;
	return 0;
}

static int add_text(const char **list, size_t *count, size_t max, const char *what,
		    const char *text, struct err *err)
{
	if (*count == max)
		return err_set(err, ERR_USAGE, "more than %zu %s", max, what);
	list[(*count)++] = text;
	return 0;
}

static int parse_links(const char *when, bool *ret, struct err *err)
{
	const char *term = getenv("TERM");

	*ret = strcmp(when, "always") == 0;
	if (strcmp(when, "auto") == 0)
		*ret = isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
	else if (!*ret && strcmp(when, "never") != 0)
		return err_set(err, ERR_USAGE, "--hyperlinks %s: not auto, always or never", when);
	return 0;
}

static int parse(int argc, char **argv, struct resolve_options *o, struct err *err)
{
	enum {
		OPT_SERVER = 256,
		OPT_BUILD_ID,
		OPT_FILE_OFF,
		OPT_RETURN,
		OPT_STYLE,
		OPT_JSON,
		OPT_NO_DEMANGLE,
		OPT_NO_CACHE,
		OPT_NAME,
		OPT_LABEL,
		OPT_PID,
		OPT_KERNEL,
		OPT_FILTER,
		OPT_SOURCE,
		OPT_LINKS
	};
	static const struct option options[] = {
		{"server", required_argument, NULL, OPT_SERVER},
		{"build-id", required_argument, NULL, OPT_BUILD_ID},
		{"file-off", no_argument, NULL, OPT_FILE_OFF},
		{"return", no_argument, NULL, OPT_RETURN},
		{"output-style", required_argument, NULL, OPT_STYLE},
		{"json", no_argument, NULL, OPT_JSON},
		{"no-demangle", no_argument, NULL, OPT_NO_DEMANGLE},
		{"no-cache", no_argument, NULL, OPT_NO_CACHE},
		{"name", required_argument, NULL, OPT_NAME},
		{"label", required_argument, NULL, OPT_LABEL},
		{"pid", required_argument, NULL, OPT_PID},
		{"kernel", no_argument, NULL, OPT_KERNEL},
		{"filter", no_argument, NULL, OPT_FILTER},
		{"source", no_argument, NULL, OPT_SOURCE},
		{"hyperlinks", required_argument, NULL, OPT_LINKS},
		{"exe", required_argument, NULL, 'e'},
		{"addresses", no_argument, NULL, 'a'},
		{"functions", no_argument, NULL, 'f'},
		{"inlines", no_argument, NULL, 'i'},
		{"pretty-print", no_argument, NULL, 'p'},
		{"basenames", no_argument, NULL, 's'},
		{"demangle", optional_argument, NULL, 'C'},
		{"section", required_argument, NULL, 'j'},
		{"target", required_argument, NULL, 'b'},
		{"recurse-limit", no_argument, NULL, 'r'},
		{"no-recurse-limit", no_argument, NULL, 'r'},
		{0},
	};
	int c;

	if (parse_links("auto", &o->links, err))
		return ERR_USAGE;
	while ((c = command_option(argc, argv, ":e:afipsCj:b:rR", options, err)) != -1) {
		switch (c) {
		case 'e':
			if (add_text(o->files, &o->file_count, FILES_MAX, "-e", optarg, err))
				return ERR_USAGE;
			break;
		case 'j':
			o->section = optarg;
			break;
		case 'b':
			if (check_target(optarg, err))
				return ERR_USAGE;
			break;
		case 'r':
		case 'R':
			break; /* demangling is bounded, always */
		case OPT_NAME:
			o->name = optarg;
			break;
		case OPT_LABEL:
			if (add_text(o->labels, &o->label_count, LIMIT_LABELS, "--label", optarg,
				     err))
				return ERR_USAGE;
			break;
		case OPT_PID:
			o->pid = optarg;
			break;
		case OPT_KERNEL:
			o->kernel = true;
			break;
		case OPT_FILTER:
			o->filter = true;
			break;
		case OPT_SOURCE:
			o->source = true;
			break;
		case OPT_LINKS:
			if (parse_links(optarg, &o->links, err))
				return ERR_USAGE;
			break;
		case OPT_SERVER:
			o->server = optarg;
			break;
		case OPT_BUILD_ID:
			o->build_id = optarg;
			break;
		case OPT_FILE_OFF:
			o->file_off = true;
			break;
		case OPT_RETURN:
			o->return_address = true;
			break;
		case OPT_STYLE:
			if (parse_style(optarg, &o->style, err))
				return ERR_USAGE;
			o->styled = true;
			break;
		case OPT_JSON:
			o->style = RESOLVE_JSON;
			o->styled = true;
			break;
		case OPT_NO_DEMANGLE:
			o->mangled = true;
			break;
		case OPT_NO_CACHE:
			o->no_cache = true;
			break;
		default:
			if (!parse_letter(c, o))
				return ERR_USAGE;
		}
	}
	return check(o, argc - optind, err);
}

/* Where answers come from. */
struct source {
	struct local_table local;
	struct resolve_service *service;
	struct module_set modules;
	struct process_map process;
	struct source_lines lines;
};

static void source_close(struct source *s)
{
	local_table_close(&s->local);
	if (s->service)
		program_resolve_service->close(s->service);
	module_set_done(&s->modules);
	process_map_done(&s->process);
	source_lines_done(&s->lines);
}

static int open_process(struct process_map *m, const char *pid, struct err *err)
{
	uint64_t number;

	if (command_number("--pid", pid, 1, INT32_MAX, &number, err))
		return ERR_USAGE;
	return process_map_read(m, (int64_t)number, err);
}

static int source_open(struct source *s, const struct resolve_options *o, struct err *err)
{
	struct resolve_service_of of = {
		.server = o->server,
		.build_id = o->build_id,
		.name = o->name,
		.labels = o->labels,
		.label_count = o->label_count,
	};

	s->modules.use_cache = !o->no_cache;
	s->modules.demangle = !o->mangled && (o->style != RESOLVE_GNU || o->demangled);
	if (o->file_count)
		return local_table_open(&s->local, o->files[0], !o->no_cache, err);
	if (o->pid)
		return open_process(&s->process, o->pid, err);
	if (o->kernel)
		return 0;
	/* Nothing was read or printed so far, so another program can take over. */
	if (!program_resolve_service)
		return program_other(err);
	return program_resolve_service->open(&s->service, &of, err);
}

struct totals {
	size_t asked, unknown;
};

/* Answers some addresses, and prints them at once: whoever asked may wait for it. */
static int answer(struct source *s, const struct resolve_options *o, const uint64_t *addresses,
		  size_t count, struct totals *totals, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(GIB);
	struct resolve_printer printer = {.style = o->style, .gnu = o->gnu, .out = &out};
	struct resolve_query q = {
		.addresses = addresses,
		.count = count,
		.file_off = o->file_off,
		.section = o->section,
		.return_address = o->return_address,
		.demangle = RESOLVE_DEMANGLED,
	};
	int rc;

	/* addr2line demangles only when told to; everybody else does. */
	if (o->mangled || (o->style == RESOLVE_GNU && !o->demangled))
		q.demangle = RESOLVE_MANGLED;
	printer.gnu.address_bytes = o->file_count ? s->local.address_bytes : 8;
	printer.source = o->source ? &s->lines : NULL;
	printer.links = o->links;
	totals->asked += count;
	if (o->file_count)
		rc = resolve_local(&s->local, &q, &printer, &totals->unknown, err);
	else if (o->pid || o->kernel)
		rc = resolve_process(&s->modules, o->pid ? &s->process : NULL, &q, &printer,
				     &totals->unknown, err);
	else
		rc = program_resolve_service->answer(s->service, &q, &printer, &totals->unknown,
						     err);
	if (!rc && out.failed)
		rc = err_set(err, ERR_MEMORY, "resolve: out of memory");
	if (!rc)
		stdout_put(&out);
	return rc;
}

static int answer_arguments(struct source *s, const struct resolve_options *o, char **argv,
			    size_t count, struct totals *totals, struct err *err)
{
	_cleanup_(freep) uint64_t *addresses = malloc((count + 1) * sizeof(*addresses));
	int rc = 0;

	if (!addresses)
		return err_set(err, ERR_MEMORY, "resolve: out of memory");
	for (size_t i = 0; !rc && i < count; i++)
		rc = address_parse(argv[i], &addresses[i], err);
	if (!rc)
		rc = source_open(s, o, err);
	return rc ? rc : answer(s, o, addresses, count, totals, err);
}

static int answer_lines(struct source *s, const struct resolve_options *o, struct totals *totals,
			struct err *err)
{
	_cleanup_(address_input_done) struct address_input in;
	int rc = source_open(s, o, err), more = 0;

	address_input_init(&in, STDIN_FILENO, o->drop_in);
	while (!rc && (more = address_input_next(&in, err)) > 0) {
		rc = answer(s, o, in.list, in.count, totals, err);
		if (!rc)
			rc = stdout_flush(err);
	}
	return rc ? rc : more;
}

static int filter_log(const struct resolve_options *o, struct err *err)
{
	_cleanup_(process_map_done) struct process_map process = {0};
	struct log_filter f = {
		.modules = {.use_cache = !o->no_cache, .demangle = !o->mangled},
		.files = o->files,
		.file_count = o->file_count,
		.process = o->pid ? &process : NULL,
		.return_address = o->return_address,
	};
	int rc = o->pid ? open_process(&process, o->pid, err) : 0;

	/* A file that was named must be there; one that the log names need not. */
	for (size_t i = 0; !rc && i < o->file_count; i++)
		if (!module_set_get(&f.modules, o->files[i], strlen(o->files[i]), NULL, err))
			rc = err->code;
	if (!rc)
		rc = resolve_log(&f, STDIN_FILENO, err);
	module_set_leave(&f.modules);
	module_set_done(&f.modules);
	return rc;
}

/* Nobody waits for what comes now. */
static void leave_tables(struct source *s)
{
	struct err ignored;

	if (stdout_flush(&ignored) == ERR_IO)
		return;
	local_table_leave(&s->local);
	module_set_leave(&s->modules);
}

static const char *asked_of(const struct resolve_options *o)
{
	if (o->file_count)
		return o->files[0];
	return o->pid ? o->pid : o->kernel ? "kernel" : o->name ? o->name : o->build_id;
}

static int run_resolve(int argc, char **argv, struct err *err)
{
	_cleanup_(source_close) struct source s = {.local = LOCAL_TABLE_NONE};
	struct resolve_options o = {.drop_in = strcmp(argv[0], "addr2line") == 0};
	struct totals totals = {0};
	int rc = parse(argc, argv, &o, err);

	if (rc)
		return rc;
	if (o.filter)
		return filter_log(&o, err);
	if (optind < argc)
		rc = answer_arguments(&s, &o, argv + optind, (size_t)(argc - optind), &totals, err);
	else
		rc = answer_lines(&s, &o, &totals, err);
	leave_tables(&s);
	/* addr2line tells by ?? only. */
	if (!rc && totals.unknown && !o.drop_in)
		return err_set(err, ERR_NOT_FOUND, "%s%s: %zu of %zu addresses are in no function",
			       o.build_id ? "build id "
			       : o.pid    ? "process "
					  : "",
			       asked_of(&o), totals.unknown, totals.asked);
	return rc;
}

const struct command cmd_resolve = {
	.name = "resolve",
	.run = run_resolve,
	.summary = "addresses of a binary to functions, files and lines",
	.help = "usage: rawstack resolve [OPTIONS] -e FILE [ADDR...]\n"
		"       rawstack resolve [OPTIONS] --build-id ID | --name NAME [ADDR...]\n"
		"       rawstack resolve [OPTIONS] --pid PID | --kernel [ADDR...]\n"
		"       rawstack resolve --filter [-e FILE]... [--pid PID] <LOG\n"
		"\n"
		"Functions, files and lines of addresses: from the service, or from files of this\n"
		"machine. Addresses are hex, as linked (what nm and objdump print), or those of a\n"
		"running process or kernel; without any they are read from standard input, one a\n"
		"line. Inlined calls come innermost first. An address in no function is answered\n"
		"with ??, and makes the exit status 1.\n"
		"\n"
		"  -e FILE                an ELF file; its installed debug file is found\n"
		"  --build-id ID          a binary that the service has\n"
		"  --name NAME            the same, by its name\n"
		"  --label KEY=VALUE      and by a label it was pushed with; may be repeated\n"
		"  --server HOST:PORT     the service\n"
		"  --pid PID              a running process: addresses are program counters\n"
		"  --kernel               the running kernel (/proc/kallsyms; root)\n"
		"  --filter               copy a log, with names behind the addresses in it\n"
		"  --file-off             addresses are offsets in the file\n"
		"  -j, --section NAME     addresses are offsets in this section of it\n"
		"  --return               addresses are of the instruction after a call\n"
		"  --output-style STYLE   text, json, llvm (as llvm-symbolizer), gnu (as addr2line "
		"-afi)\n"
		"  --json                 the same as --output-style json\n"
		"  --source               print the lines around, where the file is here\n"
		"  --hyperlinks WHEN      auto (on a terminal), always, never\n"
		"  --no-demangle          names as the linker knows them\n"
		"  --no-cache             neither read nor keep tables in ~/.cache/rawstack\n"
		"\n"
		"Of a file that is asked about often, or for many of its functions at once, a "
		"table\n"
		"is kept there; in the second case a process of low priority makes it when the\n"
		"answer is out. Answers are the same.\n"
		"\n"
		"--filter knows what backtrace_symbols() of glibc, sanitizers, Go and Linux "
		"print,\n"
		"and PATH+0xOFF anywhere. Files that the log names are read from this machine; -e\n"
		"gives those that are elsewhere (a program, libraries, vmlinux, modules). Bare\n"
		"addresses are of --pid, else of the first -e.\n"
		"\n"
		"With the letters of addr2line (-a -f -i -p -s -C, or called as addr2line), it\n"
		"prints what addr2line prints, reads a.out without -e, and ends with status 0; by\n"
		"that name it also reads arguments from @FILE. -b, -r and -R change nothing. It\n"
		"differs where tools/README.md says so: no discriminators, and LLVM's answer "
		"where\n"
		"LLVM and addr2line differ.\n",
};
