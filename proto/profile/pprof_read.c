/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables may come in any order and refer to each other, so the message is walked once per level:
 * strings, then what refers to strings only, then locations, then samples. Walking is cheap beside
 * inflating, and needs no memory for what is not understood yet.
 */
#include "pprof_read.h"

#include "buf.h"
#include "gzip.h"
#include "limits.h"
#include "pprof_rows.h"

/* Bytes that one compressed byte inflates to: real files stay below 30. */
#define LIMIT_PPROF_RATIO LIMIT(256)

/* Runs of adjacent top-level fields of one number. Nearly all files have one run of each kind, so
 * the later passes walk only the run that they want; a file with more runs than this is walked
 * whole each time. */
#define LIMIT_PPROF_RUNS 64

struct run {
	uint32_t number; /* 0: any */
	const uint8_t *p;
	size_t len;
};

struct reader {
	struct pprof_rows rows;
	const struct pprof_time_filter *between;
	bool is_first; /* the profile has no value types yet and takes the file's */
	struct profile_value_type types[LIMIT_PROFILE_VALUES], period_type;
	uint32_t default_type;
	int64_t period, time_ns, duration_ns;
	struct run runs[LIMIT_PPROF_RUNS];
	size_t run_count;
};

static void pprof_reader_done(struct reader *r)
{
	pprof_rows_done(&r->rows);
}

static int read_value_type(struct reader *r, struct bytes in, struct profile_value_type *ret)
{
	struct pprof_field f;
	int rc;

	*ret = (struct profile_value_type){0};
	while ((rc = pprof_next(&r->rows, &in, &f)) > 0) {
		if (f.number == VALUE_TYPE_TYPE)
			rc = pprof_string(&r->rows, in.p, f.value, &ret->type);
		else if (f.number == VALUE_TYPE_UNIT)
			rc = pprof_string(&r->rows, in.p, f.value, &ret->unit);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int add_comments(struct pprof_rows *rows, struct pprof_field *f)
{
	uint64_t index;
	uint32_t string;
	int rc;

	while ((rc = pprof_number_next(f, &index)) > 0) {
		rc = pprof_string(rows, f->data.p, index, &string);
		if (rc < 0)
			return rc;
		profile_comment_string(rows->profile, string);
	}
	return rc < 0 ? pprof_bad(rows, f->data.p, "damaged list of comments") : 0;
}

static int read_head(struct reader *r, struct pprof_field *f)
{
	switch (f->number) {
	case PROFILE_SAMPLE_TYPE:
		if (r->rows.type_count == LIMIT_PROFILE_VALUES)
			return err_set(r->rows.err, ERR_LIMIT, "pprof: more than %zu sample types",
				       (size_t)LIMIT_PROFILE_VALUES);
		return read_value_type(r, f->data, &r->types[r->rows.type_count++]);
	case PROFILE_TIME_NANOS:
		r->time_ns = (int64_t)f->value;
		return 0;
	case PROFILE_DURATION_NANOS:
		r->duration_ns = (int64_t)f->value;
		return 0;
	case PROFILE_PERIOD_TYPE:
		return read_value_type(r, f->data, &r->period_type);
	case PROFILE_PERIOD:
		r->period = (int64_t)f->value;
		return 0;
	case PROFILE_DEFAULT_SAMPLE_TYPE:
		return pprof_string(&r->rows, f->data.p, f->value, &r->default_type);
	}
	return 0;
}

/* Finds, for each type of value of the profile, that of the file, by type and unit. */
static int match_pprof_values(struct reader *r)
{
	struct profile *p = r->rows.profile;
	bool common = false;

	if (!r->rows.type_count)
		return err_set(r->rows.err, ERR_DATA, "pprof: no sample types: not a profile");
	if (r->is_first) {
		memcpy(p->value_types, r->types, sizeof(r->types));
		p->value_count = r->rows.type_count;
		p->default_type = r->default_type;
		p->period_type = r->period_type;
		p->period = r->period;
	}
	for (uint32_t i = 0; i < p->value_count; i++) {
		r->rows.value_of[i] = r->is_first ? i : PROFILE_NONE;
		for (uint32_t k = 0; !r->is_first && k < r->rows.type_count; k++)
			if (r->types[k].type == p->value_types[i].type &&
			    r->types[k].unit == p->value_types[i].unit) {
				r->rows.value_of[i] = k;
				break;
			}
		common |= r->rows.value_of[i] != PROFILE_NONE;
	}
	return common ? 0 : err_set(r->rows.err, ERR_MISMATCH, "profiles count different things");
}

/* The first walk: finds the runs and adds all strings. If there are too many runs, the whole
 * message becomes one. */
static int read_strings(struct reader *r, struct bytes in)
{
	const struct bytes all = in;
	const uint8_t *at = in.p;
	struct run spare, *last = NULL;
	struct pprof_field f;
	int rc;

	while ((rc = pprof_next(&r->rows, &in, &f)) > 0) {
		if (f.number == PROFILE_STRING_TABLE)
			rc = pprof_add_string(&r->rows, &f);
		if (rc < 0)
			return rc;
		if (!last || last->number != f.number) {
			last = r->run_count < LIMIT_PPROF_RUNS ? &r->runs[r->run_count] : &spare;
			r->run_count++;
			*last = (struct run){.number = f.number, .p = at};
		}
		at = in.p;
		last->len = (size_t)(at - last->p);
	}
	if (r->run_count > LIMIT_PPROF_RUNS) {
		r->runs[0] = (struct run){0, all.p, all.left};
		r->run_count = 1;
	}
	return rc ? rc : pprof_strings_end(&r->rows);
}

static int read_heads(struct reader *r)
{
	for (size_t i = 0; i < r->run_count; i++) {
		struct bytes in = bytes_of(r->runs[i].p, r->runs[i].len);
		struct pprof_field f;
		int rc;

		if (r->runs[i].number > PROFILE_SAMPLE_TYPE &&
		    r->runs[i].number <= PROFILE_STRING_TABLE)
			continue;
		while ((rc = pprof_next(&r->rows, &in, &f)) > 0) {
			rc = read_head(r, &f);
			if (rc < 0)
				return rc;
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

typedef int field_fn(struct pprof_rows *rows, struct pprof_field *f);

/* Calls fn for each top-level field of a number. */
static int walk_fields(struct reader *r, uint32_t number, field_fn *fn)
{
	for (size_t i = 0; i < r->run_count; i++) {
		struct bytes in = bytes_of(r->runs[i].p, r->runs[i].len);
		struct pprof_field f;
		int rc;

		if (r->runs[i].number && r->runs[i].number != number)
			continue;
		while ((rc = pprof_next(&r->rows, &in, &f)) > 0) {
			if (f.number == number)
				rc = fn(&r->rows, &f);
			if (rc < 0)
				return rc;
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_tables(struct reader *r)
{
	TRY(walk_fields(r, PROFILE_MAPPING, pprof_add_mapping));
	TRY(walk_fields(r, PROFILE_FUNCTION, pprof_add_function));
	TRY(pprof_functions_end(&r->rows));
	TRY(walk_fields(r, PROFILE_LOCATION, pprof_add_location));
	TRY(pprof_locations_end(&r->rows));
	TRY(walk_fields(r, PROFILE_SAMPLE, pprof_add_sample));
	TRY(pprof_samples_end(&r->rows));
	return walk_fields(r, PROFILE_COMMENT, add_comments);
}

static int add_pprof_file(struct reader *r, const void *file, size_t len)
{
	struct profile *p = r->rows.profile;

	pprof_rows_init(&r->rows, len);
	r->rows.base = file;
	r->is_first = !p->value_count && !p->samples.count;
	TRY(read_strings(r, bytes_of(file, len)));
	TRY(read_heads(r));
	if (r->between && !r->between->wants(r->between->ctx, r->time_ns, r->duration_ns))
		return 0;
	TRY(match_pprof_values(r));
	TRY(read_tables(r));
	profile_add_time(p, r->time_ns, r->duration_ns);
	return p->failed ? pprof_full(&r->rows) : 0;
}

int pprof_add(const void *file, size_t len, const struct pprof_time_filter *between,
	      struct profile *p, struct err *err)
{
	_cleanup_(buf_done) struct buf plain = BUF_INIT(LIMIT_PPROF_LEN);
	_cleanup_(pprof_reader_done) struct reader r = {.rows = {.profile = p, .err = err},
							.between = between};

	if (len > LIMIT_PPROF_FILE_LEN)
		return err_set(err, ERR_LIMIT, "pprof: more than %zu bytes",
			       (size_t)LIMIT_PPROF_FILE_LEN);
	if (!gzip_is(file, len))
		return add_pprof_file(&r, file, len);
	if (MIB + len * LIMIT_PPROF_RATIO < plain.max)
		plain.max = MIB + len * LIMIT_PPROF_RATIO;
	TRY(gzip_inflate(file, len, &plain, err));
	return add_pprof_file(&r, plain.p, plain.len);
}

int pprof_read(const void *file, size_t len, struct profile *p, struct err *err)
{
	return pprof_add(file, len, NULL, p, err);
}
