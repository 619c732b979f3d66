/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof_rows.h"

#include <string.h>

#include "profile_priv.h"

void pprof_rows_init(struct pprof_rows *rows, size_t message_len)
{
	pprof_ids_init(&rows->modules, message_len);
	pprof_ids_init(&rows->functions, message_len);
	pprof_ids_init(&rows->locations, message_len);
}

void pprof_rows_done(struct pprof_rows *rows)
{
	pprof_ids_done(&rows->modules);
	pprof_ids_done(&rows->functions);
	pprof_ids_done(&rows->locations);
	free(rows->strings);
	free(rows->lines);
	free(rows->frames);
}

int pprof_bad(const struct pprof_rows *rows, const uint8_t *at, const char *what)
{
	return err_set(rows->err, ERR_DATA, "pprof: %s before byte %zu", what,
		       (size_t)(at - rows->base));
}

int pprof_full(const struct pprof_rows *rows)
{
	return profile_full(rows->profile, rows->err, "pprof");
}

int pprof_string(const struct pprof_rows *rows, const uint8_t *at, uint64_t index, uint32_t *ret)
{
	if (index >= rows->string_count)
		return pprof_bad(rows, at, "string index out of range");
	*ret = rows->strings[index];
	return 0;
}

static int put_pprof_id(const struct pprof_rows *rows, const uint8_t *at, struct pprof_ids *ids,
			uint64_t id, uint32_t row)
{
	switch (pprof_ids_put(ids, id, row)) {
	case PPROF_IDS_DONE:
		return 0;
	case PPROF_IDS_FULL:
		return pprof_full(rows);
	case PPROF_IDS_ZERO:
		return pprof_bad(rows, at, "row without an id");
	case PPROF_IDS_TWICE:
		break;
	}
	return pprof_bad(rows, at, "two rows with one id");
}

static inline int row_of_pprof_id(const struct pprof_rows *rows, const uint8_t *at,
				  const struct pprof_ids *ids, uint64_t id, uint32_t *ret)
{
	*ret = pprof_ids_get(ids, id);
	return *ret == PROFILE_NONE ? pprof_bad(rows, at, "reference to a row that does not exist")
				    : 0;
}

/* Gives the ids of a batch their rows. */
static int put_batch(struct pprof_rows *rows, struct pprof_ids *ids, const uint32_t *row,
		     const uint8_t *at)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < rows->count; i++)
		rc = put_pprof_id(rows, at, ids, rows->ids[i], row[i]);
	rows->count = 0;
	return rc;
}

/* Returns a line number, which is int64 in pprof. A number that is no line counts as unknown. */
static uint32_t line_of_pprof(uint64_t v)
{
	return v > UINT32_MAX ? 0 : (uint32_t)v;
}

/* --- strings --------------------------------------------------------------------------------- */

int pprof_strings_end(struct pprof_rows *rows)
{
	size_t first = rows->string_count - rows->count;

	profile_add_strings(rows->profile, rows->texts, rows->count, rows->strings + first);
	rows->count = 0;
	return rows->profile->failed ? pprof_full(rows) : 0;
}

int pprof_add_string(struct pprof_rows *rows, struct pprof_field *f)
{
	if (f->type != WIRE_BYTES)
		return pprof_bad(rows, f->data.p, "string that is none");
	if (!rows->string_count && f->data.left)
		return pprof_bad(rows, f->data.p, "first string that is not empty");
	if (!GROW(rows->strings, &rows->strings_cap, rows->string_count + 1, LIMIT_PROFILE_ENTRIES))
		return pprof_full(rows);
	rows->texts[rows->count++] = (struct intern_key){f->data.p, f->data.left};
	rows->string_count++;
	return rows->count == PPROF_BATCH ? pprof_strings_end(rows) : 0;
}

/* --- mappings, functions, locations ---------------------------------------------------------- */

int pprof_add_mapping(struct pprof_rows *rows, struct pprof_field *message)
{
	static const uint32_t flag_of[] = {PROFILE_HAS_FUNCTIONS, PROFILE_HAS_FILENAMES,
					   PROFILE_HAS_LINES, PROFILE_HAS_INLINES};
	struct bytes in = message->data;
	struct profile_module m = {0};
	struct pprof_field f;
	uint64_t id = 0;
	int rc;

	while ((rc = pprof_next(rows, &in, &f)) > 0) {
		switch (f.number) {
		case MAPPING_ID:
			id = f.value;
			break;
		case MAPPING_MEMORY_START:
			m.start = f.value;
			break;
		case MAPPING_MEMORY_LIMIT:
			m.limit = f.value;
			break;
		case MAPPING_FILE_OFFSET:
			m.file_off = f.value;
			break;
		case MAPPING_FILENAME:
			rc = pprof_string(rows, in.p, f.value, &m.path);
			break;
		case MAPPING_BUILD_ID:
			rc = pprof_string(rows, in.p, f.value, &m.build_id);
			break;
		case MAPPING_HAS_FUNCTIONS:
		case MAPPING_HAS_FILENAMES:
		case MAPPING_HAS_LINE_NUMBERS:
		case MAPPING_HAS_INLINE_FRAMES:
			if (f.value)
				m.flags |= flag_of[f.number - MAPPING_HAS_FUNCTIONS];
			break;
		}
		if (rc < 0)
			return rc;
	}
	return rc ? rc
		  : put_pprof_id(rows, in.p, &rows->modules, id,
				 profile_add_module(rows->profile, &m));
}

static int end_functions(struct pprof_rows *rows, const uint8_t *at)
{
	uint32_t row[PPROF_BATCH];

	profile_add_functions(rows->profile, rows->function, rows->count, row);
	return put_batch(rows, &rows->functions, row, at);
}

int pprof_functions_end(struct pprof_rows *rows)
{
	return end_functions(rows, rows->base);
}

int pprof_add_function(struct pprof_rows *rows, struct pprof_field *message)
{
	struct bytes in = message->data;
	struct profile_function fn = {0};
	struct pprof_field f;
	uint64_t id = 0;
	int rc;

	while ((rc = pprof_next(rows, &in, &f)) > 0) {
		switch (f.number) {
		case FUNCTION_ID:
			id = f.value;
			break;
		case FUNCTION_NAME:
			rc = pprof_string(rows, in.p, f.value, &fn.name);
			break;
		case FUNCTION_SYSTEM_NAME:
			rc = pprof_string(rows, in.p, f.value, &fn.system_name);
			break;
		case FUNCTION_FILENAME:
			rc = pprof_string(rows, in.p, f.value, &fn.file);
			break;
		case FUNCTION_START_LINE:
			fn.start_line = line_of_pprof(f.value);
			break;
		case FUNCTION_DECL_FILE:
			rc = pprof_string(rows, in.p, f.value, &fn.decl_file);
			break;
		case FUNCTION_START:
			fn.start = f.value;
			break;
		}
		if (rc < 0)
			return rc;
	}
	if (rc)
		return rc;
	rows->ids[rows->count] = id;
	rows->function[rows->count++] = fn;
	return rows->count == PPROF_BATCH ? end_functions(rows, in.p) : 0;
}

static int add_pprof_line(struct pprof_rows *rows, struct bytes in, size_t begin)
{
	struct profile_line line = {0};
	struct pprof_field f;
	uint64_t function = 0;
	int rc;

	while ((rc = pprof_next(rows, &in, &f)) > 0) {
		if (f.number == LINE_FUNCTION_ID)
			function = f.value;
		else if (f.number == LINE_LINE)
			line.line = line_of_pprof(f.value);
	}
	if (rc)
		return rc;
	TRY(row_of_pprof_id(rows, in.p, &rows->functions, function, &line.function));
	if (rows->line_count - begin > LIMIT_INLINE_DEPTH)
		return err_set(rows->err, ERR_LIMIT, "pprof: a location with more than %zu lines",
			       (size_t)LIMIT_INLINE_DEPTH + 1);
	if (!GROW(rows->lines, &rows->lines_cap, rows->line_count + 1,
		  PPROF_BATCH * (LIMIT_INLINE_DEPTH + 1)))
		return pprof_full(rows);
	rows->lines[rows->line_count++] = line;
	return 0;
}

static int end_locations(struct pprof_rows *rows, const uint8_t *at)
{
	uint32_t row[PPROF_BATCH];

	for (size_t i = 0; i < rows->count; i++)
		rows->location[i].lines = rows->lines + rows->begin[i];
	rows->line_count = 0;
	profile_add_locations(rows->profile, rows->location, rows->count, row);
	return put_batch(rows, &rows->locations, row, at);
}

int pprof_locations_end(struct pprof_rows *rows)
{
	return end_locations(rows, rows->base);
}

int pprof_add_location(struct pprof_rows *rows, struct pprof_field *message)
{
	struct bytes in = message->data;
	struct profile_location *l = &rows->location[rows->count];
	size_t begin = rows->line_count;
	struct pprof_field f;
	uint64_t id = 0;
	int rc;

	*l = (struct profile_location){.module = PROFILE_NONE};
	while ((rc = pprof_next(rows, &in, &f)) > 0) {
		switch (f.number) {
		case LOCATION_ID:
			id = f.value;
			break;
		case LOCATION_MAPPING_ID:
			if (f.value)
				rc = row_of_pprof_id(rows, in.p, &rows->modules, f.value,
						     &l->module);
			break;
		case LOCATION_ADDRESS:
			l->address = f.value;
			break;
		case LOCATION_LINE:
			rc = add_pprof_line(rows, f.data, begin);
			break;
		case LOCATION_IS_FOLDED:
			l->folded = !!f.value;
			break;
		}
		if (rc < 0)
			return rc;
	}
	if (rc)
		return rc;
	l->line_count = rows->line_count - begin;
	rows->begin[rows->count] = begin;
	rows->ids[rows->count++] = id;
	return rows->count == PPROF_BATCH ? end_locations(rows, in.p) : 0;
}

/* --- samples --------------------------------------------------------------------------------- */

static int read_label(struct pprof_rows *rows, struct bytes in, struct profile_label *ret)
{
	struct pprof_field f;
	int rc;

	*ret = (struct profile_label){0};
	while ((rc = pprof_next(rows, &in, &f)) > 0) {
		switch (f.number) {
		case LABEL_KEY:
			rc = pprof_string(rows, in.p, f.value, &ret->key);
			break;
		case LABEL_STR:
			rc = pprof_string(rows, in.p, f.value, &ret->text);
			break;
		case LABEL_NUM:
			ret->num = (int64_t)f.value;
			break;
		case LABEL_NUM_UNIT:
			rc = pprof_string(rows, in.p, f.value, &ret->unit);
			break;
		}
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int add_frames(struct pprof_rows *rows, const uint8_t *at, struct pprof_field *f,
		      size_t begin)
{
	uint64_t id;
	int rc;

	while ((rc = pprof_number_next(f, &id)) > 0) {
		if (rows->frame_count - begin == LIMIT_PROFILE_STACK)
			profile_fail(rows->profile, PROFILE_DEEP_STACK);
		if (rows->profile->failed || !GROW(rows->frames, &rows->frames_cap,
						   rows->frame_count + 1, 2 * LIMIT_PROFILE_STACK))
			return pprof_full(rows);
		rc = row_of_pprof_id(rows, at, &rows->locations, id,
				     &rows->frames[rows->frame_count]);
		if (rc < 0)
			return rc;
		rows->frame_count++;
	}
	return rc < 0 ? pprof_bad(rows, at, "damaged list of locations") : 0;
}

int pprof_samples_end(struct pprof_rows *rows)
{
	struct intern_key stacks[PPROF_BATCH];
	struct profile_sample samples[PPROF_BATCH];
	uint32_t ids[PPROF_BATCH];
	size_t end = rows->frame_count;

	for (size_t i = rows->count; i-- > 0;) {
		stacks[i].p = rows->frames + rows->begin[i];
		stacks[i].len = (end - rows->begin[i]) * sizeof(*rows->frames);
		end = rows->begin[i];
	}
	profile_add_stacks(rows->profile, stacks, rows->count, ids);
	for (size_t i = 0; i < rows->count; i++)
		samples[i] = (struct profile_sample){ids[i], rows->labels[i]};
	profile_add_samples(rows->profile, samples, rows->values, rows->count);
	rows->count = rows->frame_count = 0;
	return rows->profile->failed ? pprof_full(rows) : 0;
}

static int end_pprof_sample(struct pprof_rows *rows, const struct profile_label *labels,
			    size_t label_count, const int64_t *values)
{
	struct profile *p = rows->profile;
	int64_t *ours = rows->values + rows->count * p->value_count;

	for (uint32_t i = 0; i < p->value_count; i++)
		ours[i] = rows->value_of[i] == PROFILE_NONE ? 0 : values[rows->value_of[i]];
	rows->labels[rows->count++] = profile_add_labels(p, labels, label_count);
	return rows->count == PPROF_BATCH || rows->frame_count > LIMIT_PROFILE_STACK
		       ? pprof_samples_end(rows)
		       : 0;
}

int pprof_add_sample(struct pprof_rows *rows, struct pprof_field *message)
{
	struct bytes in = message->data;
	struct profile_label labels[LIMIT_PROFILE_LABELS];
	int64_t values[LIMIT_PROFILE_VALUES];
	size_t label_count = 0, value_count = 0, begin = rows->frame_count;
	struct pprof_field f;
	uint64_t v;
	int rc;

	while ((rc = pprof_next(rows, &in, &f)) > 0) {
		switch (f.number) {
		case SAMPLE_LOCATION_ID:
			rc = add_frames(rows, in.p, &f, begin);
			break;
		case SAMPLE_VALUE:
			while ((rc = pprof_number_next(&f, &v)) > 0) {
				if (value_count == rows->type_count)
					return pprof_bad(rows, in.p,
							 "sample with more values than types");
				values[value_count++] = (int64_t)v;
			}
			if (rc < 0)
				return pprof_bad(rows, in.p, "damaged list of values");
			break;
		case SAMPLE_LABEL:
			if (label_count == ARRAY_LEN(labels))
				return err_set(rows->err, ERR_LIMIT,
					       "pprof: a sample with more than %zu labels",
					       ARRAY_LEN(labels));
			rc = read_label(rows, f.data, &labels[label_count++]);
			break;
		}
		if (rc < 0)
			return rc;
	}
	if (rc)
		return rc;
	if (value_count != rows->type_count)
		return pprof_bad(rows, in.p, "sample with fewer values than types");
	rows->begin[rows->count] = begin;
	return end_pprof_sample(rows, labels, label_count, values);
}
