/* SPDX-License-Identifier: Apache-2.0 */
#include "otlp_write.h"

#include <string.h>

#include "protobuf_put.h"
#include "utf8.h"

/* Field numbers, by message. */
enum {
	DATA_RESOURCE_PROFILES = 1,
	DATA_DICTIONARY = 2,

	RESOURCE_SCOPE_PROFILES = 2,

	SCOPE_SCOPE = 1,
	SCOPE_PROFILES = 2,

	SCOPE_NAME = 1, /* InstrumentationScope */

	DICTIONARY_MAPPING = 1,
	DICTIONARY_LOCATION = 2,
	DICTIONARY_FUNCTION = 3,
	DICTIONARY_LINK = 4,
	DICTIONARY_STRING = 5,
	DICTIONARY_ATTRIBUTE = 6,
	DICTIONARY_STACK = 7,

	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME = 3, /* fixed64 */
	PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_ID = 7,

	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,

	SAMPLE_STACK = 1,
	SAMPLE_VALUES = 2,
	SAMPLE_ATTRIBUTES = 3,

	MAPPING_START = 1,
	MAPPING_LIMIT = 2,
	MAPPING_FILE_OFF = 3,
	MAPPING_FILENAME = 4,
	MAPPING_ATTRIBUTES = 5,

	STACK_LOCATIONS = 1,

	LOCATION_MAPPING = 1,
	LOCATION_ADDRESS = 2,
	LOCATION_LINES = 3,

	LINE_FUNCTION = 1,
	LINE_LINE = 2,

	FUNCTION_NAME = 1,
	FUNCTION_SYSTEM_NAME = 2,
	FUNCTION_FILENAME = 3,
	FUNCTION_START_LINE = 4,

	ATTRIBUTE_KEY = 1,
	ATTRIBUTE_VALUE = 2,
	ATTRIBUTE_UNIT = 3,

	ANY_STRING = 1,
	ANY_INT = 3,
};

/* Attributes are numbered from 1, like every row: 0 is the empty one of each table. */
struct attribute {
	uint32_t key; /* string of the dictionary */
	uint32_t text, unit, pad;
	int64_t num;
};

/* Strings that the profile does not have; they follow its own. */
static const char *const own_strings[] = {
	"thread.name",
	"process.pid",
	"thread.id",
	"process.executable.build_id.gnu",
};

enum {
	OWN_THREAD_NAME,
	OWN_PID,
	OWN_TID,
	OWN_BUILD_ID,
};

struct writer {
	const struct profile *p;
	struct text_out *to;
	struct intern attributes; /* keys are struct attribute; number = id + 1 */
	struct buf row, inner, text;
	struct buf profile; /* one Profile, whose length stands before it */
	bool full;
};

static void otlp_writer_done(struct writer *w)
{
	intern_done(&w->attributes);
	buf_done(&w->row);
	buf_done(&w->inner);
	buf_done(&w->text);
	buf_done(&w->profile);
}

/* --- protobuf -------------------------------------------------------------------------------- */

static void put_buf(struct buf *b, uint32_t field, struct buf *from)
{
	b->failed |= from->failed;
	b->no_memory |= from->no_memory;
	protobuf_put_bytes(b, field, from->p, from->len);
	buf_reset(from);
}

static size_t uleb_len(uint64_t v)
{
	size_t n = 1;

	while (v >>= 7)
		n++;
	return n;
}

/* Writes the head of a message of len bytes. */
static void put_head(struct buf *b, uint32_t field, size_t len)
{
	protobuf_put_tag(b, field, WIRE_BYTES);
	buf_uleb(b, len);
}

static size_t head_len(size_t len)
{
	return 1 + uleb_len(len); /* the tags of fields up to 15 have one byte */
}

/* --- the dictionary -------------------------------------------------------------------------- */

static uint32_t own_string(const struct writer *w, uint32_t number)
{
	return (uint32_t)w->p->strings.count + number;
}

static uint32_t add_attribute(struct writer *w, struct attribute a)
{
	uint32_t id = intern_add(&w->attributes, &a, sizeof(a), NULL);

	w->full |= id == INTERN_FULL;
	return id + 1;
}

static uint32_t label_attribute(struct writer *w, const struct profile_label *l)
{
	struct profile_text key = profile_text(w->p, l->key);
	struct attribute a = {l->key, l->text, l->unit, 0, l->text ? 0 : l->num};

	if (profile_text_is(key, "thread"))
		a.key = own_string(w, OWN_THREAD_NAME);
	else if (profile_text_is(key, "pid"))
		a.key = own_string(w, OWN_PID);
	else if (profile_text_is(key, "tid"))
		a.key = own_string(w, OWN_TID);
	return add_attribute(w, a);
}

static uint32_t build_id_attribute(struct writer *w, uint32_t build_id)
{
	return add_attribute(
		w, (struct attribute){.key = own_string(w, OWN_BUILD_ID), .text = build_id});
}

/* put_...() write a row to w->row, which is then appended to the dictionary as one field. */
static void put_mapping(struct writer *w, uint32_t i)
{
	const struct profile_module *m = &w->p->modules[i];

	protobuf_put_number(&w->row, MAPPING_START, m->start);
	protobuf_put_number(&w->row, MAPPING_LIMIT, m->limit);
	protobuf_put_number(&w->row, MAPPING_FILE_OFF, m->file_off);
	protobuf_put_number(&w->row, MAPPING_FILENAME, m->path);
	if (m->build_id) {
		buf_uleb(&w->inner, build_id_attribute(w, m->build_id));
		put_buf(&w->row, MAPPING_ATTRIBUTES, &w->inner);
	}
}

static void put_location(struct writer *w, uint32_t i)
{
	struct profile_location l = profile_location(w->p, i);

	protobuf_put_number(&w->row, LOCATION_MAPPING,
			    l.module == PROFILE_NONE ? 0 : (uint64_t)l.module + 1);
	protobuf_put_number(&w->row, LOCATION_ADDRESS, l.address);
	for (size_t k = 0; k < l.line_count; k++) {
		protobuf_put_number(&w->inner, LINE_FUNCTION, (uint64_t)l.lines[k].function + 1);
		protobuf_put_number(&w->inner, LINE_LINE, l.lines[k].line);
		put_buf(&w->row, LOCATION_LINES, &w->inner);
	}
}

static void put_otlp_function(struct writer *w, uint32_t i)
{
	struct profile_function f = profile_function(w->p, i);

	protobuf_put_number(&w->row, FUNCTION_NAME, f.name);
	protobuf_put_number(&w->row, FUNCTION_SYSTEM_NAME, f.system_name);
	protobuf_put_number(&w->row, FUNCTION_FILENAME, f.file);
	protobuf_put_number(&w->row, FUNCTION_START_LINE, f.start_line);
}

static void put_stack(struct writer *w, uint32_t i)
{
	const uint32_t *locations;
	size_t count;

	locations = profile_stack(w->p, i, &count);
	for (size_t k = 0; k < count; k++)
		buf_uleb(&w->inner, (uint64_t)locations[k] + 1);
	if (count)
		put_buf(&w->row, STACK_LOCATIONS, &w->inner);
}

static void put_attribute(struct writer *w, uint32_t i)
{
	struct attribute a;
	size_t len;

	memcpy(&a, intern_get(&w->attributes, i, &len), sizeof(a));
	protobuf_put_number(&w->row, ATTRIBUTE_KEY, a.key);
	if (a.text) {
		struct profile_text t = profile_text(w->p, a.text);

		utf8_append(&w->text, t.p, t.len);
		put_buf(&w->inner, ANY_STRING, &w->text);
	} else { /* a member of a oneof is written even if it is 0 */
		protobuf_put_tag(&w->inner, ANY_INT, WIRE_VARINT);
		buf_uleb(&w->inner, (uint64_t)a.num);
	}
	put_buf(&w->row, ATTRIBUTE_VALUE, &w->inner);
	protobuf_put_number(&w->row, ATTRIBUTE_UNIT, a.unit);
}

typedef void put_fn(struct writer *w, uint32_t i);

/* Writes a table: an empty row, then ours. Each row is written as a dictionary message of its own;
 * parsers join equal fields that come in several pieces. */
static int write_table(struct writer *w, uint32_t field, size_t count, put_fn *put, struct err *err)
{
	for (size_t i = 0; i <= count; i++) {
		size_t len;

		if (i)
			put(w, (uint32_t)i - 1);
		if (w->row.failed)
			return err_full(err, w->row.no_memory, "OTLP: a row is too long");
		len = w->row.len;
		put_head(&w->to->buf, DATA_DICTIONARY, head_len(len) + len);
		put_buf(&w->to->buf, field, &w->row);
		TRY(text_out_spill(w->to, err));
	}
	return 0;
}

static void put_string(struct writer *w, uint32_t i)
{
	uint32_t string = i + 1; /* the empty string is the profile's own row 0 */
	size_t count = w->p->strings.count;
	struct profile_text t;

	if (string < count) {
		t = profile_text(w->p, string);
		utf8_append(&w->row, t.p, t.len);
	} else {
		buf_str(&w->row, own_strings[string - count]);
	}
}

static int write_dictionary(struct writer *w, struct err *err)
{
	const struct profile *p = w->p;
	const struct {
		uint32_t field;
		size_t count;
		put_fn *put;
	} tables[] = {
		{DICTIONARY_MAPPING, p->module_keys.count, put_mapping},
		{DICTIONARY_LOCATION, p->locations.count, put_location},
		{DICTIONARY_FUNCTION, p->functions.count, put_otlp_function},
		{DICTIONARY_LINK, 0, NULL},
		{DICTIONARY_STRING, p->strings.count - 1 + ARRAY_LEN(own_strings), put_string},
		{DICTIONARY_STACK, p->stacks.count, put_stack},
		{DICTIONARY_ATTRIBUTE, w->attributes.count, put_attribute},
	};

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		size_t count =
			tables[i].put == put_attribute ? w->attributes.count : tables[i].count;

		TRY(write_table(w, tables[i].field, count, tables[i].put, err));
	}
	return 0;
}

/* --- profiles -------------------------------------------------------------------------------- */

static void put_otlp_value_type(struct buf *b, struct profile_value_type t)
{
	protobuf_put_number(b, VALUE_TYPE_TYPE, t.type);
	protobuf_put_number(b, VALUE_TYPE_UNIT, t.unit);
}

static void put_sample(struct writer *w, uint32_t sample, int64_t value)
{
	struct profile_sample s = profile_sample(w->p, sample);
	const struct profile_label *labels;
	size_t count;

	protobuf_put_number(&w->row, SAMPLE_STACK, (uint64_t)s.stack + 1);
	labels = profile_labels(w->p, s.labels, &count);
	for (size_t i = 0; i < count; i++)
		buf_uleb(&w->inner, label_attribute(w, &labels[i]));
	if (count)
		put_buf(&w->row, SAMPLE_ATTRIBUTES, &w->inner);
	buf_uleb(&w->inner, (uint64_t)value);
	put_buf(&w->row, SAMPLE_VALUES, &w->inner);
	put_buf(&w->profile, PROFILE_SAMPLES, &w->row);
}

static int make_profile(struct writer *w, uint32_t value, struct err *err)
{
	const struct profile *p = w->p;
	/* an id of 16 bytes that no other profile of this message has */
	uint64_t id[2] = {(uint64_t)p->time_ns + 1, value};

	put_otlp_value_type(&w->inner, p->value_types[value]);
	put_buf(&w->profile, PROFILE_SAMPLE_TYPE, &w->inner);
	for (uint32_t i = 0; i < p->samples.count; i++) {
		int64_t v = profile_values(p, i)[value];

		if (v)
			put_sample(w, i, v);
	}
	protobuf_put_tag(&w->profile, PROFILE_TIME, WIRE_FIXED64);
	buf_u64(&w->profile, (uint64_t)p->time_ns);
	protobuf_put_number(&w->profile, PROFILE_DURATION, (uint64_t)p->duration_ns);
	if (p->period_type.type) {
		put_otlp_value_type(&w->inner, p->period_type);
		put_buf(&w->profile, PROFILE_PERIOD_TYPE, &w->inner);
	}
	protobuf_put_number(&w->profile, PROFILE_PERIOD, (uint64_t)p->period);
	protobuf_put_bytes(&w->profile, PROFILE_ID, id, sizeof(id));
	if (w->profile.failed || w->full)
		return err_full(err, w->profile.no_memory || w->attributes.no_memory,
				"OTLP: more than the limits of a profile allow");
	return 0;
}

/* Writes ProfilesData > ResourceProfiles > ScopeProfiles > Profile. */
static int write_profile(struct writer *w, uint32_t value, struct err *err)
{
	static const char name[] = "rawstack";
	struct buf *out = &w->to->buf;
	size_t scope = head_len(sizeof(name) - 1) + sizeof(name) - 1, inner, resource;
	int rc;

	TRY(make_profile(w, value, err));
	inner = head_len(scope) + scope + head_len(w->profile.len) + w->profile.len;
	resource = head_len(inner) + inner;
	put_head(out, DATA_RESOURCE_PROFILES, resource);
	put_head(out, RESOURCE_SCOPE_PROFILES, inner);
	put_head(out, SCOPE_SCOPE, scope);
	protobuf_put_bytes(out, SCOPE_NAME, name, sizeof(name) - 1);
	put_head(out, SCOPE_PROFILES, w->profile.len);
	rc = text_out_end(w->to, err);
	if (!rc)
		rc = w->to->write(w->to->ctx, w->profile.p, w->profile.len, err);
	buf_reset(&w->profile);
	return rc;
}

int otlp_write(const struct profile *p, struct text_out *to, struct err *err)
{
	_cleanup_(otlp_writer_done) struct writer w = {
		.p = p,
		.to = to,
		.attributes = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES),
		.row = BUF_INIT(LIMIT_ROW_LEN),
		.inner = BUF_INIT(LIMIT_ROW_LEN),
		.text = BUF_INIT(LIMIT_ROW_LEN),
		.profile = BUF_INIT(INT32_MAX),
	};

	for (uint32_t i = 0; i < p->value_count; i++)
		TRY(write_profile(&w, i, err));
	TRY(write_dictionary(&w, err));
	return text_out_end(to, err);
}
