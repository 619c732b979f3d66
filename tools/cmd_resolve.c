/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack resolve`: addresses of one binary to functions, files and lines. */
#include <stdio.h>
#include <string.h>

#include "address_input.h"
#include "command.h"
#include "remote.h"
#include "resolve.h"

struct resolve_options {
	const char *server, *build_id, *file;
	enum resolve_style style;
	struct resolve_gnu gnu;
	bool file_off, return_address;
	bool drop_in; /* called as addr2line, or with its letters */
	bool mangled, demangled, no_cache;
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

static int check(struct resolve_options *o, int address_count, struct err *err)
{
	if (o->drop_in && !o->build_id && !o->file)
		o->file = "a.out"; /* as every binutil */
	if (!o->file == !o->build_id)
		return command_usage(&cmd_resolve, "give either -e FILE or --build-id ID", err);
	if (o->file && o->server)
		return command_usage(&cmd_resolve, "-e FILE needs no --server", err);
	if (!address_count && isatty(STDIN_FILENO) && !o->drop_in)
		return command_usage(&cmd_resolve, "no address given", err);
	if (o->drop_in)
		o->style = RESOLVE_GNU;
	else if (o->style == RESOLVE_GNU)
		o->gnu.addresses = o->gnu.functions = o->gnu.inlines = true;
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
		OPT_NO_CACHE
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
		{"exe", required_argument, NULL, 'e'},
		{"addresses", no_argument, NULL, 'a'},
		{"functions", no_argument, NULL, 'f'},
		{"inlines", no_argument, NULL, 'i'},
		{"pretty-print", no_argument, NULL, 'p'},
		{"basenames", no_argument, NULL, 's'},
		{"demangle", optional_argument, NULL, 'C'},
		{0},
	};
	int c;

	while ((c = command_option(argc, argv, ":e:afipsC", options, err)) != -1) {
		switch (c) {
		case 'e':
			o->file = optarg;
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
			break;
		case OPT_JSON:
			o->style = RESOLVE_JSON;
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

/* Where answers come from: one of the two. */
struct source {
	struct local_table local;
	struct rpc_client *client;
	struct build_id id;
};

static void source_close(struct source *s)
{
	local_table_close(&s->local);
	rpc_client_close(s->client);
}

static int source_open(struct source *s, const struct resolve_options *o, struct err *err)
{
	int rc;

	if (o->file)
		return local_table_open(&s->local, o->file, !o->no_cache, err);
	rc = build_id_parse(&s->id, o->build_id, err);
	return rc ? rc : remote_open(&s->client, o->server, err);
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
		.return_address = o->return_address,
		.demangle = RESOLVE_DEMANGLED,
	};
	int rc;

	/* addr2line demangles only when told to; everybody else does. */
	if (o->mangled || (o->style == RESOLVE_GNU && !o->demangled))
		q.demangle = RESOLVE_MANGLED;
	printer.gnu.address_bytes = o->file ? s->local.address_bytes : 8;
	totals->asked += count;
	rc = o->file ? resolve_local(&s->local, &q, &printer, &totals->unknown, err)
		     : resolve_remote(s->client, &s->id, &q, &printer, &totals->unknown, err);
	if (!rc && out.failed)
		rc = err_set(err, ERR_MEMORY, "resolve: out of memory");
	if (!rc)
		fwrite(out.p, 1, out.len, stdout);
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
		/* The reader is gone: nobody wants the rest. */
		if (!rc && fflush(stdout))
			return 0;
	}
	return rc ? rc : more;
}

static int run_resolve(int argc, char **argv, struct err *err)
{
	_cleanup_(source_close) struct source s = {.local = LOCAL_TABLE_NONE};
	struct resolve_options o = {.drop_in = strcmp(argv[0], "addr2line") == 0};
	struct totals totals = {0};
	int rc = parse(argc, argv, &o, err);

	if (rc)
		return rc;
	if (optind < argc)
		rc = answer_arguments(&s, &o, argv + optind, (size_t)(argc - optind), &totals, err);
	else
		rc = answer_lines(&s, &o, &totals, err);
	/* addr2line tells by ?? only. */
	if (!rc && totals.unknown && !o.drop_in)
		return err_set(err, ERR_NOT_FOUND, "%s%s: %zu of %zu addresses are in no function",
			       o.file ? "" : "build id ", o.file ? o.file : o.build_id,
			       totals.unknown, totals.asked);
	return rc;
}

const struct command cmd_resolve = {
	.name = "resolve",
	.run = run_resolve,
	.summary = "addresses of a binary to functions, files and lines",
	.help = "usage: rawstack resolve [OPTIONS] --build-id ID [ADDR...]\n"
		"       rawstack resolve [OPTIONS] -e FILE [ADDR...]\n"
		"\n"
		"Asks the service, or with -e reads the file itself. Addresses are hex, as linked\n"
		"(what nm and objdump print); without any they are read from standard input, one\n"
		"a line. Inlined calls come innermost first. An address in no function is\n"
		"answered with ??, and makes the exit status 1.\n"
		"\n"
		"  --server HOST:PORT     the service\n"
		"  --build-id ID          which binary\n"
		"  -e FILE                an ELF file; its installed debug file is found\n"
		"  --file-off             addresses are offsets in the file\n"
		"  --return               addresses are of the instruction after a call\n"
		"  --output-style STYLE   text, json, llvm (as llvm-symbolizer), gnu (as addr2line "
		"-afi)\n"
		"  --json                 the same as --output-style json\n"
		"  --no-demangle          names as the linker knows them\n"
		"  --no-cache             neither read nor keep tables in ~/.cache/rawstack\n"
		"\n"
		"With the letters of addr2line (-a -f -i -p -s -C, or called as addr2line), it\n"
		"prints what addr2line prints, reads a.out without -e, and ends with status 0. It\n"
		"differs where tools/README.md says so: no discriminators, and LLVM's answer "
		"where\n"
		"LLVM and addr2line differ.\n",
};
