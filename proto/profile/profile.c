/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "limits.h"
#include "profile_priv.h"

/* The most modules of one profile: the binaries of a whole fleet. */
#define LIMIT_PROFILE_MODULES LIMIT(262144)

/* A location in its table: this head, then its lines. Keys are compared as bytes, so no struct that
 * is part of one has padding. */
struct location_key {
	uint64_t address;
	uint32_t module;
	uint16_t folded, is_return;
};

struct module_key {
	uint64_t start, file_off;
	uint32_t path, build_id;
};

_Static_assert(sizeof(struct location_key) == 16, "key without padding");
_Static_assert(sizeof(struct module_key) == 24, "key without padding");
_Static_assert(sizeof(struct profile_line) == 8, "key without padding");
_Static_assert(sizeof(struct profile_function) == 32, "key without padding");
_Static_assert(sizeof(struct profile_label) == 24, "key without padding");
_Static_assert(sizeof(struct profile_sample) == 8, "key without padding");

#define PAGE UINT64_C(4096)

void profile_init(struct profile *p)
{
	static const struct intern table = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES);

	memset(p, 0, sizeof(*p));
	p->strings = p->functions = p->locations = p->stacks = p->label_sets = p->samples = table;
	p->module_keys = p->segment_lists = table;
	p->segment_lists.max_count = LIMIT_PROFILE_MODULES;
	p->module_keys.max_count = LIMIT_PROFILE_MODULES;
	(void)profile_string(p, "", 0);
}

void profile_done(struct profile *p)
{
	intern_done(&p->strings);
	intern_done(&p->module_keys);
	intern_done(&p->segment_lists);
	intern_done(&p->functions);
	intern_done(&p->locations);
	intern_done(&p->stacks);
	intern_done(&p->label_sets);
	intern_done(&p->samples);
	free(p->modules);
	free(p->values);
	free(p->comments);
	memset(p, 0, sizeof(*p));
}

static uint32_t fail_profile(struct profile *p)
{
	p->failed = true;
	return PROFILE_NONE;
}

uint32_t profile_fail(struct profile *p, const char *what)
{
	p->full = p->failed ? p->full : what;
	return fail_profile(p);
}

uint32_t profile_fail_memory(struct profile *p)
{
	p->no_memory |= !p->failed;
	return fail_profile(p);
}

int profile_full(const struct profile *p, struct err *err, const char *what, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, what);
	vsnprintf(text, sizeof(text), what, ap);
	va_end(ap);
	if (p->no_memory)
		return err_set(err, ERR_MEMORY, "%s: out of memory", text);
	return err_set(err, ERR_LIMIT, "%s: %s", text,
		       p->full ? p->full : "more than the limits of a profile allow");
}

static uint32_t add_profile_key(struct profile *p, struct intern *table, const void *key,
				size_t len)
{
	uint32_t id = p->failed ? PROFILE_NONE : intern_add(table, key, len, NULL);

	if (id != INTERN_FULL)
		return id;
	return table->no_memory ? profile_fail_memory(p) : fail_profile(p);
}

uint32_t profile_string(struct profile *p, const void *text, size_t len)
{
	if (len > LIMIT_PROFILE_STRING)
		return profile_fail(p, PROFILE_LONG_NAME);
	return add_profile_key(p, &p->strings, text, len);
}

uint32_t profile_cstr(struct profile *p, const char *text)
{
	return profile_string(p, text, strlen(text));
}

void profile_value_type(struct profile *p, const char *type, const char *unit)
{
	assert(!p->samples.count);
	if (p->value_count == LIMIT_PROFILE_VALUES) {
		fail_profile(p);
		return;
	}
	p->value_types[p->value_count++] =
		(struct profile_value_type){profile_cstr(p, type), profile_cstr(p, unit)};
}

/* Adds a list of segments. No room is no failure, because a profile is of use without segments. */
static uint32_t add_profile_segments(struct profile *p, const void *rows, size_t len)
{
	uint32_t id = len ? intern_add(&p->segment_lists, rows, len, NULL) : INTERN_FULL;

	return id == INTERN_FULL ? 0 : id + 1;
}

uint32_t profile_segments(struct profile *p, const struct file_segment *rows, size_t count)
{
	return add_profile_segments(p, rows, count * sizeof(*rows));
}

uint32_t profile_copy_segments(struct profile *into, const struct profile *from, uint32_t segments)
{
	size_t len = 0;
	const void *rows = segments ? intern_get(&from->segment_lists, segments - 1, &len) : NULL;

	return add_profile_segments(into, rows, len);
}

const struct file_segment *profile_module_segments(const struct profile *p, uint32_t module,
						   size_t *ret_count)
{
	const uint32_t segments = p->modules[module].segments;
	size_t len = 0;
	const void *rows = segments ? intern_get(&p->segment_lists, segments - 1, &len) : NULL;

	*ret_count = len / sizeof(struct file_segment);
	return rows;
}

uint32_t profile_add_module(struct profile *p, const struct profile_module *m)
{
	struct module_key key = {m->start, m->file_off, m->path, m->build_id};
	size_t known = p->module_keys.count;
	uint32_t id = add_profile_key(p, &p->module_keys, &key, sizeof(key));

	if (id == PROFILE_NONE)
		return id;
	if (id == known) {
		if (!GROW(p->modules, &p->modules_cap, known + 1, LIMIT_PROFILE_MODULES))
			return known < LIMIT_PROFILE_MODULES ? profile_fail_memory(p)
							     : fail_profile(p);
		p->modules[id] = *m;
		return id;
	}
	if (!p->modules[id].segments)
		p->modules[id].segments = m->segments;
	if (m->limit > p->modules[id].limit)
		p->modules[id].limit = m->limit;
	p->modules[id].flags |= m->flags;
	return id;
}

void profile_module_mark(struct profile *p, uint32_t module, uint32_t flags)
{
	if (module < p->module_keys.count)
		p->modules[module].flags |= flags;
}

uint32_t profile_add_function(struct profile *p, const struct profile_function *f)
{
	return add_profile_key(p, &p->functions, f, sizeof(*f));
}

size_t profile_location_len(const struct profile_location *l)
{
	return sizeof(struct location_key) + l->line_count * sizeof(*l->lines);
}

void profile_location_key(const struct profile_location *l, uint8_t *key)
{
	struct location_key head = {l->address, l->module, l->folded, l->is_return};

	memcpy(key, &head, sizeof(head));
	if (l->line_count)
		memcpy(key + sizeof(head), l->lines, l->line_count * sizeof(*l->lines));
}

void profile_module_widen(struct profile *p, const struct profile_location *l)
{
	struct profile_module *m;

	if (l->module >= p->module_keys.count) /* PROFILE_NONE, too */
		return;
	m = &p->modules[l->module];
	if (l->address >= m->limit)
		m->limit =
			l->address > UINT64_MAX - PAGE ? UINT64_MAX : (l->address | (PAGE - 1)) + 1;
}

uint32_t profile_add_location(struct profile *p, const struct profile_location *l)
{
	uint8_t small[sizeof(struct location_key) + 32 * sizeof(struct profile_line)];
	_cleanup_(freep) uint8_t *large = NULL;
	size_t len = profile_location_len(l);
	uint8_t *key = small;

	if (l->line_count > LIMIT_INLINE_DEPTH + 1)
		return fail_profile(p);
	if (len > sizeof(small)) {
		large = malloc(len);
		if (!large)
			return profile_fail_memory(p);
		key = large;
	}
	profile_location_key(l, key);
	profile_module_widen(p, l);
	return add_profile_key(p, &p->locations, key, len);
}

uint32_t profile_add_stack(struct profile *p, const uint32_t *locations, size_t count)
{
	if (count > LIMIT_PROFILE_STACK)
		return profile_fail(p, PROFILE_DEEP_STACK);
	return add_profile_key(p, &p->stacks, locations, count * sizeof(*locations));
}

uint32_t profile_add_labels(struct profile *p, const struct profile_label *labels, size_t count)
{
	if (count > LIMIT_PROFILE_LABELS)
		return fail_profile(p);
	return add_profile_key(p, &p->label_sets, labels, count * sizeof(*labels));
}

static int64_t saturating_sum(int64_t a, int64_t b)
{
	int64_t s;

	if (CHECKED_ADD(a, b, &s))
		return s;
	return b > 0 ? INT64_MAX : INT64_MIN;
}

void profile_put_values(struct profile *p, uint32_t sample, bool is_new, const int64_t *values)
{
	size_t n = p->value_count, at = sample * n;

	if (is_new && n &&
	    !GROW(p->values, &p->values_cap, at + n, LIMIT_PROFILE_BYTES / sizeof(*p->values))) {
		if (at + n <= LIMIT_PROFILE_BYTES / sizeof(*p->values))
			profile_fail_memory(p);
		fail_profile(p);
		return;
	}
	for (size_t i = 0; i < n; i++)
		p->values[at + i] =
			is_new ? values[i] : saturating_sum(p->values[at + i], values[i]);
}

uint32_t profile_add_sample(struct profile *p, uint32_t stack, uint32_t labels,
			    const int64_t *values)
{
	struct profile_sample key = {stack, labels};
	size_t known = p->samples.count;
	uint32_t id;

	if (stack == PROFILE_NONE || labels == PROFILE_NONE)
		return fail_profile(p);
	id = add_profile_key(p, &p->samples, &key, sizeof(key));
	if (id == PROFILE_NONE)
		return id;
	profile_put_values(p, id, id == known, values);
	return p->failed ? PROFILE_NONE : id;
}

void profile_add_time(struct profile *p, int64_t time_ns, int64_t duration_ns)
{
	if (time_ns && (!p->time_ns || time_ns < p->time_ns))
		p->time_ns = time_ns;
	if (!CHECKED_ADD(p->duration_ns, duration_ns, &p->duration_ns))
		p->duration_ns = INT64_MAX;
}

void profile_comment_string(struct profile *p, uint32_t string)
{
	if (string == PROFILE_NONE)
		return;
	for (size_t i = 0; i < p->comment_count; i++)
		if (p->comments[i] == string)
			return;
	/* Comments are for people, so a merge of thousands of files keeps only the first ones. */
	if (p->comment_count == LIMIT_PROFILE_COMMENTS)
		return;
	if (!GROW(p->comments, &p->comments_cap, p->comment_count + 1, LIMIT_PROFILE_COMMENTS)) {
		profile_fail_memory(p);
		return;
	}
	p->comments[p->comment_count++] = string;
}

void profile_comment(struct profile *p, const char *fmt, ...)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(LIMIT_STRING_LEN);
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	profile_comment_string(p, profile_string(p, text.p, text.len));
}

uint32_t profile_placeholder(struct profile *p, uint32_t module, uint64_t address)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(LIMIT_STRING_LEN + 32);
	struct profile_text path;

	if (module == PROFILE_NONE || module >= p->module_keys.count) {
		buf_printf(&text, "[0x%" PRIx64 "]", address);
	} else {
		path = profile_text(p, p->modules[module].path);
		buf_append(&text, path.p, path.len);
		buf_printf(&text, "+0x%" PRIx64, address);
	}
	if (text.failed)
		return text.no_memory ? profile_fail_memory(p) : fail_profile(p);
	return profile_string(p, text.p, text.len);
}

/* --- reading --------------------------------------------------------------------------------- */

struct profile_text profile_text(const struct profile *p, uint32_t string)
{
	struct profile_text t;

	t.p = intern_get(&p->strings, string, &t.len);
	return t;
}

struct profile_function profile_function(const struct profile *p, uint32_t function)
{
	struct profile_function f;

	memcpy(&f, intern_get(&p->functions, function, NULL), sizeof(f));
	return f;
}

struct profile_location profile_location(const struct profile *p, uint32_t location)
{
	size_t len;
	/* Keys of the table are multiples of 8 bytes, so its rows are aligned. */
	const struct location_key *key = intern_get(&p->locations, location, &len);

	return (struct profile_location){
		.address = key->address,
		.module = key->module,
		.folded = key->folded,
		.is_return = key->is_return,
		.lines = (const void *)(key + 1),
		.line_count = (len - sizeof(*key)) / sizeof(struct profile_line),
	};
}

const uint32_t *profile_stack(const struct profile *p, uint32_t stack, size_t *ret_count)
{
	const uint32_t *locations = intern_get(&p->stacks, stack, ret_count);

	*ret_count /= sizeof(*locations);
	return locations;
}

const struct profile_label *profile_labels(const struct profile *p, uint32_t labels,
					   size_t *ret_count)
{
	const struct profile_label *l = intern_get(&p->label_sets, labels, ret_count);

	*ret_count /= sizeof(*l);
	return l;
}

struct profile_sample profile_sample(const struct profile *p, uint32_t sample)
{
	struct profile_sample s;

	memcpy(&s, intern_get(&p->samples, sample, NULL), sizeof(s));
	return s;
}

const int64_t *profile_values(const struct profile *p, uint32_t sample)
{
	assert(sample < p->samples.count);
	return p->values + (size_t)sample * p->value_count;
}

bool profile_text_is(struct profile_text t, const char *s)
{
	return t.len == strlen(s) && memcmp(t.p, s, t.len) == 0;
}

uint32_t profile_value_index(const struct profile *p, const char *type)
{
	for (uint32_t i = 0; i < p->value_count; i++)
		if (profile_text_is(profile_text(p, p->value_types[i].type), type))
			return i;
	return PROFILE_NONE;
}

bool profile_is_placeholder(struct profile_text name)
{
	size_t i = name.len;

	if (!name.len)
		return true;
	if (name.p[0] == '[' && name.p[name.len - 1] == ']')
		return true;
	while (i && is_lower_hex(name.p[i - 1]))
		i--;
	return i < name.len && i >= 3 && memcmp(name.p + i - 3, "+0x", 3) == 0;
}

bool profile_is_kernel(const struct profile *p, uint32_t module)
{
	static const char prefix[] = PROFILE_KERNEL_PREFIX;
	struct profile_text path;

	if (module >= p->module_keys.count)
		return false;
	path = profile_text(p, p->modules[module].path);
	return path.len >= sizeof(prefix) - 1 && memcmp(path.p, prefix, sizeof(prefix) - 1) == 0;
}

bool profile_is_unnamed(const struct profile *p, const struct profile_location *l)
{
	struct profile_text name;

	if (l->module == PROFILE_NONE || l->line_count > 1)
		return false;
	if (!l->line_count)
		return true;
	name = profile_text(p, profile_function(p, l->lines[0].function).name);
	return name.len && name.p[name.len - 1] != ']' && profile_is_placeholder(name);
}
