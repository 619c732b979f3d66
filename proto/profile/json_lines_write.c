/* SPDX-License-Identifier: Apache-2.0 */
#include "json_lines_write.h"

#include "frames.h"
#include "json.h"

static void write_key(struct buf *out, struct profile_text key)
{
	json_text(out, key.p, key.len);
	buf_u8(out, ':');
}

static void write_values(const struct profile *p, uint32_t sample, struct buf *out)
{
	json_key(out, "values");
	json_open(out, '{');
	for (uint32_t i = 0; i < p->value_count; i++) {
		write_key(out, profile_text(p, p->value_types[i].type));
		json_number(out, profile_values(p, sample)[i]);
	}
	json_close(out, '}');
}

static void write_labels(const struct profile *p, uint32_t set, struct buf *out)
{
	const struct profile_label *labels;
	size_t count;

	labels = profile_labels(p, set, &count);
	json_key(out, "labels");
	json_open(out, '{');
	for (size_t i = 0; i < count; i++) {
		struct profile_text t = profile_text(p, labels[i].text);

		write_key(out, profile_text(p, labels[i].key));
		if (t.len)
			json_text(out, t.p, t.len);
		else
			json_number(out, labels[i].num);
	}
	json_close(out, '}');
}

static void write_frame(const struct profile *p, const struct frame *f, struct buf *out)
{
	json_open(out, '{');
	json_key_text(out, "function", f->name.p, f->name.len);
	if (profile_is_placeholder(f->name))
		json_key_bool(out, "named", false);
	if (f->file.len)
		json_key_text(out, "file", f->file.p, f->file.len);
	if (f->line)
		json_key_number(out, "line", f->line);
	if (f->inlined)
		json_key_bool(out, "inlined", true);
	if (f->module != PROFILE_NONE) {
		struct profile_text path = profile_text(p, p->modules[f->module].path);
		struct profile_text id = profile_text(p, p->modules[f->module].build_id);

		json_key_text(out, "module", path.p, path.len);
		if (id.len)
			json_key_text(out, "build_id", id.p, id.len);
	}
	json_key_hex(out, "address", f->address);
	json_close(out, '}');
}

/* The frames of a stack as text, in pieces. They come root first and are written in reverse. */
struct pieces {
	struct buf text;
	size_t *starts;
	size_t count, cap;
};

static void pieces_done(struct pieces *s)
{
	buf_done(&s->text);
	free(s->starts);
}

static bool write_stack(struct frames *walk, uint32_t stack, struct pieces *s, struct buf *out)
{
	struct frame f;
	size_t end;

	buf_reset(&s->text);
	s->count = 0;
	frames_begin(walk, stack);
	while (frames_next(walk, &f)) {
		if (!GROW(s->starts, &s->cap, s->count + 1, LIMIT_ROW_LEN))
			return false;
		buf_u8(&s->text, ' '); /* a byte after which json.c writes no comma */
		s->starts[s->count++] = s->text.len;
		write_frame(walk->p, &f, &s->text);
	}
	json_key(out, "stack");
	json_open(out, '[');
	end = s->text.len;
	for (size_t i = s->count; i-- > 0;) {
		if (i + 1 < s->count)
			buf_u8(out, ',');
		buf_append(out, s->text.p + s->starts[i], end - s->starts[i]);
		end = s->starts[i] - 1;
	}
	json_close(out, ']');
	return !s->text.failed;
}

int json_lines_write(const struct profile *p, struct text_out *to, struct err *err)
{
	_cleanup_(pieces_done) struct pieces pieces = {.text = BUF_INIT(LIMIT_ROW_LEN)};
	_cleanup_(frames_done) struct frames walk = FRAMES_INIT(p);
	struct buf *out = &to->buf;

	for (uint32_t i = 0; i < p->samples.count; i++) {
		struct profile_sample s = profile_sample(p, i);

		json_open(out, '{');
		write_values(p, i, out);
		write_labels(p, s.labels, out);
		if (!write_stack(&walk, s.stack, &pieces, out))
			return err_set(err, ERR_LIMIT, "json: a stack is too long");
		json_close(out, '}');
		buf_str(out, "\n");
		TRY(text_out_spill(to, err));
	}
	return text_out_end(to, err);
}
