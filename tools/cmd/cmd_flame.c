/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack flame`: a profile as one HTML page. */
#include "flame_html.h"
#include "flame_tree.h"
#include "output_file.h"
#include "profile_view.h"

/* A page of so many nodes still opens in a second; what is lighter is summed up. */
#define NODES_SHOWN 100000

struct flame_options {
	const char *out, *title;
	struct profile_view view;
};

static int parse_flame_options(int argc, char **argv, struct flame_options *o, struct err *err)
{
	enum {
		OPT_TITLE = 256
	};
	static const struct option options[] = {
		FILTER_OPTIONS,
		{"title", required_argument, NULL, OPT_TITLE},
		VIEW_DIFF_OPTION,
		{"value", required_argument, NULL, VIEW_VALUE},
		{0},
	};
	int c;

	while ((c = command_option(argc, argv, VIEW_LETTERS "o:", options, err)) != -1) {
		switch (c) {
		case 'o':
			o->out = optarg;
			break;
		case OPT_TITLE:
			o->title = optarg;
			break;
		default:
			if (profile_view_option(c, optarg, &o->view, err) <= 0)
				return ERR_USAGE;
		}
	}
	if (optind < argc && o->out)
		return 0;
	command_usage(&cmd_flame, optind == argc ? "no profile given" : "-o OUT.html is missing",
		      err);
	return ERR_USAGE;
}

static int write_page(const char *path, const struct buf *page, struct err *err)
{
	_cleanup_(output_file_done) struct output_file file = OUTPUT_FILE_NONE;
	int rc = output_file_open(&file, path, err);

	if (!rc)
		rc = output_file_write(&file, page->p, page->len, err);
	return rc ? rc : output_file_commit(&file, err);
}

static void flame_options_done(struct flame_options *o)
{
	profile_view_done(&o->view);
}

static int run_flame(int argc, char **argv, struct err *err)
{
	_cleanup_(flame_options_done) struct flame_options o = {.title = "Rawstack"};
	_cleanup_(flame_tree_done) struct flame_tree tree = {0};
	_cleanup_(buf_done) struct buf page = BUF_INIT(GIB), unit = BUF_INIT(LIMIT_STRING_LEN);
	const struct profile *p = &o.view.p;
	struct profile_text t;
	int rc;

	profile_view_init(&o.view);
	rc = parse_flame_options(argc, argv, &o, err);
	if (!rc)
		rc = profile_view_read(&o.view, argv + optind, (size_t)(argc - optind), err);
	if (!rc)
		rc = flame_tree_make(&tree, p, o.view.row, err);
	if (!rc)
		rc = flame_tree_arrange(&tree, NODES_SHOWN, err);
	if (rc)
		return rc;
	if (p->value_count) {
		t = profile_text(p, p->value_types[o.view.row].unit);
		buf_append(&unit, t.p, t.len);
	}
	rc = flame_html(&tree, &(struct flame_page){o.title, buf_cstr(&unit)}, &page, err);
	if (!rc)
		rc = write_page(o.out, &page, err);
	return profile_view_end(&o.view, rc, err);
}

const struct command cmd_flame = {
	.name = "flame",
	.run = run_flame,
	.summary = "a flame graph of a profile, as one HTML page",
	.help = "usage: rawstack flame [OPTIONS] DIR|FILE... -o OUT.html\n"
		"\n"
		"Reads profiles, and directories of them such as the shipper's --out, and "
		"writes\n"
		"one page that needs no network: zoom by click or keys, search with the share of "
		"what\n"
		"matches, inlined calls, kernel frames and frames without names marked.\n"
		"\n"
		"  -o OUT.html        where to write; - is standard output\n"
		"  --title TEXT       the page's heading\n"
		"  --diff-base FILE   subtract a profile: what grew is left\n"
		"  --value TYPE       what to weigh: samples, cpu, ...\n" FILTER_HELP,
};
