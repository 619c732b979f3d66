/* SPDX-License-Identifier: Apache-2.0 */
#include "speedscope_write.h"

#include <inttypes.h>

#include "frames.h"
#include "function_set.h"
#include "json.h"
#include "thread_groups.h"

struct writer {
	const struct profile *p;
	struct text_out *out;
	uint32_t value;
	struct function_set functions;
	struct intern frames; /* function of the set, or name without one -> shared frame */
	struct frames walk;
	struct buf key;
};

static void speedscope_writer_done(struct writer *w)
{
	function_set_done(&w->functions);
	intern_done(&w->frames);
	frames_done(&w->walk);
	buf_done(&w->key);
}

/* Returns the shared frame of a call, or INTERN_FULL when there are too many. */
static uint32_t frame_number(struct writer *w, const struct frame *f, bool *fresh)
{
	buf_reset(&w->key);
	if (f->function != PROFILE_NONE && profile_function(w->p, f->function).name) {
		const uint32_t id = function_set_of(&w->functions, f->function, f->module);

		buf_u8(&w->key, 1);
		buf_append(&w->key, &id, sizeof(id));
	} else {
		buf_u8(&w->key, 0);
		buf_append(&w->key, f->name.p, f->name.len);
	}
	return w->key.failed ? INTERN_FULL : intern_add(&w->frames, w->key.p, w->key.len, fresh);
}

static int write_frames(struct writer *w, struct err *err)
{
	struct buf *out = &w->out->buf;
	struct frame f;

	json_key(out, "shared");
	json_open(out, '{');
	json_key(out, "frames");
	json_open(out, '[');
	for (uint32_t i = 0; i < w->p->samples.count; i++) {
		frames_begin(&w->walk, profile_sample(w->p, i).stack);
		while (frames_next(&w->walk, &f)) {
			bool fresh;

			if (frame_number(w, &f, &fresh) == INTERN_FULL)
				return err_set(err, ERR_LIMIT, "speedscope: too many functions");
			if (!fresh)
				continue;
			json_open(out, '{');
			json_key_text(out, "name", f.name.p, f.name.len);
			if (f.file.len)
				json_key_text(out, "file", f.file.p, f.file.len);
			if (f.line)
				json_key_number(out, "line", f.line);
			json_close(out, '}');
		}
		TRY(text_out_spill(w->out, err));
	}
	json_close(out, ']');
	json_close(out, '}');
	return 0;
}

static const char *unit_of(const struct profile *p, uint32_t value)
{
	static const char *const known[] = {"nanoseconds", "microseconds", "milliseconds",
					    "seconds", "bytes"};
	struct profile_text unit = profile_text(p, p->value_types[value].unit);

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (unit.len == strlen(known[i]) && memcmp(unit.p, known[i], unit.len) == 0)
			return known[i];
	return "none";
}

static int64_t weight_of(const struct writer *w, uint32_t sample)
{
	int64_t v = profile_values(w->p, sample)[w->value];

	return v > 0 ? v : 0;
}

static void write_name(struct buf *out, const struct thread_group *g)
{
	_cleanup_(buf_done) struct buf name = BUF_INIT(LIMIT_STRING_LEN + 64);

	buf_append(&name, g->name.p, g->name.len);
	if (g->pid >= 0)
		buf_printf(&name, "%spid %" PRId64, name.len ? ", " : "", g->pid);
	if (g->tid >= 0)
		buf_printf(&name, "%stid %" PRId64, name.len ? ", " : "", g->tid);
	json_key_text(out, "name", name.p, name.len);
}

static int write_speedscope_samples(struct writer *w, const struct thread_group *g, struct err *err)
{
	struct buf *out = &w->out->buf;
	struct frame f;
	int rc = 0;

	json_key(out, "samples");
	json_open(out, '[');
	for (size_t i = 0; !rc && i < g->count; i++) {
		if (!weight_of(w, g->samples[i]))
			continue;
		json_open(out, '[');
		frames_begin(&w->walk, profile_sample(w->p, g->samples[i]).stack);
		while (frames_next(&w->walk, &f))
			json_number(out, frame_number(w, &f, NULL));
		json_close(out, ']');
		rc = text_out_spill(w->out, err);
	}
	json_close(out, ']');
	json_key(out, "weights");
	json_open(out, '[');
	for (size_t i = 0; !rc && i < g->count; i++) {
		if (!weight_of(w, g->samples[i]))
			continue;
		json_number(out, weight_of(w, g->samples[i]));
		rc = text_out_spill(w->out, err);
	}
	json_close(out, ']');
	return rc;
}

static int write_speedscope_thread(struct writer *w, const struct thread_group *g, struct err *err)
{
	struct buf *out = &w->out->buf;
	int64_t sum = 0;
	int rc;

	for (size_t i = 0; i < g->count; i++)
		if (!CHECKED_ADD(sum, weight_of(w, g->samples[i]), &sum))
			sum = INT64_MAX;
	json_open(out, '{');
	json_key_cstr(out, "type", "sampled");
	write_name(out, g);
	json_key_cstr(out, "unit", unit_of(w->p, w->value));
	json_key_number(out, "startValue", 0);
	json_key_number(out, "endValue", sum);
	rc = write_speedscope_samples(w, g, err);
	json_close(out, '}');
	return rc;
}

int speedscope_write(const struct profile *p, uint32_t value, const char *title,
		     struct text_out *to, struct err *err)
{
	_cleanup_(speedscope_writer_done) struct writer w = {
		.p = p,
		.out = to,
		.value = value,
		.frames = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES),
		.walk = FRAMES_INIT(p),
		.key = BUF_INIT(2 * LIMIT_STRING_LEN + 64),
	};
	_cleanup_(thread_groups_done) struct thread_groups g = {0};
	struct buf *out = &to->buf;

	TRY(thread_groups_make(&g, p, err));
	TRY(function_set_make(&w.functions, p, err));
	json_open(out, '{');
	json_key_cstr(out, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_key_cstr(out, "exporter", "rawstack");
	json_key_cstr(out, "name", title);
	json_key_number(out, "activeProfileIndex", 0);
	TRY(write_frames(&w, err));
	json_key(out, "profiles");
	json_open(out, '[');
	for (size_t i = 0; i < g.count; i++)
		TRY(write_speedscope_thread(&w, &g.groups[i], err));
	json_close(out, ']');
	json_close(out, '}');
	buf_str(out, "\n");
	return text_out_end(to, err);
}
