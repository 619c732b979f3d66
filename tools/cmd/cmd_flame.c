/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack flame`: a profile as one HTML page. */
#include "flame_html.h"
#include "flame_tree.h"
#include "output_file.h"
#include "profile_view.h"

/* A page of so many nodes still opens in a second; lighter nodes are added up. */
#define NODES_SHOWN 100000

struct flame_options {
	const char *out, *title;
	struct profile_view view;
};

static const struct option_row rows[] = {
	OPTION_TEXT('o', NULL, "OUT.html", struct flame_options, out,
		    "where to write; - is standard output"),
	OPTION_TEXT(0, "title", "TEXT", struct flame_options, title, "the heading of the page"),
	VIEW_DIFF_ROW(struct flame_options, "subtract a profile, so that what grew is left"),
	OPTION_ROWS(struct flame_options, view, profile_view_rows_no_json),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack flame",
	.synopsis = "[OPTIONS] DIR|FILE... -o OUT.html",
	.about = "Reads profiles, and directories of profiles such as the shipper's --out, and "
		 "writes a flame graph as one page that needs no network. The page zooms by mouse "
		 "and keyboard, searches and shows the share of the matches, and marks inlined "
		 "calls, kernel frames and frames without a name.",
	.rows = rows,
	.operands_min = 1,
	.operands_max = OPERANDS_ANY,
	.operands_wanted = "no profile given",
	.notes = FILTER_NOTES,
};

static int write_page(const char *path, const struct buf *page, struct err *err)
{
	_cleanup_(output_file_done) struct output_file file = OUTPUT_FILE_NONE;

	TRY(output_file_open(&file, path, err));
	TRY(output_file_write(&file, page->p, page->len, err));
	return output_file_commit(&file, err);
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
	struct operands profiles;
	struct profile_text t;

	profile_view_init(&o.view);
	TRY(options_parse(&usage, argc, argv, &o, &profiles, err));
	if (!o.out)
		return options_refuse(&usage, err, "-o OUT.html is missing");
	TRY(profile_view_read(&o.view, profiles.list, profiles.count, err));
	TRY(flame_tree_make(&tree, p, o.view.row, err));
	TRY(flame_tree_arrange(&tree, NODES_SHOWN, err));
	if (p->value_count) {
		t = profile_text(p, p->value_types[o.view.row].unit);
		buf_append(&unit, t.p, t.len);
	}
	TRY(flame_html(&tree, &(struct flame_page){o.title, buf_cstr(&unit)}, &page, err));
	TRY(write_page(o.out, &page, err));
	return profile_view_end(&o.view, err);
}

const struct command cmd_flame = {
	.usage = &usage,
	.run = run_flame,
	.summary = "write a flame graph of a profile as one HTML page",
};
