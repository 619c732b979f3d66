/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_render.h"

#include <inttypes.h>
#include <string.h>

#include "json.h"
#include "pprof_write.h"

int sink_render_pprof(const struct profile *p, struct buf *out, struct err *err)
{
	return pprof_write(p, out, err);
}

/* --- JSON lines ------------------------------------------------------------------------------ */

static void key_string(struct buf *out, const char *key, const struct profile *p, uint32_t string)
{
	struct profile_text t = profile_text(p, string);

	if (t.len)
		json_key_text(out, key, t.p, t.len);
}

static void put_sink_frame(struct buf *out, const struct profile *p,
			   const struct profile_location *l, size_t line)
{
	struct profile_function f = {0};

	json_open(out, '{');
	if (line < l->line_count) {
		f = profile_function(p, l->lines[line].function);
		key_string(out, "function", p, f.name);
		key_string(out, "file", p, f.file);
		if (l->lines[line].line)
			json_key_number(out, "line", l->lines[line].line);
		if (line + 1 < l->line_count)
			json_key_bool(out, "inlined", true);
	}
	if (l->module != PROFILE_NONE) {
		key_string(out, "module", p, p->modules[l->module].path);
		key_string(out, "build_id", p, p->modules[l->module].build_id);
		json_key_hex(out, "address", l->address);
	}
	json_close(out, '}');
}

static void json_labels(struct buf *out, const struct profile *p, uint32_t labels)
{
	size_t count;
	const struct profile_label *l = profile_labels(p, labels, &count);

	json_key(out, "labels");
	json_open(out, '{');
	for (size_t i = 0; i < count; i++) {
		struct profile_text key = profile_text(p, l[i].key);
		struct profile_text text = profile_text(p, l[i].text);
		char name[64];

		if (key.len >= sizeof(name))
			continue;
		memcpy(name, key.p, key.len);
		name[key.len] = 0;
		if (l[i].text)
			json_key_text(out, name, text.p, text.len);
		else
			json_key_number(out, name, l[i].num);
	}
	json_close(out, '}');
}

static void json_sample(struct buf *out, const struct profile *p, uint32_t sample)
{
	struct profile_sample s = profile_sample(p, sample);
	const int64_t *values = profile_values(p, sample);
	const uint32_t *locations;
	size_t count;

	json_open(out, '{');
	json_key_number(out, "time_ns", p->time_ns);
	json_key_number(out, "duration_ns", p->duration_ns);
	for (uint32_t i = 0; i < p->value_count; i++) {
		struct profile_text type = profile_text(p, p->value_types[i].type);
		char name[64];

		if (type.len >= sizeof(name))
			continue;
		memcpy(name, type.p, type.len);
		name[type.len] = 0;
		json_key_number(out, name, values[i]);
	}
	json_labels(out, p, s.labels);
	json_key(out, "frames");
	json_open(out, '[');
	locations = profile_stack(p, s.stack, &count);
	for (size_t i = 0; i < count; i++) {
		struct profile_location l = profile_location(p, locations[i]);

		for (size_t k = 0; k < (l.line_count ? l.line_count : 1); k++)
			put_sink_frame(out, p, &l, k);
	}
	json_close(out, ']');
	json_close(out, '}');
	buf_str(out, "\n");
}

int sink_render_json(const struct profile *p, struct buf *out, struct err *err _unused_)
{
	for (uint32_t i = 0; i < p->samples.count && !out->failed; i++)
		json_sample(out, p, i);
	return 0;
}

/* --- folded stacks --------------------------------------------------------------------------- */

static void folded_text(struct buf *out, struct profile_text t)
{
	uint8_t *to = buf_extend(out, t.len);

	for (size_t i = 0; to && i < t.len; i++) {
		uint8_t c = (uint8_t)t.p[i];

		to[i] = c < 0x20 || c == 0x7f || c == ';' ? '?' : c;
	}
}

/* Appends the functions of a location. Stacks are root first, so its lines are reversed too. */
static void folded_location(struct buf *out, const struct profile *p, uint32_t location)
{
	struct profile_location l = profile_location(p, location);
	bool kernel = l.module != PROFILE_NONE && profile_is_kernel(p, l.module);

	for (size_t i = l.line_count; i-- > 0;) {
		struct profile_function f = profile_function(p, l.lines[i].function);

		buf_str(out, ";");
		folded_text(out, profile_text(p, f.name));
		if (kernel)
			buf_str(out, "_[k]");
		else if (i + 1 < l.line_count)
			buf_str(out, "_[i]");
	}
}

static void folded_sample(struct buf *out, const struct profile *p, uint32_t sample)
{
	struct profile_sample s = profile_sample(p, sample);
	const struct profile_label *labels;
	const uint32_t *locations;
	struct profile_text comm = {"?", 1};
	size_t count;

	labels = profile_labels(p, s.labels, &count);
	for (size_t i = 0; i < count; i++) {
		struct profile_text key = profile_text(p, labels[i].key);

		if (key.len == 6 && !memcmp(key.p, "thread", 6) && labels[i].text)
			comm = profile_text(p, labels[i].text);
	}
	folded_text(out, comm);
	locations = profile_stack(p, s.stack, &count);
	while (count-- > 0)
		folded_location(out, p, locations[count]);
	buf_printf(out, " %" PRId64 "\n", profile_values(p, sample)[0]);
}

int sink_render_folded(const struct profile *p, struct buf *out, struct err *err _unused_)
{
	for (uint32_t i = 0; i < p->samples.count && p->value_count && !out->failed; i++)
		folded_sample(out, p, i);
	return 0;
}
