/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack flame`: a profile as one HTML page. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "filter_option.h"
#include "flame_html.h"
#include "flame_tree.h"
#include "io.h"

/* A page of so many nodes still opens in a second; what is lighter is summed up. */
#define NODES_SHOWN 100000

struct flame_options {
	const char *out, *title, *value;
	struct profile_filter filter;
};

static int parse(int argc, char **argv, struct flame_options *o, struct err *err)
{
	enum {
		OPT_TITLE = 256,
		OPT_VALUE
	};
	static const struct option options[] = {
		FILTER_OPTIONS,
		{"title", required_argument, NULL, OPT_TITLE},
		{"value", required_argument, NULL, OPT_VALUE},
		{0},
	};
	int c;

	while ((c = command_option(argc, argv, ":o:", options, err)) != -1) {
		switch (c) {
		case 'o':
			o->out = optarg;
			break;
		case OPT_TITLE:
			o->title = optarg;
			break;
		case OPT_VALUE:
			o->value = optarg;
			break;
		default:
			if (filter_option(c, optarg, &o->filter, err) <= 0)
				return ERR_USAGE;
		}
	}
	if (optind < argc && o->out)
		return 0;
	command_usage(&cmd_flame, optind == argc ? "no profile given" : "-o OUT.html is missing",
		      err);
	return ERR_USAGE;
}

/* Whole or not at all: a page that was there stays when the disk is full. A page is a thing to be
 * given on, so it gets the usual mode. */
static int replace_page(const char *path, const struct buf *page, struct err *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_(buf_done) struct buf dir = BUF_INIT(LIMIT_PATH_LEN);
	_cleanup_(closep) int dir_fd = -1;
	mode_t mask = umask(0);

	umask(mask);
	if (slash)
		buf_printf(&dir, "%.*s", (int)(name - path), path);
	else
		buf_str(&dir, ".");
	dir_fd = open(buf_cstr(&dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return err_sys(err, errno, "%s", path);
	if (io_replace_file(io_system(), dir_fd, name, page->p, page->len, err))
		return slash ? err_prefix(err, "%s", buf_cstr(&dir)) : err->code;
	if (fchmodat(dir_fd, name, 0666 & ~mask, 0))
		return err_sys(err, errno, "%s", path);
	return 0;
}

/* "-" is standard output. */
static int write_page(const char *path, const struct buf *page, struct err *err)
{
	struct stat st;

	if (strcmp(path, "-") == 0) {
		fwrite(page->p, 1, page->len, stdout);
		return 0;
	}
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(err, ERR_UNSUPPORTED,
			       "%s: not a regular file (- is standard output)", path);
	return replace_page(path, page, err);
}

static void done_tree(struct flame_tree *t)
{
	if (t->p)
		flame_tree_done(t);
}

static void done(struct flame_options *o)
{
	profile_filter_done(&o->filter);
}

static int run_flame(int argc, char **argv, struct err *err)
{
	_cleanup_(done) struct flame_options o = {.title = "Rawstack",
						  .filter = PROFILE_FILTER_NONE};
	_cleanup_(profile_done) struct profile p;
	_cleanup_(done_tree) struct flame_tree tree = {0};
	_cleanup_(buf_done) struct buf page = BUF_INIT(GIB), unit = BUF_INIT(LIMIT_STRING_LEN);
	struct profile_text t;
	uint32_t value;
	int rc;

	profile_init(&p);
	rc = parse(argc, argv, &o, err);
	if (!rc)
		rc = profile_input_read(argv + optind, (size_t)(argc - optind), &o.filter, &p, err);
	if (!rc)
		rc = profile_input_value(&p, o.value, &value, err);
	if (!rc)
		rc = flame_tree_make(&tree, &p, value, err);
	if (!rc)
		rc = flame_tree_arrange(&tree, NODES_SHOWN, err);
	if (rc)
		return rc;
	if (p.value_count) {
		t = profile_text(&p, p.value_types[value].unit);
		buf_append(&unit, t.p, t.len);
	}
	rc = flame_html(&tree, &(struct flame_page){o.title, buf_cstr(&unit)}, &page, err);
	return rc ? rc : write_page(o.out, &page, err);
}

const struct command cmd_flame = {
	.name = "flame",
	.run = run_flame,
	.summary = "a flame graph of a profile, as one HTML page",
	.help = "usage: rawstack flame [OPTIONS] DIR|FILE... -o OUT.html\n"
		"\n"
		"Reads pprof files, and directories of them such as the shipper's --out, and "
		"writes\n"
		"one page that needs no network: zoom by click or keys, search with the share of "
		"what\n"
		"matches, inlined calls, kernel frames and frames without names marked.\n"
		"\n"
		"  -o OUT.html      where to write; - is standard output\n"
		"  --title TEXT     the page's heading\n"
		"  --value TYPE     what to weigh: samples, cpu, ...\n" FILTER_HELP,
};
