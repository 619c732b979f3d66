/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables may come in any order and refer to each other, so the message is walked once per level:
 * strings, then what refers to strings only, then locations, then samples. Walking is cheap beside
 * inflating, and needs no memory for what is not understood yet.
 */
#include "pprof_read.h"

#include "buf.h"
#include "bytes.h"
#include "gzip.h"
#include "io.h"
#include "pprof_wire.h"

struct field {
	uint32_t number;
	enum pprof_wire_type type;
	uint64_t value;    /* VARINT */
	struct bytes data; /* BYTES */
};

/*
 * pprof's ids are any numbers but 0, and in nearly all files 1, 2, 3: those below dense_max index
 * an array, whose length the message bounds; of the others rows[i] is our row of the i-th
 * id seen.
 */
struct id_map {
	uint32_t *dense; /* by id; PROFILE_NONE: not seen */
	size_t dense_cap, dense_max;
	struct intern ids;
	uint32_t *rows;
	size_t rows_cap;
};

/* Top-level fields of one number that stand beside each other: of each kind there is one run in
 * nearly all files, so the passes behind the first walk what they want and no more. */
#define RUNS_MAX 64

struct run {
	uint32_t number; /* 0: any */
	const uint8_t *p;
	size_t len;
};

struct reader {
	struct profile *profile;
	const struct pprof_time_filter *between;
	bool is_first; /* the profile has no value types yet, and takes those of the file */
	struct profile_value_type types[LIMIT_PROFILE_VALUES], period_type;
	uint32_t value_of[LIMIT_PROFILE_VALUES]; /* type of the file for each of the profile's */
	uint32_t type_count, default_type;
	int64_t period, time_ns, duration_ns;
	struct run runs[RUNS_MAX];
	size_t run_count;
	const uint8_t *base;
	struct err *err;
	uint32_t *strings; /* of the file's table -> of the profile's */
	size_t string_count, strings_cap;
	struct id_map modules, functions, locations;
	uint32_t *stack; /* of the sample being read */
	size_t stack_len, stack_cap;
};

/* No row of a message takes less than two bytes. */
static void id_map_init(struct id_map *map, size_t message_len)
{
	*map = (struct id_map){
		.dense_max = message_len / 2 + 1,
		.ids = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES),
	};
}

static void reader_done(struct reader *r)
{
	struct id_map *maps[] = {&r->modules, &r->functions, &r->locations};

	for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
		intern_done(&maps[i]->ids);
		free(maps[i]->rows);
		free(maps[i]->dense);
	}
	free(r->strings);
	free(r->stack);
}

static int bad(struct reader *r, const struct bytes *at, const char *what)
{
	return err_set(r->err, ERR_DATA, "pprof: %s before byte %zu", what,
		       (size_t)(at->p - r->base));
}

static int full(struct reader *r)
{
	return err_set(r->err, ERR_LIMIT, "pprof: more than memory or the limits allow");
}

/* 1 and *f, 0 at the end, negative on damage. */
static int next_field(struct reader *r, struct bytes *in, struct field *f)
{
	uint64_t tag, len;

	*f = (struct field){0};
	if (!in->left && !in->failed)
		return 0;
	tag = bytes_uleb(in);
	if (in->failed || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
		return bad(r, in, "no field tag");
	f->number = (uint32_t)(tag >> 3);
	f->type = tag & 7;
	f->data = bytes_of(in->p, 0);
	switch (f->type) {
	case WIRE_VARINT:
		f->value = bytes_uleb(in);
		break;
	case WIRE_FIXED64:
		bytes_skip(in, 8);
		break;
	case WIRE_FIXED32:
		bytes_skip(in, 4);
		break;
	case WIRE_BYTES:
		len = bytes_uleb(in);
		if (len > in->left) {
			bytes_fail(in);
			break;
		}
		f->data = bytes_of(in->p, len);
		bytes_skip(in, len);
		break;
	default:
		return bad(r, in, "unknown wire type");
	}
	return in->failed ? bad(r, in, "field runs past its message") : 1;
}

/* A number of a repeated field, packed or not: 1 and *ret, 0 when there is none left. */
static int next_number(struct field *f, uint64_t *ret)
{
	if (f->type == WIRE_VARINT) {
		*ret = f->value;
		f->type = WIRE_FIXED32; /* taken */
		return 1;
	}
	if (f->type != WIRE_BYTES || !f->data.left)
		return 0;
	*ret = bytes_uleb(&f->data);
	return f->data.failed ? -1 : 1;
}

static int string_of(struct reader *r, const struct bytes *at, uint64_t index, uint32_t *ret)
{
	if (index >= r->string_count)
		return bad(r, at, "string index out of range");
	*ret = r->strings[index];
	return 0;
}

static int put_dense(struct reader *r, const struct bytes *at, struct id_map *map, size_t id,
		     uint32_t row)
{
	size_t before = map->dense_cap;

	if (!grow_array((void **)&map->dense, &map->dense_cap, id + 1, sizeof(*map->dense),
			LIMIT_PPROF_LEN))
		return full(r);
	if (map->dense_cap > before)
		memset(map->dense + before, 0xff, (map->dense_cap - before) * sizeof(*map->dense));
	if (map->dense[id] != PROFILE_NONE)
		return bad(r, at, "two rows with one id");
	map->dense[id] = row;
	return 0;
}

static int map_put(struct reader *r, const struct bytes *at, struct id_map *map, uint64_t id,
		   uint32_t row)
{
	bool fresh;
	uint32_t index;

	if (row == PROFILE_NONE)
		return full(r);
	if (!id)
		return bad(r, at, "row without an id");
	if (id < map->dense_max)
		return put_dense(r, at, map, id, row);
	index = intern_add(&map->ids, &id, sizeof(id), &fresh);
	if (index == INTERN_FULL)
		return full(r);
	if (!fresh)
		return bad(r, at, "two rows with one id");
	if (!grow_array((void **)&map->rows, &map->rows_cap, map->ids.count, sizeof(*map->rows),
			LIMIT_PROFILE_ENTRIES))
		return full(r);
	map->rows[index] = row;
	return 0;
}

static int map_get(struct reader *r, const struct bytes *at, const struct id_map *map, uint64_t id,
		   uint32_t *ret)
{
	uint32_t index;

	if (id < map->dense_cap && id < map->dense_max) {
		*ret = map->dense[id];
		return *ret == PROFILE_NONE ? bad(r, at, "reference to a row that does not exist")
					    : 0;
	}
	index = intern_find(&map->ids, &id, sizeof(id));
	if (index == INTERN_FULL || !map->rows)
		return bad(r, at, "reference to a row that does not exist");
	*ret = map->rows[index];
	return 0;
}

/* Lines are int64 in pprof; what is no line number counts as not known. */
static uint32_t line_of(uint64_t v)
{
	return v > UINT32_MAX ? 0 : (uint32_t)v;
}

static int read_value_type(struct reader *r, struct bytes in, struct profile_value_type *ret)
{
	struct field f;
	int rc;

	*ret = (struct profile_value_type){0};
	while ((rc = next_field(r, &in, &f)) > 0) {
		if (f.number == VALUE_TYPE_TYPE)
			rc = string_of(r, &in, f.value, &ret->type);
		else if (f.number == VALUE_TYPE_UNIT)
			rc = string_of(r, &in, f.value, &ret->unit);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int read_mapping(struct reader *r, struct field *message)
{
	struct bytes in = message->data;
	static const uint32_t flag_of[] = {PROFILE_HAS_FUNCTIONS, PROFILE_HAS_FILENAMES,
					   PROFILE_HAS_LINES, PROFILE_HAS_INLINES};
	struct profile_module m = {0};
	struct field f;
	uint64_t id = 0;
	int rc;

	while ((rc = next_field(r, &in, &f)) > 0) {
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
			rc = string_of(r, &in, f.value, &m.path);
			break;
		case MAPPING_BUILD_ID:
			rc = string_of(r, &in, f.value, &m.build_id);
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
	return rc ? rc : map_put(r, &in, &r->modules, id, profile_add_module(r->profile, &m));
}

static int read_function(struct reader *r, struct field *message)
{
	struct bytes in = message->data;
	struct profile_function fn = {0};
	struct field f;
	uint64_t id = 0;
	int rc;

	while ((rc = next_field(r, &in, &f)) > 0) {
		switch (f.number) {
		case FUNCTION_ID:
			id = f.value;
			break;
		case FUNCTION_NAME:
			rc = string_of(r, &in, f.value, &fn.name);
			break;
		case FUNCTION_SYSTEM_NAME:
			rc = string_of(r, &in, f.value, &fn.system_name);
			break;
		case FUNCTION_FILENAME:
			rc = string_of(r, &in, f.value, &fn.file);
			break;
		case FUNCTION_START_LINE:
			fn.start_line = line_of(f.value);
			break;
		}
		if (rc < 0)
			return rc;
	}
	return rc ? rc : map_put(r, &in, &r->functions, id, profile_add_function(r->profile, &fn));
}

static int read_line(struct reader *r, struct bytes in, struct profile_line *ret)
{
	struct field f;
	uint64_t function = 0;
	int rc;

	ret->line = 0;
	while ((rc = next_field(r, &in, &f)) > 0) {
		if (f.number == LINE_FUNCTION_ID)
			function = f.value;
		else if (f.number == LINE_LINE)
			ret->line = line_of(f.value);
	}
	return rc ? rc : map_get(r, &in, &r->functions, function, &ret->function);
}

static int read_location(struct reader *r, struct field *message)
{
	struct bytes in = message->data;
	struct profile_line lines[LIMIT_INLINE_DEPTH + 1];
	struct profile_location l = {.module = PROFILE_NONE, .lines = lines};
	struct field f;
	uint64_t id = 0;
	int rc;

	while ((rc = next_field(r, &in, &f)) > 0) {
		switch (f.number) {
		case LOCATION_ID:
			id = f.value;
			break;
		case LOCATION_MAPPING_ID:
			if (f.value)
				rc = map_get(r, &in, &r->modules, f.value, &l.module);
			break;
		case LOCATION_ADDRESS:
			l.address = f.value;
			break;
		case LOCATION_LINE:
			if (l.line_count == ARRAY_LEN(lines))
				return err_set(r->err, ERR_LIMIT,
					       "pprof: a location with more than %zu lines",
					       ARRAY_LEN(lines));
			rc = read_line(r, f.data, &lines[l.line_count++]);
			break;
		case LOCATION_IS_FOLDED:
			l.folded = !!f.value;
			break;
		}
		if (rc < 0)
			return rc;
	}
	return rc ? rc : map_put(r, &in, &r->locations, id, profile_add_location(r->profile, &l));
}

static int read_label(struct reader *r, struct bytes in, struct profile_label *ret)
{
	struct field f;
	int rc;

	*ret = (struct profile_label){0};
	while ((rc = next_field(r, &in, &f)) > 0) {
		switch (f.number) {
		case LABEL_KEY:
			rc = string_of(r, &in, f.value, &ret->key);
			break;
		case LABEL_STR:
			rc = string_of(r, &in, f.value, &ret->text);
			break;
		case LABEL_NUM:
			ret->num = (int64_t)f.value;
			break;
		case LABEL_NUM_UNIT:
			rc = string_of(r, &in, f.value, &ret->unit);
			break;
		}
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int read_stack(struct reader *r, const struct bytes *in, struct field *f)
{
	uint64_t id;
	int rc;

	while ((rc = next_number(f, &id)) > 0) {
		if (!grow_array((void **)&r->stack, &r->stack_cap, r->stack_len + 1,
				sizeof(*r->stack), LIMIT_PROFILE_STACK))
			return full(r);
		rc = map_get(r, in, &r->locations, id, &r->stack[r->stack_len]);
		if (rc < 0)
			return rc;
		r->stack_len++;
	}
	return rc < 0 ? bad(r, in, "damaged list of locations") : 0;
}

static int read_sample(struct reader *r, struct field *message)
{
	struct bytes in = message->data;
	struct profile_label labels[LIMIT_PROFILE_LABELS];
	int64_t values[LIMIT_PROFILE_VALUES], ours[LIMIT_PROFILE_VALUES];
	size_t label_count = 0, value_count = 0;
	struct profile *p = r->profile;
	struct field f;
	uint64_t v;
	int rc;

	r->stack_len = 0;
	while ((rc = next_field(r, &in, &f)) > 0) {
		switch (f.number) {
		case SAMPLE_LOCATION_ID:
			rc = read_stack(r, &in, &f);
			break;
		case SAMPLE_VALUE:
			while ((rc = next_number(&f, &v)) > 0) {
				if (value_count == r->type_count)
					return bad(r, &in, "sample with more values than types");
				values[value_count++] = (int64_t)v;
			}
			if (rc < 0)
				return bad(r, &in, "damaged list of values");
			break;
		case SAMPLE_LABEL:
			if (label_count == ARRAY_LEN(labels))
				return err_set(r->err, ERR_LIMIT,
					       "pprof: a sample with more than %zu labels",
					       ARRAY_LEN(labels));
			rc = read_label(r, f.data, &labels[label_count++]);
			break;
		}
		if (rc < 0)
			return rc;
	}
	if (rc)
		return rc;
	if (value_count != r->type_count)
		return bad(r, &in, "sample with fewer values than types");
	for (uint32_t i = 0; i < p->value_count; i++)
		ours[i] = r->value_of[i] == PROFILE_NONE ? 0 : values[r->value_of[i]];
	if (profile_add_sample(p, profile_add_stack(p, r->stack, r->stack_len),
			       profile_add_labels(p, labels, label_count), ours) == PROFILE_NONE)
		return full(r);
	return 0;
}

static int read_string(struct reader *r, struct field *f)
{
	if (f->type != WIRE_BYTES)
		return bad(r, &f->data, "string that is none");
	if (!r->string_count && f->data.left)
		return bad(r, &f->data, "first string that is not empty");
	if (!grow_array((void **)&r->strings, &r->strings_cap, r->string_count + 1,
			sizeof(*r->strings), LIMIT_PROFILE_ENTRIES))
		return full(r);
	r->strings[r->string_count] = profile_string(r->profile, f->data.p, f->data.left);
	return r->strings[r->string_count++] == PROFILE_NONE ? full(r) : 0;
}

static int read_comments(struct reader *r, struct field *f)
{
	uint64_t index;
	uint32_t string;
	int rc;

	while ((rc = next_number(f, &index)) > 0) {
		rc = string_of(r, &f->data, index, &string);
		if (rc < 0)
			return rc;
		profile_comment_string(r->profile, string);
	}
	return rc < 0 ? bad(r, &f->data, "damaged list of comments") : 0;
}

static int read_head(struct reader *r, struct field *f)
{
	switch (f->number) {
	case PROFILE_SAMPLE_TYPE:
		if (r->type_count == LIMIT_PROFILE_VALUES)
			return err_set(r->err, ERR_LIMIT, "pprof: more than %zu sample types",
				       (size_t)LIMIT_PROFILE_VALUES);
		return read_value_type(r, f->data, &r->types[r->type_count++]);
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
		return string_of(r, &f->data, f->value, &r->default_type);
	}
	return 0;
}

/* Which value of the profile each of the file's is: by type and unit. */
static int match_values(struct reader *r)
{
	struct profile *p = r->profile;
	bool common = false;

	if (!r->type_count)
		return err_set(r->err, ERR_DATA, "pprof: no sample types: not a profile");
	if (r->is_first) {
		memcpy(p->value_types, r->types, sizeof(r->types));
		p->value_count = r->type_count;
		p->default_type = r->default_type;
		p->period_type = r->period_type;
		p->period = r->period;
	}
	for (uint32_t i = 0; i < p->value_count; i++) {
		r->value_of[i] = r->is_first ? i : PROFILE_NONE;
		for (uint32_t k = 0; !r->is_first && k < r->type_count; k++)
			if (r->types[k].type == p->value_types[i].type &&
			    r->types[k].unit == p->value_types[i].unit) {
				r->value_of[i] = k;
				break;
			}
		common |= r->value_of[i] != PROFILE_NONE;
	}
	return common ? 0 : err_set(r->err, ERR_MISMATCH, "profiles count different things");
}

/* Finds the runs; where there are too many, all is one. */
static int find_runs(struct reader *r, struct bytes in)
{
	const struct bytes all = in;
	const uint8_t *at = in.p;
	struct run *last = NULL;
	struct field f;
	int rc;

	while ((rc = next_field(r, &in, &f)) > 0) {
		if (!last || last->number != f.number) {
			if (r->run_count == RUNS_MAX) {
				r->runs[0] = (struct run){0, all.p, all.left};
				r->run_count = 1;
				return 0;
			}
			last = &r->runs[r->run_count++];
			*last = (struct run){.number = f.number, .p = at};
		}
		at = in.p;
		last->len = (size_t)(at - last->p);
	}
	return rc;
}

typedef int field_fn(struct reader *r, struct field *f);

/* Calls fn for each top-level field of a number. */
static int walk(struct reader *r, uint32_t number, field_fn *fn)
{
	for (size_t i = 0; i < r->run_count; i++) {
		struct bytes in = bytes_of(r->runs[i].p, r->runs[i].len);
		struct field f;
		int rc;

		if (r->runs[i].number && r->runs[i].number != number)
			continue;
		while ((rc = next_field(r, &in, &f)) > 0) {
			if (f.number == number)
				rc = fn(r, &f);
			if (rc < 0)
				return rc;
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_heads(struct reader *r)
{
	static const uint32_t numbers[] = {
		PROFILE_SAMPLE_TYPE, PROFILE_TIME_NANOS, PROFILE_DURATION_NANOS,
		PROFILE_PERIOD_TYPE, PROFILE_PERIOD,     PROFILE_DEFAULT_SAMPLE_TYPE,
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_LEN(numbers); i++)
		rc = walk(r, numbers[i], read_head);
	return rc;
}

static int read_tables(struct reader *r)
{
	int rc = walk(r, PROFILE_MAPPING, read_mapping);

	if (!rc)
		rc = walk(r, PROFILE_FUNCTION, read_function);
	if (!rc)
		rc = walk(r, PROFILE_LOCATION, read_location);
	if (!rc)
		rc = walk(r, PROFILE_SAMPLE, read_sample);
	if (!rc)
		rc = walk(r, PROFILE_COMMENT, read_comments);
	return rc;
}

static int add(struct reader *r, const void *file, size_t len)
{
	struct profile *p = r->profile;
	int rc;

	id_map_init(&r->modules, len);
	id_map_init(&r->functions, len);
	id_map_init(&r->locations, len);
	r->base = file;
	r->is_first = !p->value_count && !p->samples.count;
	rc = find_runs(r, bytes_of(file, len));
	if (!rc)
		rc = walk(r, PROFILE_STRING_TABLE, read_string);
	if (!rc)
		rc = read_heads(r);
	if (rc)
		return rc;
	if (r->between && !r->between->wants(r->between->ctx, r->time_ns, r->duration_ns))
		return 0;
	rc = match_values(r);
	if (!rc)
		rc = read_tables(r);
	if (!rc)
		profile_add_time(p, r->time_ns, r->duration_ns);
	return rc ? rc : p->failed ? full(r) : 0;
}

int pprof_add(const void *file, size_t len, const struct pprof_time_filter *between,
	      struct profile *p, struct err *err)
{
	_cleanup_(buf_done) struct buf plain = BUF_INIT(LIMIT_PPROF_LEN);
	_cleanup_(reader_done) struct reader r = {.profile = p, .between = between, .err = err};
	int rc;

	if (len > LIMIT_PPROF_FILE_LEN)
		return err_set(err, ERR_LIMIT, "pprof: more than %zu bytes",
			       (size_t)LIMIT_PPROF_FILE_LEN);
	if (!gzip_is(file, len))
		return add(&r, file, len);
	if (MIB + len * LIMIT_PPROF_RATIO < plain.max)
		plain.max = MIB + len * LIMIT_PPROF_RATIO;
	rc = gzip_inflate(file, len, &plain, err);
	return rc ? rc : add(&r, plain.p, plain.len);
}

int pprof_read(const void *file, size_t len, struct profile *p, struct err *err)
{
	return pprof_add(file, len, NULL, p, err);
}

int pprof_read_file(const char *path, struct profile *p, struct err *err)
{
	_cleanup_(freep) uint8_t *file = NULL;
	size_t len;
	int rc = io_read_file(path, LIMIT_PPROF_FILE_LEN, &file, &len, err);

	if (rc)
		return rc;
	rc = pprof_read(file, len, p, err);
	return rc ? err_prefix(err, "%s", path) : 0;
}
