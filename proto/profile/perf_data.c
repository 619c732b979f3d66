/* SPDX-License-Identifier: Apache-2.0 */
/* perf.data: the file around the events. perf_records.c puts them in order, perf_events.c applies
 * them. */
#include "perf_data.h"

#include <inttypes.h>
#include <linux/perf_event.h>

#include "buf.h"
#include "limits.h"
#include "perf_data_priv.h"
#include "perf_expand.h"

/* The most kinds of events in a perf.data file, and of their ids, one for each CPU. */
#define LIMIT_PERF_ATTRS LIMIT(4096)
#define LIMIT_PERF_IDS   LIMIT(1048576)

/* "PERFILE2" as little-endian bytes, and as a big-endian machine writes it. */
static const char magic[] = "PERFILE2", magic_swapped[] = "2ELIFREP";

enum {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_EVENT_DESC = 12,
	FEATURE_COUNT = 256,
};

#define FILE_HEADER_LEN 104
#define PIPE_HEADER_LEN 16
/* perf_event_attr up to the flags; the later fields are not needed */
#define ATTR_LEN_MIN    48
#define ATTR_FREQ       (1u << 10)
#define ATTR_ID_ALL     (1u << 18)
#define ATTR_BUILD_ID   (UINT64_C(1) << 34)

/* A build id record with this misc bit contains the length of its id; in others it has 20 bytes. */
#define MISC_BUILD_ID_SIZE (1u << 15)
#define BUILD_ID_MAX       20

static void perf_reader_done(struct perf_reader **rp)
{
	struct perf_reader *r = *rp;

	if (!r)
		return;
	free(r->attrs);
	free(r->id_attrs);
	free(r->path_ids);
	free(r->object_rows);
	free(r->comms);
	intern_done(&r->ids);
	intern_done(&r->paths);
	intern_done(&r->objects);
	intern_done(&r->tids);
	perf_maps_done(&r->maps);
	free(r);
}

static struct perf_reader *reader_new(struct profile *p, struct err *err)
{
	struct perf_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->p = p;
	r->err = err;
	r->first_ns = UINT64_MAX;
	perf_maps_init(&r->maps);
	r->ids = (struct intern)INTERN_INIT(LIMIT_PERF_IDS, LIMIT_PERF_IDS * sizeof(uint64_t));
	r->paths = (struct intern)INTERN_INIT(LIMIT_PERF_OBJECTS, LIMIT_PROFILE_BYTES);
	r->objects = (struct intern)INTERN_INIT(LIMIT_PERF_OBJECTS, LIMIT_PROFILE_BYTES);
	r->tids = (struct intern)INTERN_INIT(LIMIT_PERF_PIDS, LIMIT_PERF_PIDS * sizeof(int32_t));
	return r;
}

static int perf_data_damaged(struct perf_reader *r, const char *what)
{
	return err_set(r->err, ERR_DATA, "perf.data: damaged %s", what);
}

/* --- what was recorded ----------------------------------------------------------------------- */

/* Returns the usual name of an event; other events have one only if perf wrote descriptions. */
static const char *attr_name(const struct perf_attr *a)
{
	static const char *const software[] = {
		"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
	};
	static const char *const hardware[] = {
		"cycles",
		"instructions",
		"cache-references",
		"cache-misses",
		"branches",
		"branch-misses",
		"bus-cycles",
		"stalled-cycles-frontend",
		"stalled-cycles-backend",
		"ref-cycles",
	};

	if (a->type == PERF_TYPE_SOFTWARE && a->config < ARRAY_LEN(software))
		return software[a->config];
	if (a->type == PERF_TYPE_HARDWARE && a->config < ARRAY_LEN(hardware))
		return hardware[a->config];
	return NULL;
}

static int add_attr(struct perf_reader *r, struct bytes in)
{
	struct perf_attr a = {0};
	const char *name;
	uint64_t flags;

	a.type = bytes_u32(&in);
	bytes_skip(&in, 4);
	a.config = bytes_u64(&in);
	a.period = bytes_u64(&in);
	a.sample_type = bytes_u64(&in);
	a.read_format = bytes_u64(&in);
	flags = bytes_u64(&in);
	if (in.failed)
		return perf_data_damaged(r, "event attributes");
	a.sample_id_all = flags & ATTR_ID_ALL;
	a.fixed_period = !(flags & ATTR_FREQ);
	r->asked_build_ids |= (flags & ATTR_BUILD_ID) != 0;
	name = attr_name(&a);
	if (name)
		a.name = profile_cstr(r->p, name);
	if (!GROW(r->attrs, &r->attrs_cap, r->attr_count + 1, LIMIT_PERF_ATTRS))
		return perf_reader_full(r);
	r->attrs[r->attr_count++] = a;
	return 0;
}

/* Adds the event ids of attribute number `attr`. */
static int add_ids(struct perf_reader *r, struct bytes in, uint32_t attr)
{
	while (in.left) {
		uint64_t id = bytes_u64(&in);
		bool fresh;
		uint32_t row;

		if (in.failed)
			return perf_data_damaged(r, "list of event ids");
		if (!GROW(r->id_attrs, &r->id_attrs_cap, r->ids.count + 1, LIMIT_PERF_IDS + 1))
			return perf_reader_full(r);
		row = intern_add(&r->ids, &id, sizeof(id), &fresh);
		if (row == INTERN_FULL)
			return perf_reader_full(r);
		r->id_attrs[row] = attr;
	}
	return 0;
}

static int read_attrs(struct perf_reader *r, struct bytes file, struct bytes attrs,
		      uint64_t attr_len)
{
	if (attr_len < ATTR_LEN_MIN + 16 || attr_len > 4096)
		return perf_data_damaged(r, "header");
	while (attrs.left) {
		const uint8_t *p = bytes_take(&attrs, attr_len);
		struct bytes tail, ids;
		uint64_t off, len;

		if (!p)
			return perf_data_damaged(r, "list of events");
		tail = bytes_of(p + attr_len - 16, 16);
		off = bytes_u64(&tail);
		len = bytes_u64(&tail);
		if (!perf_part(file, off, len, &ids))
			return perf_data_damaged(r, "list of event ids");
		TRY(add_attr(r, bytes_of(p, attr_len - 16)));
		TRY(add_ids(r, ids, (uint32_t)r->attr_count - 1));
	}
	return 0;
}

/* Reads an attribute. In pipe mode perf writes one record for each event: the attribute, whose
 * second u32 is its own length, then the ids. */
int perf_reader_attr(struct perf_reader *r, struct bytes body)
{
	struct bytes head = body;
	uint32_t len;
	int rc;

	bytes_skip(&head, 4);
	len = bytes_u32(&head);
	if (len < ATTR_LEN_MIN || len > body.left)
		return perf_data_damaged(r, "event attributes");
	rc = add_attr(r, bytes_of(body.p, len));
	bytes_skip(&body, len);
	return rc ? rc : add_ids(r, body, (uint32_t)r->attr_count - 1);
}

/* --- features -------------------------------------------------------------------------------- */

int perf_reader_build_id_record(struct perf_reader *r, uint16_t misc, struct bytes body)
{
	static const char kernel[] = "[kernel.kallsyms]";
	uint32_t len = BUILD_ID_MAX;
	const uint8_t *id;
	const char *path;
	size_t path_len;

	bytes_skip(&body, 4); /* pid */
	id = bytes_take(&body, 24);
	path = bytes_cstr(&body, &path_len);
	if (!path)
		return perf_data_damaged(r, "build id record");
	if (misc & MISC_BUILD_ID_SIZE)
		len = id[BUILD_ID_MAX];
	if (len > BUILD_ID_MAX)
		return perf_data_damaged(r, "build id record");
	if (path_len >= sizeof(kernel) - 1 && memcmp(path, kernel, sizeof(kernel) - 1) == 0)
		path_len = sizeof(kernel) - 1;
	if (path_len <= LIMIT_PATH_LEN && !perf_reader_build_id(r, path, path_len, id, len))
		return perf_reader_full(r);
	return 0;
}

static int read_build_ids(struct perf_reader *r, struct bytes in)
{
	while (in.left) {
		struct bytes head = in, body;
		uint16_t misc, len;

		bytes_skip(&head, 4);
		misc = bytes_u16(&head);
		len = bytes_u16(&head);
		if (len < PERF_HEADER_LEN || !perf_part(in, 0, len, &body))
			return perf_data_damaged(r, "table of build ids");
		bytes_skip(&in, len);
		bytes_skip(&body, PERF_HEADER_LEN);
		TRY(perf_reader_build_id_record(r, misc, body));
	}
	return 0;
}

/* Reads a length and so many bytes; their text ends at the first NUL. */
static uint32_t read_text(struct perf_reader *r, struct bytes *in)
{
	uint32_t len = bytes_u32(in);
	const uint8_t *p = bytes_take(in, len);

	return p ? profile_string(r->p, p, strnlen((const char *)p, len)) : 0;
}

/* Reads the names that the user gave the events, which are in the order of the attributes. */
static int read_event_names(struct perf_reader *r, struct bytes in)
{
	uint32_t count = bytes_u32(&in), attr_len = bytes_u32(&in);

	for (uint32_t i = 0; i < count && i < r->attr_count; i++) {
		uint32_t id_count, name;

		bytes_skip(&in, attr_len);
		id_count = bytes_u32(&in);
		name = read_text(r, &in);
		bytes_skip(&in, (size_t)id_count * 8);
		if (in.failed)
			return perf_data_damaged(r, "event descriptions");
		if (name && name != PROFILE_NONE)
			r->attrs[i].name = name;
	}
	return 0;
}

static int read_feature(struct perf_reader *r, unsigned int feature, struct bytes in)
{
	switch (feature) {
	case FEATURE_BUILD_ID:
		return read_build_ids(r, in);
	case FEATURE_EVENT_DESC:
		return read_event_names(r, in);
	case FEATURE_HOSTNAME: {
		struct profile_text host = profile_text(r->p, read_text(r, &in));

		if (in.failed)
			return perf_data_damaged(r, "host name");
		profile_comment(r->p, "host %.*s", (int)host.len, host.p);
		return 0;
	}
	}
	return 0;
}

/* Reads the table behind the data: one (offset, length) for each feature whose bit is set. */
static int read_features(struct perf_reader *r, struct bytes file, uint64_t table_off,
			 struct bytes bits)
{
	struct bytes table;

	if (!perf_part(file, table_off, 0, &table))
		return perf_data_damaged(r, "header");
	table = bytes_of(file.p + table_off, file.left - table_off);
	for (unsigned int i = 0; i < FEATURE_COUNT; i++) {
		uint64_t off, len;
		struct bytes in;

		if (!(bits.p[i / 8] >> (i % 8) & 1))
			continue;
		off = bytes_u64(&table);
		len = bytes_u64(&table);
		if (table.failed || !perf_part(file, off, len, &in))
			return perf_data_damaged(r, "table of features");
		TRY(read_feature(r, i, in));
	}
	return 0;
}

static bool counts_time(const struct perf_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE &&
	       (a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK);
}

static bool is_dummy(const struct perf_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_DUMMY;
}

static void describe_perf_data(struct perf_reader *r)
{
	struct profile *p = r->p;
	size_t real = 0;

	r->clocks = true;
	for (size_t i = 0; i < r->attr_count; i++) {
		if (is_dummy(&r->attrs[i]))
			continue;
		real++;
		r->clocks &= counts_time(&r->attrs[i]);
	}
	profile_value_type(p, "samples", "count");
	profile_value_type(p, r->clocks && real ? "cpu" : "period",
			   r->clocks && real ? "nanoseconds" : "count");
	p->default_type = p->value_types[1].type;
}

/* --- the file -------------------------------------------------------------------------------- */

bool perf_data_is(const void *file, size_t len)
{
	return len >= 8 && (memcmp(file, magic, 8) == 0 || memcmp(file, magic_swapped, 8) == 0);
}

/* Reads the headers around the data, and finds the data. */
static int read_perf_header(struct perf_reader *r, struct bytes file, struct bytes *data)
{
	struct bytes in = file, attrs, bits;
	uint64_t len, attr_len, attrs_off, attrs_len, off, data_len;

	bytes_skip(&in, 8);
	len = bytes_u64(&in);
	if (in.failed)
		return perf_data_damaged(r, "header");
	if (len == PIPE_HEADER_LEN) {
		*data = in;
		return 0;
	}
	attr_len = bytes_u64(&in);
	attrs_off = bytes_u64(&in);
	attrs_len = bytes_u64(&in);
	off = bytes_u64(&in);
	data_len = bytes_u64(&in);
	bytes_skip(&in, 16);
	bits = bytes_of(bytes_take(&in, FEATURE_COUNT / 8), FEATURE_COUNT / 8);
	if (in.failed || len < FILE_HEADER_LEN || !perf_part(file, attrs_off, attrs_len, &attrs))
		return perf_data_damaged(r, "header");
	TRY(read_attrs(r, file, attrs, attr_len));
	/* perf writes the length at its end; 0 means that perf was killed */
	if (!data_len && off <= file.left)
		return perf_part(file, off, file.left - off, data) ? 0
								   : perf_data_damaged(r, "header");
	if (!perf_part(file, off, data_len, data))
		return perf_data_damaged(r, "header: it is longer than the file");
	return read_features(r, file, off + data_len, bits);
}

/* Replaces data that perf compressed by its expanded records. */
static int expand_records(struct perf_reader *r, struct bytes *data, struct buf *out,
			  struct file_view *expanded)
{
	size_t lost = 0;
	int rc = perf_expand(*data, out, &lost, r->err);

	if (lost)
		profile_comment(r->p, "damaged: the last %zu bytes of the recording", lost);
	*data = bytes_of(out->p, out->len);
	*expanded = (struct file_view)FILE_VIEW_OF(out->p, out->len);
	r->file = expanded;
	return rc;
}

int perf_data_read(struct file_view *file, struct profile *p, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(LIMIT_PERF_EXPANDED);
	_cleanup_(perf_reader_done) struct perf_reader *r = NULL;
	struct file_view expanded;
	struct bytes data;

	if (!perf_data_is(file->p, file->len))
		return err_set(err, ERR_DATA, "perf.data: not a perf.data file");
	if (memcmp(file->p, magic, 8) != 0)
		return err_set(err, ERR_UNSUPPORTED, "perf.data: of a big-endian machine");
	r = reader_new(p, err);
	if (!r)
		return err_no_memory(err);
	r->file = file;
	TRY(read_perf_header(r, bytes_of(file->p, file->len), &data));
	if (perf_expand_is_needed(data))
		TRY(expand_records(r, &data, &out, &expanded));
	TRY(perf_records_note(r, data));
	if (!r->attr_count)
		return perf_data_damaged(r, "file: no events");
	describe_perf_data(r);
	TRY(perf_records_apply(r, data));
	if (r->last_ns > r->first_ns)
		p->duration_ns = (int64_t)(r->last_ns - r->first_ns);
	if (r->lost)
		profile_comment(p, "lost: %" PRIu64 " samples, by perf's count", r->lost);
	return p->failed ? perf_reader_full(r) : 0;
}
