/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_script.h"
#include "perf_script_head.h"

#include <stdio.h>
#include <string.h>

struct reader {
	struct profile *p;
	struct err *err;
	struct file_view *file;
	const char *at, *end;
	size_t line; /* number of the line that was read last, from 1 */

	/* found by the first pass */
	size_t samples;
	bool clocks, events_differ, no_times;
	struct profile_text event;

	/* the current sample */
	uint32_t labels;
	int64_t values[2];
	uint32_t stack[LIMIT_PROFILE_STACK];
	size_t depth;
	/* the sample's last location, whose frames are still gathered: inlined ones first */
	struct call {
		uint32_t name, file, line;
		bool is_name;
	} calls[LIMIT_INLINE_DEPTH + 1];
	size_t call_count;
	bool whole; /* the frame that is not inlined was read */
	uint32_t module;
	uint64_t address;

	uint64_t first_us, last_us;
};

static int perf_script_damaged(const struct reader *r, const char *what)
{
	return err_set(r->err, ERR_DATA, "perf script: line %zu: %s", r->line, what);
}

static bool next_script_line(struct reader *r, struct profile_text *ret)
{
	const char *nl;

	if (r->at == r->end)
		return false;
	nl = memchr(r->at, '\n', (size_t)(r->end - r->at));
	*ret = (struct profile_text){r->at, (size_t)((nl ? nl : r->end) - r->at)};
	r->at = nl ? nl + 1 : r->end;
	r->line++;
	if (r->file)
		file_view_pass(r->file, ret->len + 1);
	if (ret->len && ret->p[ret->len - 1] == '\r')
		ret->len--;
	return true;
}

/* --- frames ---------------------------------------------------------------------------------- */

static struct profile_text cut_front(struct profile_text t, size_t n)
{
	return (struct profile_text){t.p + n, t.len - n};
}

/* Splits off the last part in brackets, which may have brackets: "f (int) (/tmp/x (deleted))". */
static bool split_object(struct profile_text *name, struct profile_text *object)
{
	size_t depth = 0;

	if (!name->len || name->p[name->len - 1] != ')')
		return false;
	for (size_t i = name->len; i-- > 0;) {
		depth += name->p[i] == ')';
		depth -= name->p[i] == '(';
		if (depth)
			continue;
		*object = (struct profile_text){name->p + i + 1, name->len - i - 2};
		*name = perf_script_trim((struct profile_text){name->p, i});
		return true;
	}
	return false;
}

/* Cuts off "+0x1f", the offset in the function; no function has such a name. */
static struct profile_text without_offset(struct profile_text name)
{
	uint64_t v;

	for (size_t i = name.len; i-- > 1;) {
		struct profile_text hex = cut_front(name, i + 1);

		if (name.p[i] != '+')
			continue;
		if (hex.len > 2 && memcmp(hex.p, "0x", 2) == 0 &&
		    perf_script_number(cut_front(hex, 2), 16, &v))
			name.len = i;
		break;
	}
	return name;
}

static uint32_t module_of_script_frame(struct reader *r, struct profile_text object,
				       uint64_t address)
{
	struct profile_module m = {0};
	char name[256];

	if (!object.len || profile_text_is(object, "[unknown]"))
		return PROFILE_NONE;
	/* a kernel module: [nf_conntrack] */
	if (object.p[0] == '[' && (int64_t)address < 0 && object.len < sizeof(name) - 16 &&
	    memcmp(object.p, PROFILE_KERNEL_PREFIX, object.len < 7 ? object.len : 7) != 0) {
		int len = snprintf(name, sizeof(name), PROFILE_KERNEL_PREFIX ":%.*s",
				   (int)object.len - 1, object.p + 1);

		m.path = profile_string(r->p, name, (size_t)len);
	} else {
		m.path = profile_string(r->p, object.p, object.len);
	}
	return profile_add_module(r->p, &m);
}

/* Ends the location whose frames were gathered. */
static int end_script_location(struct reader *r)
{
	struct profile_line lines[ARRAY_LEN(r->calls)];

	if (!r->call_count)
		return 0;
	if (r->depth == ARRAY_LEN(r->stack))
		return perf_script_damaged(r, "too many frames");
	for (size_t i = 0; i < r->call_count; i++) {
		const struct call *c = &r->calls[i];
		struct profile_function f = {
			.name = c->name,
			.system_name = c->is_name ? c->name : 0,
			.file = c->file,
		};

		lines[i] = (struct profile_line){profile_add_function(r->p, &f), c->line};
	}
	r->stack[r->depth++] =
		profile_add_location(r->p, &(struct profile_location){.address = r->address,
								      .module = r->module,
								      .lines = lines,
								      .line_count = r->call_count});
	r->call_count = 0;
	return 0;
}

/* Reads a frame: "  92c1 name+0x21 (/path)". */
static int read_frame(struct reader *r, struct profile_text line)
{
	struct profile_text name = line, object = {"", 0};
	struct profile_text w = perf_script_word(&name);
	uint64_t address;
	struct call c;

	if (!perf_script_number(w, 16, &address))
		return perf_script_damaged(r, "neither a frame nor an empty line");
	name = perf_script_trim(name);
	split_object(&name, &object);
	name = without_offset(name);
	if (r->whole || address != r->address)
		TRY(end_script_location(r));
	if (r->call_count == ARRAY_LEN(r->calls))
		return perf_script_damaged(r, "too many inlined frames");
	r->address = address;
	r->whole = !profile_text_is(object, "inlined");
	r->module = r->whole ? module_of_script_frame(r, object, address) : PROFILE_NONE;
	c = (struct call){.is_name = name.len && !profile_is_placeholder(name)};
	if (!name.len || profile_text_is(name, "[unknown]"))
		c.name = profile_placeholder(r->p, r->module, address);
	else
		c.name = profile_string(r->p, name.p, name.len);
	r->calls[r->call_count++] = c;
	return 0;
}

/* Reads the line below a frame: "  mixer.cpp:9". */
static bool read_srcline(struct reader *r, struct profile_text line)
{
	struct profile_text t = perf_script_trim(line);
	size_t colon = t.len;
	uint64_t v;

	while (colon && t.p[colon - 1] != ':')
		colon--;
	if (colon < 2 || !r->call_count || !perf_script_number(cut_front(t, colon), 10, &v) ||
	    v > UINT32_MAX)
		return false;
	r->calls[r->call_count - 1].file = profile_string(r->p, t.p, colon - 1);
	r->calls[r->call_count - 1].line = (uint32_t)v;
	return true;
}

/* --- samples --------------------------------------------------------------------------------- */

static bool same_text(struct profile_text a, struct profile_text b)
{
	return a.len == b.len && memcmp(a.p, b.p, a.len) == 0;
}

static bool is_clock(struct profile_text event)
{
	return (event.len >= 9 && memcmp(event.p, "cpu-clock", 9) == 0) ||
	       (event.len >= 10 && memcmp(event.p, "task-clock", 10) == 0);
}

/* Returns whether a sample has the thread's name; perf writes ":4711" for an unknown one. */
static bool is_name(const struct perf_script_head *h)
{
	uint64_t id;

	return !(h->comm.len > 1 && h->comm.p[0] == ':' &&
		 perf_script_number(cut_front(h->comm, 1), 10, &id) &&
		 (id == h->tid || id == h->pid));
}

static uint32_t labels_of_head(struct reader *r, const struct perf_script_head *h)
{
	struct profile_label labels[3] = {0};
	size_t n = 0;

	if (is_name(h)) {
		labels[n].key = profile_cstr(r->p, "thread");
		labels[n++].text = profile_string(r->p, h->comm.p, h->comm.len);
	}
	labels[n].key = profile_cstr(r->p, h->has_pid ? "pid" : "tid");
	labels[n++].num = (int64_t)(h->has_pid ? h->pid : h->tid);
	if (r->events_differ) {
		labels[n].key = profile_cstr(r->p, "event");
		labels[n++].text = profile_string(r->p, h->event.p, h->event.len);
	}
	return profile_add_labels(r->p, labels, n);
}

static int begin_sample(struct reader *r, const struct perf_script_head *h)
{
	uint64_t period = h->has_period ? h->period : 1;

	r->labels = labels_of_head(r, h);
	r->values[0] = 1;
	r->values[1] = period > INT64_MAX ? INT64_MAX : (int64_t)period;
	r->depth = r->call_count = 0;
	if (h->has_time && !r->no_times) {
		r->first_us = h->time_us < r->first_us ? h->time_us : r->first_us;
		r->last_us = h->time_us > r->last_us ? h->time_us : r->last_us;
	}
	return h->frame.len ? read_frame(r, h->frame) : 0;
}

static int end_script_sample(struct reader *r)
{
	TRY(end_script_location(r));
	profile_add_sample(r->p, profile_add_stack(r->p, r->stack, r->depth), r->labels, r->values);
	return r->p->failed ? profile_full(r->p, r->err, "perf script") : 0;
}

/* Returns whether the text behind the event is a frame. Tracepoints print their fields there. */
static bool frame_behind(const struct perf_script_head *h)
{
	struct profile_text rest = h->frame, w = perf_script_word(&rest);
	uint64_t address;

	return perf_script_number(w, 16, &address) && h->frame.p[h->frame.len - 1] == ')';
}

static int read_script_sample(struct reader *r, struct perf_script_head *h)
{
	struct profile_text line;
	bool stack_follows;

	if (!frame_behind(h))
		h->frame.len = 0;
	stack_follows = !h->frame.len;
	TRY(begin_sample(r, h));
	while (stack_follows && next_script_line(r, &line)) {
		if (!perf_script_trim(line).len)
			break;
		if (!read_srcline(r, line))
			TRY(read_frame(r, line));
	}
	return end_script_sample(r);
}

static void note_sample(struct reader *r, const struct perf_script_head *h)
{
	struct profile_text line;

	if (!r->samples++) {
		r->event = h->event;
		r->clocks = true;
	}
	r->clocks &= is_clock(h->event) && h->has_period;
	r->events_differ |= !same_text(h->event, r->event);
	if (frame_behind(h))
		return;
	while (next_script_line(r, &line) && perf_script_trim(line).len)
		continue;
}

static bool says_no_times(struct profile_text line)
{
	static const char text[] = PERF_SCRIPT_NO_TIMES;

	return line.len == sizeof(text) - 1 && memcmp(line.p, text, sizeof(text) - 1) == 0;
}

static int walk_script(struct reader *r, bool note)
{
	struct profile_text line;
	struct perf_script_head h;

	r->line = 0;
	while (next_script_line(r, &line)) {
		if (!perf_script_trim(line).len || perf_script_trim(line).p[0] == '#') {
			r->no_times |= says_no_times(perf_script_trim(line));
			continue;
		}
		if (!perf_script_head_parse(line, &h))
			return perf_script_damaged(
				r, "not the head of a sample (thread, id, time, event)");
		if (note)
			note_sample(r, &h);
		else
			TRY(read_script_sample(r, &h));
	}
	return 0;
}

bool perf_script_is(const void *text, size_t len)
{
	struct reader r = {.at = text, .end = (const char *)text + len};
	struct profile_text line;
	struct perf_script_head h;

	while (next_script_line(&r, &line)) {
		if (!perf_script_trim(line).len || perf_script_trim(line).p[0] == '#')
			continue;
		return line.len < LIMIT_STRING_LEN && !memchr(line.p, 0, line.len) &&
		       perf_script_head_parse(line, &h);
	}
	return false;
}

static void free_reader(struct reader **r)
{
	free(*r);
}

int perf_script_read(struct file_view *text, struct profile *p, struct err *err)
{
	_cleanup_(free_reader) struct reader *r = calloc(1, sizeof(*r));

	if (!r)
		return err_no_memory(err);
	r->p = p;
	r->err = err;
	r->first_us = UINT64_MAX;
	r->file = text;
	r->at = (const char *)text->p;
	r->end = r->at + text->len;
	TRY(walk_script(r, true));
	if (!r->samples)
		return perf_script_damaged(r, "no samples");
	profile_value_type(p, "samples", "count");
	profile_value_type(p, r->clocks ? "cpu" : "period", r->clocks ? "nanoseconds" : "count");
	p->default_type = p->value_types[1].type;
	r->at = (const char *)text->p;
	TRY(walk_script(r, false));
	if (r->last_us > r->first_us)
		p->duration_ns = (int64_t)((r->last_us - r->first_us) * 1000);
	return 0;
}
