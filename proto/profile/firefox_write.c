/* SPDX-License-Identifier: Apache-2.0 */
#include "firefox_write.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "firefox_priv.h"
#include "json.h"
#include "thread_groups.h"

static const void *firefox_row(const struct intern *in, uint32_t i)
{
	size_t len;

	return intern_get(in, i, &len);
}

/* --- columns --------------------------------------------------------------------------------- */

typedef void cell_fn(struct firefox_writer *w, uint32_t i);

static int write_column(struct firefox_writer *w, const char *name, size_t count, cell_fn *cell,
			struct err *err)
{
	json_key(&w->out->buf, name);
	json_open(&w->out->buf, '[');
	for (uint32_t i = 0; i < count; i++) {
		cell(w, i);
		TRY(text_out_spill(w->out, err));
	}
	json_close(&w->out->buf, ']');
	return 0;
}

static void number_or_null(struct firefox_writer *w, uint32_t v, uint32_t none)
{
	if (v == none)
		json_null(&w->out->buf);
	else
		json_number(&w->out->buf, v);
}

static void cell_null(struct firefox_writer *w, uint32_t i)
{
	(void)i;
	json_null(&w->out->buf);
}

static void cell_zero(struct firefox_writer *w, uint32_t i)
{
	(void)i;
	json_number(&w->out->buf, 0);
}

static void cell_false(struct firefox_writer *w, uint32_t i)
{
	(void)i;
	json_bool(&w->out->buf, false);
}

static void cell_library(struct firefox_writer *w, uint32_t i)
{
	(void)i;
	json_number(&w->out->buf, 1); /* ResourceType "library" */
}

static void cell_index(struct firefox_writer *w, uint32_t i)
{
	json_number(&w->out->buf, i);
}

static void cell_string(struct firefox_writer *w, uint32_t i)
{
	size_t len;
	const void *p = intern_get(&w->strings, i, &len);

	json_text(&w->out->buf, p, len);
}

static void cell_source(struct firefox_writer *w, uint32_t i)
{
	json_number(&w->out->buf, *(const uint32_t *)firefox_row(&w->sources, i));
}

static void cell_module_name(struct firefox_writer *w, uint32_t i)
{
	uint32_t module = *(const uint32_t *)firefox_row(&w->modules, i);
	struct profile_text path = profile_text(w->p, w->p->modules[module].path);

	json_number(&w->out->buf, intern_find(&w->strings, path.p, path.len));
}

#define CELL(name, type, table, expression)                       \
	static void name(struct firefox_writer *w, uint32_t i)    \
	{                                                         \
		struct type r;                                    \
		memcpy(&r, firefox_row(&w->table, i), sizeof(r)); \
		expression;                                       \
	}                                                         \
	struct rawstack_swallow_semicolon

CELL(cell_func_name, func_row, funcs, json_number(&w->out->buf, r.name));
CELL(cell_func_source, func_row, funcs, number_or_null(w, r.source, NO_ROW));
CELL(cell_func_resource, func_row, funcs,
     json_number(&w->out->buf, r.resource == NO_ROW ? -1 : (int64_t)r.resource));
CELL(cell_frame_address, frame_row, frames, json_number(&w->out->buf, (int64_t)r.address));
CELL(cell_frame_depth, frame_row, frames, json_number(&w->out->buf, r.depth));
CELL(cell_frame_category, frame_row, frames, json_number(&w->out->buf, r.category));
CELL(cell_frame_func, frame_row, frames, json_number(&w->out->buf, r.func));
CELL(cell_frame_line, frame_row, frames, number_or_null(w, r.line, 0));
CELL(cell_stack_frame, stack_row, stacks, json_number(&w->out->buf, r.frame));
CELL(cell_stack_prefix, stack_row, stacks, number_or_null(w, r.prefix, NO_ROW));

struct column {
	const char *name;
	cell_fn *cell;
};

static int write_firefox_table(struct firefox_writer *w, const char *name, size_t rows,
			       const struct column *columns, struct err *err)
{
	json_key(&w->out->buf, name);
	json_open(&w->out->buf, '{');
	for (; columns->name; columns++)
		TRY(write_column(w, columns->name, rows, columns->cell, err));
	json_key_number(&w->out->buf, "length", (int64_t)rows);
	json_close(&w->out->buf, '}');
	return 0;
}

static int write_shared(struct firefox_writer *w, struct err *err)
{
	static const struct column stacks[] = {
		{"frame", cell_stack_frame}, {"prefix", cell_stack_prefix}, {0}};
	static const struct column frames[] = {
		{"address", cell_frame_address},
		{"inlineDepth", cell_frame_depth},
		{"category", cell_frame_category},
		{"subcategory", cell_zero},
		{"func", cell_frame_func},
		{"nativeSymbol", cell_null},
		{"innerWindowID", cell_zero},
		{"line", cell_frame_line},
		{"column", cell_null},
		{0},
	};
	static const struct column funcs[] = {
		{"isJS", cell_false},         {"relevantForJS", cell_false},
		{"name", cell_func_name},     {"resource", cell_func_resource},
		{"source", cell_func_source}, {"lineNumber", cell_null},
		{"columnNumber", cell_null},  {0},
	};
	static const struct column resources[] = {
		{"lib", cell_index},
		{"name", cell_module_name},
		{"host", cell_null},
		{"type", cell_library},
		{0},
	};
	static const struct column symbols[] = {
		{"libIndex", cell_null},
		{"address", cell_null},
		{"name", cell_null},
		{"functionSize", cell_null},
		{0},
	};
	static const struct column sources[] = {
		{"uuid", cell_null}, {"filename", cell_source}, {0}};

	json_key(&w->out->buf, "shared");
	json_open(&w->out->buf, '{');
	TRY(write_firefox_table(w, "stackTable", w->stacks.count, stacks, err));
	TRY(write_firefox_table(w, "frameTable", w->frames.count, frames, err));
	TRY(write_firefox_table(w, "funcTable", w->funcs.count, funcs, err));
	TRY(write_firefox_table(w, "resourceTable", w->modules.count, resources, err));
	TRY(write_firefox_table(w, "nativeSymbols", 0, symbols, err));
	TRY(write_firefox_table(w, "sources", w->sources.count, sources, err));
	TRY(write_column(w, "stringArray", w->strings.count, cell_string, err));
	json_close(&w->out->buf, '}');
	return 0;
}

/* --- meta, libraries, threads ---------------------------------------------------------------- */

static bool unit_is(const struct firefox_writer *w, const char *want)
{
	struct profile_text unit = profile_text(w->p, w->p->value_types[w->value].unit);

	return unit.len == strlen(want) && memcmp(unit.p, want, unit.len) == 0;
}

static void write_milliseconds(struct buf *out, const char *key, double ns)
{
	json_key(out, key);
	json_decimal(out, ns / 1e6);
}

static void write_category(struct buf *out, const char *name, const char *color)
{
	json_open(out, '{');
	json_key_cstr(out, "name", name);
	json_key_cstr(out, "color", color);
	json_key(out, "subcategories");
	json_open(out, '[');
	json_text(out, "Other", 5);
	json_close(out, ']');
	json_close(out, '}');
}

static void write_meta(struct firefox_writer *w, const char *title)
{
	struct buf *out = &w->out->buf;

	json_key(out, "meta");
	json_open(out, '{');
	write_milliseconds(out, "interval", w->p->period > 0 ? (double)w->p->period : 1e6);
	write_milliseconds(out, "startTime", (double)w->p->time_ns);
	json_key_number(out, "processType", 0);
	json_key_cstr(out, "product", title);
	json_key_number(out, "stackwalk", 1);
	json_key_number(out, "version", 27);
	json_key_number(out, "preprocessedProfileVersion", FIREFOX_VERSION);
	json_key_bool(out, "symbolicated", true);
	json_key_cstr(out, "importedFrom", "rawstack");
	json_key_bool(out, "usesOnlyOneStackType", true);
	json_key_bool(out, "sourceCodeIsNotOnSearchfox", true);
	json_key(out, "categories");
	json_open(out, '[');
	write_category(out, "Other", "grey");
	write_category(out, "User", "yellow");
	write_category(out, "Kernel", "orange");
	json_close(out, ']');
	json_key(out, "markerSchema");
	json_open(out, '[');
	json_close(out, ']');
	json_close(out, '}');
}

/* Writes Breakpad's form of a build id: the first 16 bytes as a GUID, whose first three fields are
 * little-endian, in upper case, and an age of 0. */
static void breakpad_id(struct profile_text hex, char ret[34])
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

	for (size_t i = 0; i < 32; i++) {
		size_t at = (size_t)2 * order[i / 2] + i % 2;

		ret[i] = at < hex.len ? (char)toupper((unsigned char)hex.p[at]) : '0';
	}
	memcpy(ret + 32, "0", 2);
}

static int write_libs(struct firefox_writer *w, struct err *err)
{
	struct buf *out = &w->out->buf;

	json_key(out, "libs");
	json_open(out, '[');
	for (uint32_t i = 0; i < w->modules.count; i++) {
		const struct profile_module *m =
			&w->p->modules[*(const uint32_t *)firefox_row(&w->modules, i)];
		struct profile_text path = profile_text(w->p, m->path), name = path;
		struct profile_text id = profile_text(w->p, m->build_id);
		const char *slash = memrchr(path.p, '/', path.len);
		char breakpad[34];

		if (slash) {
			name.p = slash + 1;
			name.len = (size_t)(path.p + path.len - name.p);
		}
		breakpad_id(id, breakpad);
		json_open(out, '{');
		json_key_cstr(out, "arch", "");
		json_key_text(out, "name", name.p, name.len);
		json_key_text(out, "path", path.p, path.len);
		json_key_text(out, "debugName", name.p, name.len);
		json_key_text(out, "debugPath", path.p, path.len);
		json_key_cstr(out, "breakpadId", breakpad);
		json_key_text(out, "codeId", id.p, id.len);
		json_close(out, '}');
		TRY(text_out_spill(w->out, err));
	}
	json_close(out, ']');
	return 0;
}

static bool has_weight(const struct firefox_writer *w, uint32_t sample)
{
	return profile_values(w->p, sample)[w->value] > 0;
}

static int write_firefox_samples(struct firefox_writer *w, const struct thread_group *g,
				 struct err *err)
{
	enum {
		STACK,
		TIME,
		WEIGHT,
		COLUMNS
	};
	static const char *const names[COLUMNS] = {"stack", "time", "weight"};
	struct buf *out = &w->out->buf;
	bool ns = unit_is(w, "nanoseconds");
	size_t count = 0;
	double step;

	for (size_t i = 0; i < g->count; i++)
		count += has_weight(w, g->samples[i]);
	step = count ? (double)w->p->duration_ns / (double)count : 0;
	json_key(out, "samples");
	json_open(out, '{');
	for (int c = STACK; c < COLUMNS; c++) {
		size_t n = 0;

		json_key(out, names[c]);
		json_open(out, '[');
		for (size_t i = 0; i < g->count; i++) {
			uint32_t sample = g->samples[i];
			int64_t weight = profile_values(w->p, sample)[w->value];

			if (weight <= 0)
				continue;
			if (c == STACK)
				number_or_null(w, w->stack_of[profile_sample(w->p, sample).stack],
					       NO_ROW);
			else if (c == WEIGHT && !ns)
				json_number(out, weight);
			else
				json_decimal(out,
					     (c == TIME ? step * (double)n : (double)weight) / 1e6);
			n++;
			TRY(text_out_spill(w->out, err));
		}
		json_close(out, ']');
	}
	json_key_cstr(out, "weightType",
		      ns                    ? "tracing-ms"
		      : unit_is(w, "bytes") ? "bytes"
					    : "samples");
	json_key_number(out, "length", (int64_t)count);
	json_close(out, '}');
	return 0;
}

/* Writes a thread id, which is text in this format. Every track needs an id of its own. */
static void write_id(struct buf *out, const char *key, int64_t id, size_t number)
{
	char text[32];

	if (id >= 0)
		snprintf(text, sizeof(text), "%" PRId64, id);
	else
		snprintf(text, sizeof(text), "track %zu", number);
	json_key_cstr(out, key, text);
}

static int write_firefox_thread(struct firefox_writer *w, const struct thread_group *g,
				size_t number, struct err *err)
{
	static const struct column markers[] = {
		{"data", cell_null},
		{"name", cell_null},
		{"startTime", cell_null},
		{"endTime", cell_null},
		{"phase", cell_null},
		{"category", cell_null},
		{0},
	};
	struct buf *out = &w->out->buf;

	json_open(out, '{');
	json_key_cstr(out, "processType", "default");
	json_key_number(out, "processStartupTime", 0);
	json_key(out, "processShutdownTime");
	json_null(out);
	json_key_number(out, "registerTime", 0);
	json_key(out, "unregisterTime");
	json_null(out);
	json_key(out, "pausedRanges");
	json_open(out, '[');
	json_close(out, ']');
	if (g->name.len)
		json_key_text(out, "name", g->name.p, g->name.len);
	else
		json_key_cstr(out, "name", "[thread]");
	json_key_bool(out, "isMainThread", g->tid < 0 || g->tid == g->pid);
	if (g->name.len)
		json_key_text(out, "processName", g->name.p, g->name.len);
	write_id(out, "pid", g->pid, number);
	write_id(out, "tid", g->tid >= 0 ? g->tid : g->pid, number);
	TRY(write_firefox_samples(w, g, err));
	TRY(write_firefox_table(w, "markers", 0, markers, err));
	json_close(out, '}');
	return 0;
}

int firefox_write(const struct profile *p, uint32_t value, const char *title, struct text_out *to,
		  struct err *err)
{
#define TABLE INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES)
	_cleanup_(firefox_tables_done) struct firefox_writer w = {
		.p = p,
		.out = to,
		.value = value,
		.strings = TABLE,
		.sources = TABLE,
		.modules = TABLE,
		.funcs = TABLE,
		.frames = TABLE,
		.stacks = TABLE,
		.walk = FRAMES_INIT(p),
	};
#undef TABLE
	_cleanup_(thread_groups_done) struct thread_groups g = {0};
	struct buf *out = &to->buf;

	TRY(firefox_tables_make(&w, err));
	TRY(thread_groups_make(&g, p, err));
	json_open(out, '{');
	write_meta(&w, title);
	TRY(write_libs(&w, err));
	json_key(out, "pages");
	json_open(out, '[');
	json_close(out, ']');
	json_key(out, "counters");
	json_open(out, '[');
	json_close(out, ']');
	TRY(write_shared(&w, err));
	json_key(out, "threads");
	json_open(out, '[');
	for (size_t i = 0; i < g.count; i++)
		TRY(write_firefox_thread(&w, &g.groups[i], i, err));
	json_close(out, ']');
	json_close(out, '}');
	buf_str(out, "\n");
	return text_out_end(to, err);
}
