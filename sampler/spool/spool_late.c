/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_late.h"
#include "bisect.h"
#include "limits.h"

#include <string.h>

/* Most bytes of late names that a reader keeps: enough for five processes with 4,096 functions
 * each, of 500 bytes. */
#define LIMIT_SPOOL_LATE_LEN (16 * MIB)

/* The names that one reading of a perf map gave for one process. */
struct spool_late_record {
	uint64_t segment, len; /* len: bytes that this record takes in memory */
	uint8_t boot_id[16];
	struct spool_late_scope scope;
	size_t count;
	const char *names;
	struct spool_late_range {
		uint64_t start, end;
		uint32_t name, name_len; /* in names */
	} ranges[];                      /* ascending */
};

void spool_late_init(struct spool_late *l, const struct io *io, int dir_fd)
{
	*l = (struct spool_late){.io = io, .dir_fd = dir_fd, .file.fd = -1};
}

static void close_late_segment(struct spool_late *l)
{
	if (l->file.fd < 0)
		return;
	spool_cursor_done(&l->cursor);
	spool_file_close(&l->file);
}

/* Forgets the records of segments below `from`. */
static void forget_below(struct spool_late *l, uint64_t from)
{
	size_t gone = 0;

	for (; gone < l->count && l->all[gone]->segment < from; gone++) {
		l->len -= l->all[gone]->len;
		free(l->all[gone]);
	}
	if (!gone)
		return;
	l->count -= gone;
	memmove(l->all, l->all + gone, l->count * sizeof(*l->all));
	l->by_pid_count = 0;
}

void spool_late_done(struct spool_late *l)
{
	close_late_segment(l);
	forget_below(l, UINT64_MAX);
	free(l->all);
	free(l->by_pid);
}

/* --- records --------------------------------------------------------------------------------- */

static int compare_ranges(const void *a, const void *b)
{
	const struct spool_late_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Bytes of the shortest range in a record: three numbers of one byte each. */
#define ENTRY_MIN 3

/* Returns a copy of a record with its ranges in order, up to the first damaged one, or NULL if it
 * is damaged before that or memory is short. */
static struct spool_late_record *record_of(const struct spool_late *l,
					   const struct spool_record *rec)
{
	struct bytes in = bytes_of(rec->payload, rec->len);
	const uint32_t count = bytes_u32(&in);
	const struct spool_late_scope scope = {
		.pid = bytes_u32(&in),
		.start_ns = bytes_u64(&in),
		.since_ns = bytes_u64(&in),
		.until_ns = bytes_u64(&in),
	};
	const uint8_t *names = in.p;
	const size_t names_len = in.left;
	struct spool_late_record *ret;
	size_t len;

	if (in.failed || count > in.left / ENTRY_MIN)
		return NULL;
	len = sizeof(*ret) + count * sizeof(*ret->ranges) + names_len;
	ret = malloc(len);
	if (!ret)
		return NULL;
	*ret = (struct spool_late_record){
		.segment = l->segment,
		.len = len,
		.scope = scope,
		.names = (const char *)&ret->ranges[count],
	};
	memcpy(ret->boot_id, l->file.info.origin.boot_id, sizeof(ret->boot_id));
	memcpy(&ret->ranges[count], names, names_len);
	while (ret->count < count) {
		struct spool_late_range *r = &ret->ranges[ret->count];
		uint64_t name_len;

		r->start = bytes_uleb(&in);
		if (!CHECKED_ADD(r->start, bytes_uleb(&in), &r->end))
			bytes_fail(&in);
		name_len = bytes_uleb(&in);
		if (name_len > LIMIT_PATH_LEN)
			bytes_fail(&in);
		r->name = (uint32_t)(names_len - in.left);
		r->name_len = (uint32_t)name_len;
		bytes_skip(&in, name_len);
		if (in.failed)
			break;
		ret->count++;
	}
	qsort(ret->ranges, ret->count, sizeof(*ret->ranges), compare_ranges);
	return ret;
}

static void take_late_record(struct spool_late *l, const struct spool_record *rec)
{
	struct spool_late_record *r = record_of(l, rec);

	if (!r)
		return;
	if (!GROW(l->all, &l->cap, l->count + 1, UINT32_MAX)) {
		free(r);
		return;
	}
	l->all[l->count++] = r;
	l->len += r->len;
}

/* --- looking ahead --------------------------------------------------------------------------- */

static bool late_is_full(const struct spool_late *l)
{
	return l->len >= LIMIT_SPOOL_LATE_LEN;
}

/* Reads what the open segment holds now, and closes it at its end if nobody adds to it any more. */
static void look_at_segment(struct spool_late *l, bool is_finished)
{
	struct spool_record rec;
	int rc = 1;

	while (!late_is_full(l) &&
	       (rc = spool_cursor_next(&l->cursor, is_finished, &rec, NULL)) == 1)
		if (rec.type == SPOOL_RECORD_LATE)
			take_late_record(l, &rec);
	if (rc < 0 || (rc == 0 && is_finished))
		close_late_segment(l);
}

static void open_late_segment(struct spool_late *l, uint64_t number)
{
	l->segment = number;
	if (spool_file_open(&l->file, l->io, l->dir_fd, number, NULL))
		return;
	if (l->file.info.late_told == 1) /* the header says that there are no such records */
		spool_file_close(&l->file);
	else
		spool_cursor_init(&l->cursor, &l->file, l->file.info.records_off);
}

static int compare_records(const void *a, const void *b, void *arg)
{
	const struct spool_late *l = arg;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint32_t x_pid = l->all[x]->scope.pid, y_pid = l->all[y]->scope.pid;

	return x_pid != y_pid ? (x_pid > y_pid) - (x_pid < y_pid) : (x > y) - (x < y);
}

static void sort_records(struct spool_late *l)
{
	if (l->by_pid_count == l->count)
		return;
	l->by_pid_count = 0;
	if (!GROW(l->by_pid, &l->by_pid_cap, l->count, UINT32_MAX))
		return;
	for (; l->by_pid_count < l->count; l->by_pid_count++)
		l->by_pid[l->by_pid_count] = (uint32_t)l->by_pid_count;
	qsort_r(l->by_pid, l->count, sizeof(*l->by_pid), compare_records, l);
}

void spool_late_look(struct spool_late *l, uint64_t from)
{
	struct spool_segments found;
	size_t i = 0;

	if (from < l->from)
		forget_below(l, UINT64_MAX);
	else
		forget_below(l, from);
	if (from < l->from || l->segment < from) {
		close_late_segment(l);
		l->segment = from ? from - 1 : 0;
	}
	l->from = from;
	/* The list is made before reading: a segment with another one behind it is finished. */
	if (spool_segments_list(l->io, l->dir_fd, &found, NULL))
		return;
	while (i < found.count && found.numbers[i] <= l->segment)
		i++;
	for (;;) {
		if (l->file.fd >= 0)
			look_at_segment(l, i < found.count);
		if (l->file.fd >= 0 || i == found.count || late_is_full(l))
			break;
		open_late_segment(l, found.numbers[i++]);
	}
	free(found.numbers);
	sort_records(l);
}

/* --- finding --------------------------------------------------------------------------------- */

/* Returns the index behind the last record of a pid. */
static size_t end_of_pid(const struct spool_late *l, uint32_t pid)
{
	return BISECT(l->by_pid_count, i, l->all[l->by_pid[i]]->scope.pid <= pid);
}

size_t spool_late_match(const struct spool_late *l, const uint8_t boot_id[static 16],
			const struct spool_thread *thread, uint64_t time_ns, uint32_t *ret,
			size_t most)
{
	size_t count = 0;

	for (size_t i = end_of_pid(l, thread->pid); i-- > 0 && count < most;) {
		const struct spool_late_record *r = l->all[l->by_pid[i]];

		if (r->scope.pid != thread->pid)
			break;
		if (r->scope.start_ns == thread->start_ns && time_ns >= r->scope.since_ns &&
		    time_ns <= r->scope.until_ns && !memcmp(r->boot_id, boot_id, 16))
			ret[count++] = l->by_pid[i];
	}
	return count;
}

static const struct spool_late_range *late_range_at(const struct spool_late_record *r, uint64_t pc)
{
	size_t next = BISECT(r->count, i, r->ranges[i].start <= pc);

	return next && pc < r->ranges[next - 1].end ? &r->ranges[next - 1] : NULL;
}

int spool_late_find(const struct spool_late *l, const uint32_t *records, size_t count, uint64_t pc,
		    struct spool_string *ret)
{
	for (size_t i = 0; i < count; i++) {
		const struct spool_late_record *r = l->all[records[i]];
		const struct spool_late_range *range = late_range_at(r, pc);

		if (!range || !range->name_len)
			continue;
		*ret = (struct spool_string){r->names + range->name, range->name_len};
		return 1;
	}
	return 0;
}
