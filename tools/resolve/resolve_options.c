/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static int parse_resolve_style(const char *text, enum resolve_style *ret, struct err *err)
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

static int check_resolve_options(struct resolve_options *o, int address_count, struct err *err)
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
	if (o->drop_in && o->file_count) {           /* and the last counts */
		o->files[0] = o->files[o->file_count - 1];
		o->file_count = 1;
	}
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

static int append_limited(const char **list, size_t *count, size_t max, const char *what,
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
		*ret = isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
	else if (!*ret && strcmp(when, "never") != 0)
		return err_set(err, ERR_USAGE, "--hyperlinks %s: not auto, always or never", when);
	return 0;
}

int resolve_options_parse(int argc, char **argv, struct resolve_options *o, struct err *err)
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
			if (append_limited(o->files, &o->file_count, RESOLVE_FILES_MAX, "-e",
					   optarg, err))
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
			if (append_limited(o->labels, &o->label_count, LIMIT_LABELS, "--label",
					   optarg, err))
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
			if (parse_resolve_style(optarg, &o->style, err))
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
	return check_resolve_options(o, argc - optind, err);
}
