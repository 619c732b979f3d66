/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "frames.h"
#include "limits.h"
#include "perf_script.h"
#include "text_out.h"

/* Records that any profile may be written as; above it LIMIT_SCRIPT_PER_ROW is the limit. */
#define LIMIT_SCRIPT_FREE LIMIT(65536)

#define HEAD_LEN 128 /* of a record, roughly */

struct writer {
	const struct profile *p;
	struct text_out *out;
	uint32_t count_value, weight_value; /* rows of value_types, or PROFILE_NONE */
	struct profile_text event;          /* used for rows without that label */
	uint64_t records, written;          /* in all; so far: the records share the duration */
	bool one_each;                      /* one record for each row, whatever it counts */

	/* frames of one stack, root first; a name is copied, as the next frame overwrites it */
	struct buf lines;
	size_t *starts;
	size_t starts_cap, start_count;
};

static void script_writer_done(struct writer *w)
{
	buf_done(&w->lines);
	free(w->starts);
}

static void append_script_text(struct buf *out, struct profile_text t)
{
	text_out_name(out, t.p, t.len);
}

static struct profile_text label_of_set(const struct profile *p, uint32_t set, const char *key,
					int64_t *ret_num)
{
	const struct profile_label *labels;
	size_t count;

	labels = profile_labels(p, set, &count);
	for (size_t i = 0; i < count; i++) {
		struct profile_text k = profile_text(p, labels[i].key);

		if (k.len != strlen(key) || memcmp(k.p, key, k.len) != 0)
			continue;
		*ret_num = labels[i].num;
		return profile_text(p, labels[i].text);
	}
	return (struct profile_text){"", 0};
}

/* --- a stack --------------------------------------------------------------------------------- */

static void append_script_frame(struct writer *w, const struct frame *frame)
{
	struct buf *to = &w->lines;
	struct profile_text path = {"[unknown]", 9};
	bool unnamed = profile_is_placeholder(frame->name) && frame->module != PROFILE_NONE;

	if (frame->module != PROFILE_NONE)
		path = profile_text(w->p, w->p->modules[frame->module].path);
	buf_printf(to, "\t%16" PRIx64 " ", frame->address);
	append_script_text(to, unnamed ? (struct profile_text){"[unknown]", 9} : frame->name);
	buf_str(to, " (");
	if (frame->inlined)
		buf_str(to, "inlined");
	else
		append_script_text(to, path);
	buf_str(to, ")\n");
	if (frame->file.len && frame->line) {
		buf_str(to, "  ");
		append_script_text(to, frame->file);
		buf_printf(to, ":%u\n", frame->line);
	}
}

/* Gathers the frames of a stack. perf prints the leaf first. */
static bool gather_stack(struct writer *w, uint32_t stack)
{
	struct frames f = FRAMES_INIT(w->p);
	struct frame frame;
	bool ok = true;

	buf_reset(&w->lines);
	w->start_count = 0;
	frames_begin(&f, stack);
	while (ok && frames_next(&f, &frame)) {
		ok = GROW(w->starts, &w->starts_cap, w->start_count + 1, LIMIT_PROFILE_STACK * 64);
		if (!ok)
			break;
		w->starts[w->start_count++] = w->lines.len;
		append_script_frame(w, &frame);
	}
	frames_done(&f);
	return ok && !w->lines.failed;
}

static void append_script_stack(struct writer *w)
{
	size_t end = w->lines.len;

	for (size_t i = w->start_count; i-- > 0;) {
		buf_append(&w->out->buf, w->lines.p + w->starts[i], end - w->starts[i]);
		end = w->starts[i];
	}
	buf_str(&w->out->buf, "\n");
}

/* --- samples --------------------------------------------------------------------------------- */

static void append_head(struct writer *w, uint32_t labels, int64_t weight)
{
	struct buf *out = &w->out->buf;
	struct profile_text thread, event;
	int64_t pid = -1, tid = -1, none;
	uint64_t us = 0;

	thread = label_of_set(w->p, labels, "thread", &none);
	event = label_of_set(w->p, labels, "event", &none);
	label_of_set(w->p, labels, "pid", &pid);
	label_of_set(w->p, labels, "tid", &tid);
	if (thread.len)
		append_script_text(out, thread);
	else
		buf_printf(out, ":%" PRId64, tid >= 0 ? tid : pid >= 0 ? pid : 0);
	if (w->p->duration_ns > 0 && w->records > 1)
		us = (uint64_t)((double)w->p->duration_ns / 1000 * (double)w->written /
				(double)(w->records - 1));
	else if (w->p->duration_ns <= 0)
		us = w->written * PERF_SCRIPT_STEP_US;
	if (pid >= 0)
		buf_printf(out, " %" PRId64 "/%" PRId64, pid, tid >= 0 ? tid : pid);
	else
		buf_printf(out, " %" PRId64, tid >= 0 ? tid : 0);
	buf_printf(out, " %" PRIu64 ".%06" PRIu64 ": %10" PRId64 " ", us / 1000000, us % 1000000,
		   weight);
	append_script_text(out, event.len ? event : w->event);
	buf_str(out, ": \n");
	w->written++;
}

/* Returns how many records a row becomes: as many as it counts, if its weight divides evenly. */
static int64_t records_of(const struct writer *w, uint32_t sample, int64_t *ret_weight)
{
	const int64_t *values = profile_values(w->p, sample);
	int64_t count = w->count_value == PROFILE_NONE || w->one_each ? 1 : values[w->count_value];
	int64_t weight = values[w->weight_value];

	*ret_weight = weight;
	if (count <= 0 || weight < 0)
		return weight > 0;
	*ret_weight = weight / count;
	return count;
}

static uint64_t count_records(const struct writer *w)
{
	uint64_t sum = 0;
	int64_t weight;

	for (uint32_t i = 0; i < w->p->samples.count; i++)
		if (!CHECKED_ADD(sum, (uint64_t)records_of(w, i, &weight), &sum))
			return UINT64_MAX;
	return sum;
}

static uint64_t records_max(const struct writer *w)
{
	uint64_t n = LIMIT_SCRIPT_PER_ROW * w->p->samples.count;

	n = n > LIMIT_SCRIPT_FREE ? n : LIMIT_SCRIPT_FREE;
	return n < LIMIT_SCRIPT_RECORDS ? n : LIMIT_SCRIPT_RECORDS;
}

static int write_script_sample(struct writer *w, uint32_t sample, struct err *err)
{
	struct profile_sample s = profile_sample(w->p, sample);
	int64_t weight, total = profile_values(w->p, sample)[w->weight_value];
	int64_t count = records_of(w, sample, &weight);

	if (!count)
		return 0;
	if (!gather_stack(w, s.stack))
		return err_set(err, ERR_LIMIT, "perf script: a stack is too long");
	for (int64_t i = 0; i < count; i++) {
		/* the first record gets the remainder, so that the sum is kept */
		append_head(w, s.labels, i ? weight : weight + (total - weight * count));
		append_script_stack(w);
		TRY(text_out_spill(w->out, err));
	}
	return 0;
}

static bool unit_is_ns(const struct profile *p, uint32_t value)
{
	struct profile_text unit = profile_text(p, p->value_types[value].unit);

	return unit.len == 11 && memcmp(unit.p, "nanoseconds", 11) == 0;
}

/* Counts the rows that stand for several samples but become one record. */
static uint64_t count_summed(struct writer *w)
{
	uint64_t sum = 0;
	int64_t weight;

	if (!w->one_each || w->count_value == PROFILE_NONE)
		return 0;
	for (uint32_t i = 0; i < w->p->samples.count; i++)
		sum += records_of(w, i, &weight) && profile_values(w->p, i)[w->count_value] > 1;
	return sum;
}

/* Returns whether one record for each sample would be more text than may be written. */
static bool is_too_long(struct writer *w)
{
	uint64_t left = w->out->max;
	int64_t weight;

	for (uint32_t i = 0; w->out->max && !w->one_each && i < w->p->samples.count; i++) {
		uint64_t count = (uint64_t)records_of(w, i, &weight);

		if (!gather_stack(w, profile_sample(w->p, i).stack))
			return true;
		if (count && (w->lines.len + HEAD_LEN) > left / count)
			return true;
		left -= count * (w->lines.len + HEAD_LEN);
	}
	return false;
}

int perf_script_write(const struct profile *p, struct text_out *out, uint64_t *ret_summed,
		      struct err *err)
{
	_cleanup_(script_writer_done) struct writer w = {
		.p = p,
		.out = out,
		.lines = BUF_INIT(LIMIT_ROW_LEN),
		.count_value = profile_value_index(p, "samples"),
	};

	if (ret_summed)
		*ret_summed = 0;
	if (!p->value_count)
		return text_out_end(out, err);
	w.weight_value = p->value_count - 1;
	if (unit_is_ns(p, w.weight_value))
		w.event = (struct profile_text){"cpu-clock", 9};
	else
		w.event = profile_text(p, p->value_types[w.weight_value].type);
	w.records = count_records(&w);
	if (w.records > records_max(&w) || is_too_long(&w)) {
		w.one_each = true;
		w.records = count_records(&w);
		if (ret_summed)
			*ret_summed = count_summed(&w);
	}
	if (p->duration_ns <= 0 && w.records)
		buf_str(&out->buf, PERF_SCRIPT_NO_TIMES "\n");
	for (uint32_t i = 0; i < p->samples.count; i++) {
		TRY(write_script_sample(&w, i, err));
	}
	return text_out_end(out, err);
}
