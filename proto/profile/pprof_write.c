/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof_write.h"

#include "gzip.h"
#include "pprof_wire.h"
#include "utf8.h"

/* Messages nest three deep at most: the profile (streamed), its row, a row inside that. */
struct writer {
	const struct profile *profile;
	struct gzip_writer *gzip;
	struct buf row, inner;
};

static void pprof_writer_done(struct writer *w)
{
	gzip_writer_close(w->gzip);
	buf_done(&w->row);
	buf_done(&w->inner);
}

/* Moves w->inner into w->row as one field. */
static void put_inner(struct writer *w, uint32_t field)
{
	w->row.failed |= w->inner.failed;
	w->row.no_memory |= w->inner.no_memory;
	protobuf_put_bytes(&w->row, field, w->inner.p, w->inner.len);
	buf_reset(&w->inner);
}

static int flush_pprof(struct writer *w, struct err *err)
{
	int rc;

	if (w->row.failed)
		return err_full(err, w->row.no_memory, "pprof: a row is larger than %zu bytes",
				w->row.max);
	rc = gzip_writer_add(w->gzip, w->row.p, w->row.len, err);
	buf_reset(&w->row);
	return rc;
}

/* Streams w->row out as one field of the profile. */
static int end_pprof_row(struct writer *w, uint32_t field, struct err *err)
{
	uint8_t space[24];
	struct buf head = {.p = space, .cap = sizeof(space), .max = sizeof(space)};

	protobuf_put_tag(&head, field, WIRE_BYTES);
	buf_uleb(&head, w->row.len);
	TRY(gzip_writer_add(w->gzip, head.p, head.len, err));
	return flush_pprof(w, err);
}

static void put_pprof_value_type(struct buf *b, struct profile_value_type t)
{
	protobuf_put_number(b, VALUE_TYPE_TYPE, t.type);
	protobuf_put_number(b, VALUE_TYPE_UNIT, t.unit);
}

static int write_head(struct writer *w, struct err *err)
{
	const struct profile *p = w->profile;

	for (uint32_t i = 0; i < p->value_count; i++) {
		put_pprof_value_type(&w->row, p->value_types[i]);
		TRY(end_pprof_row(w, PROFILE_SAMPLE_TYPE, err));
	}
	protobuf_put_number(&w->row, PROFILE_TIME_NANOS, (uint64_t)p->time_ns);
	protobuf_put_number(&w->row, PROFILE_DURATION_NANOS, (uint64_t)p->duration_ns);
	if (p->period_type.type) {
		put_pprof_value_type(&w->inner, p->period_type);
		put_inner(w, PROFILE_PERIOD_TYPE);
	}
	protobuf_put_number(&w->row, PROFILE_PERIOD, (uint64_t)p->period);
	for (size_t i = 0; i < p->comment_count; i++)
		protobuf_put_number(&w->row, PROFILE_COMMENT, p->comments[i]);
	protobuf_put_number(&w->row, PROFILE_DEFAULT_SAMPLE_TYPE, p->default_type);
	return flush_pprof(w, err);
}

static int write_modules(struct writer *w, struct err *err)
{
	const struct profile *p = w->profile;

	for (uint32_t i = 0; i < p->module_keys.count; i++) {
		const struct profile_module *m = &p->modules[i];

		protobuf_put_number(&w->row, MAPPING_ID, (uint64_t)i + 1);
		protobuf_put_number(&w->row, MAPPING_MEMORY_START, m->start);
		protobuf_put_number(&w->row, MAPPING_MEMORY_LIMIT, m->limit);
		protobuf_put_number(&w->row, MAPPING_FILE_OFFSET, m->file_off);
		protobuf_put_number(&w->row, MAPPING_FILENAME, m->path);
		protobuf_put_number(&w->row, MAPPING_BUILD_ID, m->build_id);
		protobuf_put_number(&w->row, MAPPING_HAS_FUNCTIONS,
				    !!(m->flags & PROFILE_HAS_FUNCTIONS));
		protobuf_put_number(&w->row, MAPPING_HAS_FILENAMES,
				    !!(m->flags & PROFILE_HAS_FILENAMES));
		protobuf_put_number(&w->row, MAPPING_HAS_LINE_NUMBERS,
				    !!(m->flags & PROFILE_HAS_LINES));
		protobuf_put_number(&w->row, MAPPING_HAS_INLINE_FRAMES,
				    !!(m->flags & PROFILE_HAS_INLINES));
		TRY(end_pprof_row(w, PROFILE_MAPPING, err));
	}
	return 0;
}

static int write_locations(struct writer *w, struct err *err)
{
	const struct profile *p = w->profile;

	for (uint32_t i = 0; i < p->locations.count; i++) {
		struct profile_location l = profile_location(p, i);

		protobuf_put_number(&w->row, LOCATION_ID, (uint64_t)i + 1);
		/* PROFILE_NONE + 1 is 0: no mapping. */
		protobuf_put_number(&w->row, LOCATION_MAPPING_ID, (uint32_t)(l.module + 1));
		protobuf_put_number(&w->row, LOCATION_ADDRESS, l.address);
		for (size_t k = 0; k < l.line_count; k++) {
			protobuf_put_number(&w->inner, LINE_FUNCTION_ID,
					    (uint64_t)l.lines[k].function + 1);
			protobuf_put_number(&w->inner, LINE_LINE, l.lines[k].line);
			put_inner(w, LOCATION_LINE);
		}
		protobuf_put_number(&w->row, LOCATION_IS_FOLDED, l.folded);
		TRY(end_pprof_row(w, PROFILE_LOCATION, err));
	}
	return 0;
}

static int write_functions(struct writer *w, struct err *err)
{
	const struct profile *p = w->profile;

	for (uint32_t i = 0; i < p->functions.count; i++) {
		struct profile_function f = profile_function(p, i);

		protobuf_put_number(&w->row, FUNCTION_ID, (uint64_t)i + 1);
		protobuf_put_number(&w->row, FUNCTION_NAME, f.name);
		protobuf_put_number(&w->row, FUNCTION_SYSTEM_NAME, f.system_name);
		protobuf_put_number(&w->row, FUNCTION_FILENAME, f.file);
		protobuf_put_number(&w->row, FUNCTION_START_LINE, f.start_line);
		protobuf_put_number(&w->row, FUNCTION_DECL_FILE,
				    f.decl_file == f.file ? 0 : f.decl_file);
		protobuf_put_number(&w->row, FUNCTION_START, f.start);
		TRY(end_pprof_row(w, PROFILE_FUNCTION, err));
	}
	return 0;
}

static int write_pprof_sample(struct writer *w, uint32_t sample, struct err *err)
{
	const struct profile *p = w->profile;
	struct profile_sample s = profile_sample(p, sample);
	const int64_t *values = profile_values(p, sample);
	const struct profile_label *labels;
	const uint32_t *locations;
	size_t count;

	locations = profile_stack(p, s.stack, &count);
	for (size_t i = 0; i < count; i++)
		buf_uleb(&w->inner, (uint64_t)locations[i] + 1);
	if (count)
		put_inner(w, SAMPLE_LOCATION_ID);
	for (uint32_t i = 0; i < p->value_count; i++)
		buf_uleb(&w->inner, (uint64_t)values[i]);
	put_inner(w, SAMPLE_VALUE);
	labels = profile_labels(p, s.labels, &count);
	for (size_t i = 0; i < count; i++) {
		protobuf_put_number(&w->inner, LABEL_KEY, labels[i].key);
		protobuf_put_number(&w->inner, LABEL_STR, labels[i].text);
		protobuf_put_number(&w->inner, LABEL_NUM, (uint64_t)labels[i].num);
		protobuf_put_number(&w->inner, LABEL_NUM_UNIT, labels[i].unit);
		put_inner(w, SAMPLE_LABEL);
	}
	return end_pprof_row(w, PROFILE_SAMPLE, err);
}

static int write_strings(struct writer *w, struct err *err)
{
	const struct profile *p = w->profile;

	for (uint32_t i = 0; i < p->strings.count; i++) {
		struct profile_text t = profile_text(p, i);

		utf8_append(&w->row, t.p, t.len);
		TRY(end_pprof_row(w, PROFILE_STRING_TABLE, err));
	}
	return 0;
}

int pprof_write(const struct profile *p, struct buf *out, struct err *err)
{
	_cleanup_(pprof_writer_done) struct writer w = {.profile = p};

	if (p->failed)
		return profile_full(p, err, "pprof");
	buf_init(&w.row, 64 * MIB);
	buf_init(&w.inner, 64 * MIB);
	TRY(gzip_writer_open(&w.gzip, out, err));
	TRY(write_head(&w, err));
	for (uint32_t i = 0; i < p->samples.count; i++)
		TRY(write_pprof_sample(&w, i, err));
	TRY(write_modules(&w, err));
	TRY(write_locations(&w, err));
	TRY(write_functions(&w, err));
	TRY(write_strings(&w, err));
	return gzip_writer_finish(w.gzip, err);
}
