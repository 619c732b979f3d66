/* SPDX-License-Identifier: Apache-2.0 */
#include "folded.h"

#include <inttypes.h>
#include <string.h>

#include "frames.h"
#include "text_out.h"

/* --- reading --------------------------------------------------------------------------------- */

struct line {
	struct profile_text stack;
	int64_t weight;
};

/* Parses a line "a;b;c 12". A name may contain blanks, so the weight is behind the last one. */
static bool parse_folded_line(struct profile_text t, struct line *ret)
{
	size_t end = t.len, digits;
	uint64_t v = 0;

	while (end && (t.p[end - 1] == '\r' || t.p[end - 1] == ' '))
		end--;
	for (digits = end; digits && t.p[digits - 1] >= '0' && t.p[digits - 1] <= '9';)
		digits--;
	if (digits == end || digits < 2 || t.p[digits - 1] != ' ')
		return false;
	for (size_t i = digits; i < end; i++)
		if (!CHECKED_MUL(v, 10, &v) || !CHECKED_ADD(v, (uint64_t)(t.p[i] - '0'), &v))
			return false;
	if (v > INT64_MAX)
		return false;
	*ret = (struct line){{t.p, digits - 1}, (int64_t)v};
	return true;
}

static bool next_folded_line(struct profile_text *rest, struct profile_text *ret)
{
	const char *nl;

	if (!rest->len)
		return false;
	nl = memchr(rest->p, '\n', rest->len);
	*ret = (struct profile_text){rest->p, nl ? (size_t)(nl - rest->p) : rest->len};
	rest->p += ret->len + (nl != NULL);
	rest->len -= ret->len + (nl != NULL);
	return true;
}

static bool is_blank_line(struct profile_text t)
{
	return !t.len || t.p[0] == '#' || (t.len == 1 && t.p[0] == '\r');
}

bool folded_is(const void *text, size_t len)
{
	struct profile_text rest = {text, len}, t;
	struct line line;

	while (next_folded_line(&rest, &t))
		if (!is_blank_line(t))
			return t.len < LIMIT_STRING_LEN && !memchr(t.p, 0, t.len) &&
			       parse_folded_line(t, &line);
	return false;
}

static bool text_ends_with(struct profile_text t, const char *end)
{
	size_t len = strlen(end);

	return t.len > len && memcmp(t.p + t.len - len, end, len) == 0;
}

/* A frame of the text: a location with one line, or one more line of an inlined call. */
struct call {
	uint32_t function, module;
	bool inlined;
};

static struct call parse_call(struct profile *p, struct profile_text t)
{
	struct call c = {.module = PROFILE_NONE};
	struct profile_module m = {.flags = PROFILE_HAS_FUNCTIONS};
	struct profile_function f = {0};

	if (text_ends_with(t, "_[k]"))
		m.path = profile_cstr(p, PROFILE_KERNEL_TEXT);
	else if (text_ends_with(t, "_[j]"))
		m.path = profile_cstr(p, "[jit]");
	c.inlined = text_ends_with(t, "_[i]");
	if (m.path || c.inlined)
		t.len -= 4;
	if (m.path)
		c.module = profile_add_module(p, &m);
	f.name = profile_string(p, t.p, t.len);
	f.system_name = profile_is_placeholder(t) ? 0 : f.name;
	c.function = profile_add_function(p, &f);
	return c;
}

struct stack {
	uint32_t locations[LIMIT_PROFILE_STACK]; /* root first; reversed at the end */
	size_t count;
	struct profile_line
		lines[LIMIT_INLINE_DEPTH + 1]; /* of the last location, outermost first */
	size_t line_count;
	uint32_t module;
};

static bool end_folded_location(struct profile *p, struct stack *s)
{
	struct profile_line lines[ARRAY_LEN(s->lines)];

	if (!s->line_count)
		return true;
	if (s->count == ARRAY_LEN(s->locations))
		return false;
	for (size_t i = 0; i < s->line_count; i++)
		lines[i] = s->lines[s->line_count - 1 - i];
	s->locations[s->count++] = profile_add_location(
		p, &(struct profile_location){
			   .module = s->module, .lines = lines, .line_count = s->line_count});
	s->line_count = 0;
	return true;
}

static bool read_stack(struct profile *p, struct profile_text t, struct stack *s)
{
	s->count = s->line_count = 0;
	for (;;) {
		const char *semicolon = memchr(t.p, ';', t.len);
		struct profile_text frame = {t.p, semicolon ? (size_t)(semicolon - t.p) : t.len};
		struct call c = parse_call(p, frame);

		if (!c.inlined || s->line_count == ARRAY_LEN(s->lines)) {
			if (!end_folded_location(p, s))
				return false;
			s->module = c.module;
		}
		if (!s->line_count && c.inlined)
			s->module = PROFILE_NONE;
		s->lines[s->line_count++] = (struct profile_line){c.function, 0};
		if (!semicolon)
			break;
		t.p += frame.len + 1;
		t.len -= frame.len + 1;
	}
	if (!end_folded_location(p, s))
		return false;
	for (size_t i = 0; i < s->count / 2; i++) {
		uint32_t l = s->locations[i];

		s->locations[i] = s->locations[s->count - 1 - i];
		s->locations[s->count - 1 - i] = l;
	}
	return true;
}

static void free_stack(struct stack **s)
{
	free(*s);
}

int folded_read(struct file_view *text, struct profile *p, struct err *err)
{
	_cleanup_(free_stack) struct stack *s = malloc(sizeof(*s));
	struct profile_text rest = {(const char *)text->p, text->len}, t;
	uint32_t labels = profile_add_labels(p, NULL, 0);
	size_t number = 0;

	if (!s)
		return err_no_memory(err);
	profile_value_type(p, "samples", "count");
	p->default_type = p->value_types[0].type;
	p->weight_unknown = true;
	while (next_folded_line(&rest, &t)) {
		struct line line;

		number++;
		file_view_pass(text, t.len + 1);
		if (is_blank_line(t))
			continue;
		if (!parse_folded_line(t, &line))
			return err_set(err, ERR_DATA,
				       "folded stacks: line %zu: no frames and a weight", number);
		if (!read_stack(p, line.stack, s))
			return err_set(err, ERR_LIMIT, "folded stacks: line %zu: too many frames",
				       number);
		profile_add_sample(p, profile_add_stack(p, s->locations, s->count), labels,
				   &line.weight);
		if (p->failed)
			return profile_full(p, err, "folded stacks: line %zu", number);
	}
	if (!p->samples.count)
		return err_set(err, ERR_DATA, "folded stacks: line %zu: no stacks", number);
	return 0;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Appends a name without semicolons, which would make two frames of it. */
static void append_folded_name(struct buf *to, struct profile_text t)
{
	size_t at = to->len;

	text_out_name(to, t.p, t.len);
	for (; at < to->len; at++)
		if (to->p[at] == ';')
			to->p[at] = ':';
}

static void append_separator(struct buf *to)
{
	if (to->len)
		buf_u8(to, ';');
}

static void append_thread(const struct profile *p, uint32_t set, struct buf *to)
{
	const struct profile_label *labels;
	size_t count;

	labels = profile_labels(p, set, &count);
	for (size_t i = 0; i < count; i++) {
		struct profile_text key = profile_text(p, labels[i].key);

		if (labels[i].text && key.len == 6 && memcmp(key.p, "thread", 6) == 0)
			append_folded_name(to, profile_text(p, labels[i].text));
	}
}

static void append_folded_stack(struct frames *f, uint32_t stack, bool marks, struct buf *to)
{
	struct frame frame;

	frames_begin(f, stack);
	while (frames_next(f, &frame)) {
		append_separator(to);
		append_folded_name(to, frame.name);
		if (!marks)
			continue;
		if (frame.inlined)
			buf_str(to, "_[i]");
		else if (frame.kernel)
			buf_str(to, "_[k]");
		else if (frame.module != PROFILE_NONE) {
			struct profile_text path =
				profile_text(f->p, f->p->modules[frame.module].path);

			if (path.len == 5 && memcmp(path.p, "[jit]", 5) == 0)
				buf_str(to, "_[j]");
		}
	}
	if (!to->len)
		buf_str(to, "[no stack]");
}

struct sums {
	struct intern lines;
	int64_t *weights;
	size_t cap;
	bool no_memory;
};

static void sums_done(struct sums *s)
{
	intern_done(&s->lines);
	free(s->weights);
}

static bool add_folded_weight(struct sums *s, const struct buf *line, int64_t weight)
{
	bool fresh;
	uint32_t id;

	s->no_memory = line->no_memory;
	if (line->failed)
		return false;
	/* The ceiling leaves room for one more than there are lines, so only memory can be out. */
	s->no_memory = !GROW(s->weights, &s->cap, s->lines.count + 1, LIMIT_PROFILE_ENTRIES + 1);
	if (s->no_memory)
		return false;
	id = intern_add(&s->lines, line->p, line->len, &fresh);
	s->no_memory = s->lines.no_memory;
	if (id == INTERN_FULL)
		return false;
	if (fresh)
		s->weights[id] = 0;
	if (!CHECKED_ADD(s->weights[id], weight, &s->weights[id]))
		s->weights[id] = INT64_MAX;
	return true;
}

int folded_write(const struct profile *p, uint32_t value, bool marks, struct text_out *out,
		 struct err *err)
{
	_cleanup_(sums_done) struct sums sums = {
		.lines = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES),
	};
	_cleanup_(buf_done) struct buf line = BUF_INIT(LIMIT_ROW_LEN);
	_cleanup_(frames_done) struct frames frames = FRAMES_INIT(p);
	int rc = 0;

	if (out->max && out->max < sums.lines.max_data)
		sums.lines.max_data = (size_t)out->max;
	for (uint32_t i = 0; i < p->samples.count; i++) {
		struct profile_sample s = profile_sample(p, i);
		int64_t weight = profile_values(p, i)[value];

		if (weight <= 0)
			continue;
		buf_reset(&line);
		append_thread(p, s.labels, &line);
		append_folded_stack(&frames, s.stack, marks, &line);
		if (!add_folded_weight(&sums, &line, weight))
			return !sums.no_memory && out->max
				       ? text_out_too_long(out, err)
				       : err_full(err, sums.no_memory,
						  "folded stacks: more than the limits of a "
						  "profile allow");
	}
	for (uint32_t i = 0; !rc && i < sums.lines.count; i++) {
		size_t len;
		const void *text = intern_get(&sums.lines, i, &len);

		buf_append(&out->buf, text, len);
		buf_printf(&out->buf, " %" PRId64 "\n", sums.weights[i]);
		rc = text_out_spill(out, err);
	}
	return rc ? rc : text_out_end(out, err);
}
