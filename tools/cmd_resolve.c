/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack resolve`: addresses of one binary to functions, files and lines. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "remote.h"
#include "resolve.h"

struct resolve_options {
	const char *server, *build_id, *file;
	enum resolve_style style;
	bool file_off, return_address, mangled;
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

static int parse(int argc, char **argv, struct resolve_options *o, struct err *err)
{
	enum {
		OPT_SERVER = 256,
		OPT_BUILD_ID,
		OPT_FILE_OFF,
		OPT_RETURN,
		OPT_STYLE,
		OPT_JSON,
		OPT_NO_DEMANGLE
	};
	static const struct option options[] = {
		{"server", required_argument, NULL, OPT_SERVER},
		{"build-id", required_argument, NULL, OPT_BUILD_ID},
		{"file-off", no_argument, NULL, OPT_FILE_OFF},
		{"return", no_argument, NULL, OPT_RETURN},
		{"output-style", required_argument, NULL, OPT_STYLE},
		{"json", no_argument, NULL, OPT_JSON},
		{"no-demangle", no_argument, NULL, OPT_NO_DEMANGLE},
		{0},
	};
	int c;

	while ((c = command_option(argc, argv, ":e:", options, err)) != -1) {
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
		default:
			return ERR_USAGE;
		}
	}
	if (!o->file == !o->build_id)
		return command_usage(&cmd_resolve, "give either -e FILE or --build-id ID", err);
	if (o->file && o->server)
		return command_usage(&cmd_resolve, "-e FILE needs no --server", err);
	if (optind == argc)
		return command_usage(&cmd_resolve, "no address given", err);
	return 0;
}

/* Hex, with or without 0x. */
static int parse_address(const char *text, uint64_t *ret, struct err *err)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 16);
	if (errno || end == text || *end || text[0] == '-' || text[0] == '+')
		return err_set(err, ERR_USAGE, "resolve: %s: not a hex address of 64 bits", text);
	return 0;
}

static int run(const struct resolve_options *o, const struct resolve_query *q, struct buf *out,
	       size_t *unknown, struct err *err)
{
	_cleanup_(rpc_client_closep) struct rpc_client *c = NULL;
	struct resolve_printer printer = {.style = o->style, .out = out};
	struct build_id id;
	int rc;

	if (o->file)
		return resolve_local(o->file, q, &printer, unknown, err);
	rc = build_id_parse(&id, o->build_id, err);
	if (!rc)
		rc = remote_open(&c, o->server, err);
	return rc ? rc : resolve_remote(c, &id, q, &printer, unknown, err);
}

static int run_resolve(int argc, char **argv, struct err *err)
{
	_cleanup_(freep) uint64_t *addresses = NULL;
	_cleanup_(buf_done) struct buf out = BUF_INIT(GIB);
	struct resolve_options o = {0};
	struct resolve_query q = {0};
	size_t unknown = 0;
	int rc = parse(argc, argv, &o, err);

	if (rc)
		return rc;
	q.count = (size_t)(argc - optind);
	q.file_off = o.file_off;
	q.return_address = o.return_address;
	/* addr2line demangles only when told to; everybody else does. */
	q.demangle = o.mangled || o.style == RESOLVE_GNU ? RESOLVE_MANGLED : RESOLVE_DEMANGLED;
	addresses = malloc((q.count + 1) * sizeof(*addresses));
	if (!addresses)
		return err_set(err, ERR_MEMORY, "resolve: out of memory");
	for (size_t i = 0; i < q.count; i++)
		if (parse_address(argv[optind + (int)i], &addresses[i], err))
			return ERR_USAGE;
	q.addresses = addresses;
	rc = run(&o, &q, &out, &unknown, err);
	if (!rc && out.failed)
		rc = err_set(err, ERR_MEMORY, "resolve: out of memory");
	if (rc)
		return rc;
	fwrite(out.p, 1, out.len, stdout);
	if (unknown)
		return err_set(err, ERR_NOT_FOUND, "%s%s: %zu of %zu addresses are in no function",
			       o.file ? "" : "build id ", o.file ? o.file : o.build_id, unknown,
			       q.count);
	return 0;
}

const struct command cmd_resolve = {
	.name = "resolve",
	.run = run_resolve,
	.summary = "addresses of a binary to functions, files and lines",
	.help = "usage: rawstack resolve [OPTIONS] --build-id ID ADDR...\n"
		"       rawstack resolve [OPTIONS] -e FILE ADDR...\n"
		"\n"
		"Asks the service, or with -e reads the file itself. Addresses are hex, as linked\n"
		"(what nm and objdump print). Inlined calls come innermost first. An address in "
		"no\n"
		"function is answered with ??, and makes the exit status 1.\n"
		"\n"
		"  --server HOST:PORT     the service\n"
		"  --build-id ID          which binary\n"
		"  -e FILE                an ELF file with its debug information\n"
		"  --file-off             addresses are offsets in the file\n"
		"  --return               addresses are of the instruction after a call\n"
		"  --output-style STYLE   text, json, llvm (as llvm-symbolizer), gnu (as addr2line "
		"-afi)\n"
		"  --json                 the same as --output-style json\n"
		"  --no-demangle          names as the linker knows them\n",
};
