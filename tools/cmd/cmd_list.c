/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack list`: the source of a function with what each line costs. */
#include <inttypes.h>
#include <string.h>

#include "profile_view.h"
#include "source_lines.h"

/* Lines of source above the first and below the last that cost something. */
#define AROUND    3
/* A run of lines that cost nothing is left out when it is longer. */
#define GAP_SHOWN 12

struct list_options {
	struct profile_view view;
	struct text_match match;
	struct source_lines source;
};

static void list_options_done(struct list_options *o)
{
	profile_view_done(&o->view);
	text_match_done(&o->match);
	source_lines_done(&o->source);
}

/* A line of a function, as the key of its cost. */
struct line_key {
	uint32_t name, file, line;
};

struct line_cost {
	struct line_key key;
	int64_t self, cum;
	uint32_t seen; /* number of the last sample that counted, plus 1 */
};

struct costs {
	struct intern keys;
	struct line_cost *list;
	size_t cap;
	int64_t total;
	uint8_t *wanted; /* by function: 0 not asked, 1 no, 2 yes */
};

static void costs_done(struct costs *c)
{
	intern_done(&c->keys);
	free(c->list);
	free(c->wanted);
}

static bool is_wanted(const struct list_options *o, struct costs *c, uint32_t function)
{
	if (!c->wanted[function]) {
		struct profile_function f = profile_function(&o->view.p, function);
		struct profile_text t = profile_text(&o->view.p, f.name);

		c->wanted[function] = text_match(&o->match, t.p, t.len) ? 2 : 1;
	}
	return c->wanted[function] == 2;
}

static bool count_list_sample(const struct list_options *o, struct costs *c, uint32_t sample,
			      const struct profile_line *l, int64_t weight, bool leaf)
{
	struct profile_function f = profile_function(&o->view.p, l->function);
	struct line_key key = {f.name, f.file, l->line};
	bool fresh;
	uint32_t id = intern_add(&c->keys, &key, sizeof(key), &fresh);

	if (id == INTERN_FULL || !GROW(c->list, &c->cap, (size_t)id + 1, LIMIT_PROFILE_ENTRIES))
		return false;
	if (fresh)
		c->list[id] = (struct line_cost){.key = key};
	if (leaf)
		add_capped(&c->list[id].self, weight);
	if (c->list[id].seen != sample + 1)
		add_capped(&c->list[id].cum, weight);
	c->list[id].seen = sample + 1;
	return true;
}

static int count_list_lines(const struct list_options *o, struct costs *c, struct err *err)
{
	const struct profile *p = &o->view.p;
	bool ok = true;

	c->wanted = calloc(p->functions.count + 1, 1);
	if (!c->wanted)
		return err_no_memory(err);
	for (uint32_t i = 0; ok && i < p->samples.count; i++) {
		int64_t weight = profile_view_weight(&o->view, i);
		const uint32_t *locations;
		size_t n;

		add_capped(&c->total, weight);
		locations = profile_stack(p, profile_sample(p, i).stack, &n);
		for (size_t k = 0; ok && k < n; k++) {
			struct profile_location l = profile_location(p, locations[k]);

			for (size_t m = 0; ok && m < l.line_count; m++)
				if (is_wanted(o, c, l.lines[m].function))
					ok = count_list_sample(o, c, i, &l.lines[m], weight,
							       !k && !m);
		}
	}
	c->total = profile_view_whole(&o->view, c->total);
	return ok ? 0 : err_no_memory(err);
}

static int by_place(const void *x, const void *y)
{
	const struct line_cost *a = x, *b = y;

	if (a->key.name != b->key.name)
		return a->key.name < b->key.name ? -1 : 1;
	if (a->key.file != b->key.file)
		return a->key.file < b->key.file ? -1 : 1;
	return a->key.line < b->key.line ? -1 : a->key.line > b->key.line;
}

static void print_line(struct list_options *o, const struct costs *c, const struct line_cost *l,
		       struct profile_text file, uint32_t line, struct buf *out)
{
	const char *source;
	size_t len;

	if (l) {
		text_share(out, (double)l->self, (double)c->total);
		buf_str(out, "  ");
		text_share(out, (double)l->cum, (double)c->total);
	} else {
		buf_printf(out, "%7s  %7s", "", "");
	}
	buf_printf(out, "  %6u  ", line);
	if (source_line(&o->source, file.p, file.len, line, &source, &len))
		for (size_t i = 0; i < len;) {
			const char *tab = memchr(source + i, '\t', len - i);
			size_t n = tab ? (size_t)(tab - source) - i : len - i;

			text_append(out, source + i, n);
			if (tab)
				buf_str(out, "\t");
			i += n + (tab != NULL);
		}
	buf_str(out, "\n");
}

static void json_lines(const struct list_options *o, const struct line_cost *list, size_t count,
		       struct buf *out)
{
	for (size_t i = 0; i < count; i++) {
		struct profile_text name = profile_text(&o->view.p, list[i].key.name);
		struct profile_text file = profile_text(&o->view.p, list[i].key.file);

		json_open(out, '{');
		json_key_text(out, "function", name.p, name.len);
		json_key_text(out, "file", file.p, file.len);
		json_key_number(out, "line", list[i].key.line);
		json_key_number(out, "self", list[i].self);
		json_key_number(out, "cum", list[i].cum);
		json_close(out, '}');
		buf_str(out, "\n");
	}
}

/* Prints the lines of one function in one file. Line 0 stands for no line. */
static void print_function(struct list_options *o, const struct costs *c,
			   const struct line_cost *list, size_t count, struct buf *out)
{
	struct profile_text file = profile_text(&o->view.p, list[0].key.file);
	bool here = source_line(&o->source, file.p, file.len, 1, &(const char *){0}, &(size_t){0});
	uint32_t next = 0;

	profile_view_text(out, profile_text(&o->view.p, list[0].key.name));
	buf_str(out, "  ");
	profile_view_text(out, file);
	if (!file.len)
		buf_str(out, "[no file]");
	else if (!here)
		buf_str(out, " (not on this machine)");
	buf_str(out, "\n");
	for (size_t i = 0; i < count; i++) {
		uint32_t line = list[i].key.line;
		uint32_t from = i == 0 || next > line ? (line > AROUND ? line - AROUND : 1) : next;

		if (i && here && line > next && line - next > GAP_SHOWN) {
			for (uint32_t k = next; k < next + AROUND; k++)
				print_line(o, c, NULL, file, k, out);
			buf_printf(out, "%7s  %7s  %6s\n", "", "", "...");
			from = line - AROUND;
		}
		for (uint32_t k = from; here && line && k < line; k++)
			print_line(o, c, NULL, file, k, out);
		print_line(o, c, &list[i], file, line, out);
		next = line + 1;
	}
	for (uint32_t k = next; here && next > 1 && k < next + AROUND; k++)
		if (source_line(&o->source, file.p, file.len, k, &(const char *){0}, &(size_t){0}))
			print_line(o, c, NULL, file, k, out);
}

static int print_list(struct list_options *o, struct costs *c, struct buf *out, struct err *err)
{
	size_t n = c->keys.count;

	if (!n)
		return err_set(err, ERR_NOT_FOUND, "list: no function of the profile matches");
	qsort(c->list, n, sizeof(*c->list), by_place);
	if (o->view.json) {
		json_lines(o, c->list, n, out);
		return 0;
	}
	for (size_t i = 0; i < n;) {
		size_t end = i;

		while (end < n && c->list[end].key.name == c->list[i].key.name &&
		       c->list[end].key.file == c->list[i].key.file)
			end++;
		if (i)
			buf_str(out, "\n");
		print_function(o, c, c->list + i, end - i, out);
		i = end;
	}
	return 0;
}

static const struct option_row rows[] = {
	VIEW_DIFF_ROW(struct list_options, VIEW_DIFF_HELP),
	OPTION_ROWS(struct list_options, view, profile_view_rows),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack list",
	.synopsis = "[OPTIONS] REGEX DIR|FILE...",
	.about = "Prints, for each function whose name matches, its lines with two shares of all "
		 "samples: of those that end at the line (self) and of those that pass through it "
		 "(cum). Shows the source if the file is on this machine.",
	.rows = rows,
	.operands_min = 2,
	.operands_max = OPERANDS_ANY,
	.operands_wanted = "give a REGEX and a profile",
	.notes = FILTER_NOTES,
};

static int run_list(int argc, char **argv, struct err *err)
{
	_cleanup_(list_options_done) struct list_options o = {0};
	_cleanup_(costs_done) struct costs c = {
		.keys = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES)};
	_cleanup_(buf_done) struct buf out = BUF_INIT(GIB);
	struct operands operands;

	profile_view_init(&o.view);
	TRY(options_parse(&usage, argc, argv, &o, &operands, err));
	TRY(text_match_compile(&o.match, "list", operands.list[0], err));
	TRY(profile_view_read(&o.view, operands.list + 1, operands.count - 1, err));
	TRY(count_list_lines(&o, &c, err));
	TRY(print_list(&o, &c, &out, err));
	TRY(profile_view_print(&out, err));
	return profile_view_end(&o.view, err);
}

const struct command cmd_list = {
	.usage = &usage,
	.run = run_list,
	.summary = "show the source of a function with the cost of each line",
};
