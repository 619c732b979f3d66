/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "spool_sample_code.h"
#include "spool_segment.h"
#include "spool_slice.h"

struct spool_reader {
	const struct io *io;
	int dir_fd;
	uint64_t damaged_len; /* of the segments that were left behind */
	struct spool_skipped skipped;
	uint64_t end_segment;
	uint32_t end_off;
	bool only_looks; /* does not wait for incomplete writes */
	bool has_end;    /* ends at end_segment, end_off: the spool's end when reading began */
	uint64_t ack_segment, ack_place;   /* where rewind goes */
	uint64_t next_segment, next_place; /* the end of the last batch that was returned */
	uint64_t last_place;               /* the beginning of that batch */

	uint64_t segment; /* the one being read, or to go on behind */
	uint64_t place;   /* in it, the end of the last sample taken */
	struct spool_file file;
	struct spool_cursor cursor;
	struct spool_tables tables; /* of the segment, as far as it was read */
	uint64_t losses[SPOOL_LOSS_COUNT];

	/* The SAMPLES record being handed out; borrowed from the cursor. */
	struct bytes record;
	uint32_t record_off, record_count, record_taken;
	bool in_record;
	struct spool_guess guess;

	struct spool_slice slice;
	bool names_late;
	struct spool_late late;
	uint64_t damaged_before; /* cursor.damaged_len when the batch began */
};

/* --- records --------------------------------------------------------------------------------- */

/* Reads the next sample of the record; false: no more, or the rest is damaged. */
static bool next_sample(struct spool_reader *r, struct spool_sample *ret)
{
	if (r->record_taken == r->record_count)
		return false;
	if (spool_sample_decode(&r->guess, &r->record, ret)) {
		r->record_taken++;
		return true;
	}
	r->cursor.damaged_len += r->record.left;
	r->record_taken = r->record_count;
	return false;
}

static void begin_samples(struct spool_reader *r, const struct spool_record *rec)
{
	struct spool_sample passed;
	uint32_t skip = 0;
	uint64_t base;

	r->record = bytes_of(rec->payload, rec->len);
	r->record_off = rec->off;
	base = bytes_u64(&r->record);
	r->record_count = bytes_u32(&r->record);
	spool_guess_begin(&r->guess, base, bytes_u32(&r->record));
	r->record_taken = 0;
	r->in_record = true;
	if (rec->off < spool_place_off(r->place))
		skip = r->record_count;
	else if (rec->off == spool_place_off(r->place))
		skip = spool_place_samples(r->place);
	if (skip >= r->record_count) {
		r->in_record = false;
		return;
	}
	while (skip-- && next_sample(r, &passed))
		;
}

/* Moves samples of the current record into the batch, until either ends. */
static int take_samples(struct spool_reader *r, size_t max_samples, struct err *err)
{
	struct spool_sample s;

	while (!spool_slice_is_full(&r->slice, max_samples) && next_sample(r, &s)) {
		TRY(spool_slice_add(&r->slice, &s, err));
	}
	if (r->record_taken == r->record_count)
		r->in_record = false;
	return 0;
}

static void end_batch(struct spool_reader *r, uint64_t from_place, struct spool_batch *ret)
{
	*ret = (struct spool_batch){
		.origin = r->file.info.origin,
		.damaged_len = r->cursor.damaged_len - r->damaged_before,
		.segment = r->segment,
		.end_offset = r->place,
		.place = from_place,
	};
	spool_slice_end(&r->slice, ret);
	memcpy(ret->losses, r->losses, sizeof(ret->losses));
	memcpy(ret->id, r->file.info.origin.host_id, 16);
	memcpy(ret->id + 16, r->file.info.origin.boot_id, 16);
	/* Big-endian, so that ids of one boot sort in order. */
	for (int i = 0; i < 8; i++) {
		ret->id[32 + i] = (uint8_t)(r->segment >> (56 - 8 * i));
		ret->id[40 + i] = (uint8_t)(from_place >> (56 - 8 * i));
	}
}

/* --- from segment to segment ----------------------------------------------------------------- */

static void close_reader_segment(struct spool_reader *r)
{
	if (r->file.fd < 0)
		return;
	r->damaged_len += r->cursor.damaged_len;
	spool_cursor_done(&r->cursor);
	spool_file_close(&r->file);
	r->in_record = false;
}

/* Counts a segment of another format once, though a rewind meets it again. */
static void count_skipped(struct spool_reader *r, uint64_t number, const struct err *why)
{
	if (number <= r->skipped.last)
		return;
	r->skipped.count++;
	r->skipped.last = number;
	r->skipped.why = *why;
}

/* Returns 1 when the segment is open, 0 when it is gone, damaged or of another format, or negative.
 * After 0 r->segment is its number, so that the search goes on behind it. */
static int open_reader_segment(struct spool_reader *r, uint64_t number, uint64_t place,
			       struct err *err)
{
	struct err why = {0};
	int rc = spool_file_open(&r->file, r->io, r->dir_fd, number, &why);

	if (rc && rc != ERR_DATA && rc != ERR_NOT_FOUND && rc != ERR_UNSUPPORTED) {
		if (err)
			*err = why;
		return rc;
	}
	r->segment = number;
	if (rc == ERR_UNSUPPORTED)
		count_skipped(r, number, &why);
	/* A damaged header does not tell how much was behind it. */
	if (rc == ERR_DATA)
		r->damaged_len += SPOOL_HEADER_LEN;
	if (rc)
		return 0;
	r->place = place ? place : r->file.info.records_off;
	spool_cursor_init(&r->cursor, &r->file, r->file.info.records_off);
	spool_tables_reset(&r->tables);
	memset(r->losses, 0, sizeof(r->losses));
	return 1;
}

/* Finds the number of the first segment at or above `from`. Returns 1, 0 when there is none, or
 * negative. */
static int find_segment(struct spool_reader *r, uint64_t from, uint64_t *ret, struct err *err)
{
	struct spool_segments found;
	struct spool_drops drops;
	int rc = spool_segments_list(r->io, r->dir_fd, &found, err);
	size_t i = 0;

	if (rc)
		return rc;
	/* A dropped segment that still exists is counted already. */
	spool_drops_read(r->io, r->dir_fd, &drops);
	if (from <= drops.segment)
		from = drops.segment + 1;
	while (i < found.count && found.numbers[i] < from)
		i++;
	rc = i < found.count;
	if (rc)
		*ret = found.numbers[i];
	free(found.numbers);
	return rc;
}

/* Finds where a viewer stops: a writer may add faster than a viewer reads. */
static int find_end(struct spool_reader *r, struct err *err)
{
	struct spool_segments found;

	if (!r->only_looks || r->has_end)
		return 0;
	TRY(spool_segments_list(r->io, r->dir_fd, &found, err));
	r->end_segment = found.count ? found.numbers[found.count - 1] : 0;
	free(found.numbers);
	r->end_off = r->end_segment ? spool_segment_end(r->io, r->dir_fd, r->end_segment) : 0;
	r->has_end = true;
	return 0;
}

static bool is_at_end(const struct spool_reader *r)
{
	return r->has_end && r->segment == r->end_segment && r->cursor.off >= r->end_off;
}

/* Takes in one record. The samples of a record are taken later, as many as a batch may have. */
static int take_record(struct spool_reader *r, const struct spool_record *rec, struct err *err)
{
	const struct bytes payload = bytes_of(rec->payload, rec->len);

	switch (rec->type) {
	case SPOOL_RECORD_SAMPLES:
		begin_samples(r, rec);
		return 0;
	case SPOOL_RECORD_LOSSES:
		spool_losses_read(payload, r->losses);
		return 0;
	case SPOOL_RECORD_FILE_SEGMENTS:
		spool_tables_read_file_segments(&r->tables, payload);
		return 0;
	case SPOOL_RECORD_STRINGS:
	case SPOOL_RECORD_MODULES:
	case SPOOL_RECORD_LOCATIONS:
	case SPOOL_RECORD_STACKS:
	case SPOOL_RECORD_THREADS:
		return spool_tables_read(&r->tables,
					 (enum spool_table_kind)(rec->type - SPOOL_RECORD_STRINGS),
					 payload, &r->cursor.damaged_len, err);
	default:
		return 0;
	}
}

/* Fills the slice from the records of the segment, until it is full or there are no more. */
static int fill_slice(struct spool_reader *r, bool finished, size_t max_samples, struct err *err)
{
	while (!spool_slice_is_full(&r->slice, max_samples)) {
		if (!r->in_record) {
			struct spool_record rec;
			int rc;

			if (is_at_end(r))
				return 0;
			rc = spool_cursor_next(&r->cursor, finished, &rec, err);
			if (rc <= 0)
				return rc;
			TRY(take_record(r, &rec, err));
			if (!r->in_record)
				continue;
		}
		TRY(spool_slice_grow(&r->slice, err));
		TRY(take_samples(r, max_samples, err));
		r->place =
			r->in_record ? spool_place(r->record_off, r->record_taken) : r->cursor.off;
	}
	return 0;
}

static int next_in_segment(struct spool_reader *r, bool finished, size_t max_samples,
			   struct spool_batch *ret, struct err *err)
{
	uint64_t from_place = r->place;
	int rc;

	spool_slice_begin(&r->slice);
	if (r->names_late)
		spool_slice_name(&r->slice, &r->late, r->file.info.origin.boot_id);
	r->damaged_before = r->cursor.damaged_len;
	rc = fill_slice(r, finished, max_samples, err);
	if (rc < 0) {
		/* Nothing that this batch took is lost: the segment is read again next time. */
		close_reader_segment(r);
		r->segment--;
		return rc;
	}
	if (!r->slice.samples.count)
		return 0;
	end_batch(r, from_place, ret);
	r->next_segment = r->segment;
	r->next_place = r->place;
	return 1;
}

int spool_reader_next(struct spool_reader *r, size_t max_samples, struct spool_batch *ret,
		      struct err *err)
{
	uint64_t next = 0;
	int rc;

	if (!max_samples)
		return err_set(err, ERR_USAGE, "a batch has at least one sample");
	TRY(find_end(r, err));
	if (r->names_late)
		spool_late_look(&r->late, r->file.fd >= 0 ? r->segment : r->segment + 1);
	for (;;) {
		/* The next segment is looked for before reading: if it exists, nobody adds to the
		 * current one any more, and its end is final. */
		rc = find_segment(r, r->segment + 1, &next, err);
		if (rc < 0)
			return rc;
		if (r->file.fd >= 0) {
			bool finished = rc == 1;

			rc = next_in_segment(r, finished || r->only_looks, max_samples, ret, err);
			if (rc == 1) {
				ret->is_final = finished;
				ret->is_stable =
					finished || spool_slice_is_full(&r->slice, max_samples);
				r->last_place = ret->place;
			}
			if (rc || !finished)
				return rc;
			close_reader_segment(r);
		}
		if (rc == 0 && r->file.fd < 0) {
			rc = find_segment(r, r->segment + 1, &next, err);
			if (rc <= 0)
				return rc;
		}
		if (r->has_end && next > r->end_segment)
			return 0;
		rc = open_reader_segment(r, next, next == r->next_segment ? r->next_place : 0, err);
		if (rc < 0)
			return rc;
	}
}

/* --- the public rest ------------------------------------------------------------------------- */

int spool_reader_open(struct spool_reader **ret, const char *dir, const struct io *io,
		      struct err *err)
{
	struct spool_reader *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return err_no_memory(err);
	r->io = io ? io : io_system();
	r->file.fd = r->late.file.fd = -1;
	spool_tables_init(&r->tables);
	spool_slice_init(&r->slice, &r->tables);
	r->dir_fd = r->io->open(r->io->ctx, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	if (r->dir_fd < 0) {
		rc = err_sys(err, -r->dir_fd, "%s", dir);
		spool_reader_close(r);
		return rc;
	}
	spool_late_init(&r->late, r->io, r->dir_fd);
	rc = spool_ack_read(r->io, r->dir_fd, &r->ack_segment, &r->ack_place, err);
	if (rc) {
		spool_reader_close(r);
		return rc;
	}
	spool_reader_rewind(r);
	*ret = r;
	return 0;
}

int spool_reader_ack(struct spool_reader *r, const struct spool_batch *batch, struct err *err)
{
	int rc = spool_ack_write(r->io, r->dir_fd, batch->segment, batch->end_offset, err);

	if (rc)
		return err_prefix(err, "acknowledgement of the spool");
	r->ack_segment = batch->segment;
	r->ack_place = batch->end_offset;
	return 0;
}

void spool_reader_seek(struct spool_reader *r, uint64_t segment, uint64_t place)
{
	close_reader_segment(r);
	r->segment = segment - 1;
	r->next_segment = segment;
	r->next_place = place;
}

void spool_reader_name_late(struct spool_reader *r)
{
	r->names_late = true;
}

void spool_reader_back(struct spool_reader *r)
{
	spool_reader_seek(r, r->next_segment, r->last_place);
}

void spool_reader_rewind(struct spool_reader *r)
{
	close_reader_segment(r);
	r->only_looks = r->has_end = false;
	r->damaged_len = 0;
	r->segment = r->ack_segment ? r->ack_segment - 1 : 0;
	r->next_segment = r->ack_segment;
	r->next_place = r->ack_place;
}

void spool_reader_from_start(struct spool_reader *r)
{
	close_reader_segment(r);
	r->segment = r->next_segment = r->next_place = 0;
	r->only_looks = true;
	r->has_end = false;
	r->damaged_len = 0;
	r->skipped = (struct spool_skipped){.count = 0};
}

void spool_reader_skipped(const struct spool_reader *r, struct spool_skipped *ret)
{
	*ret = r->skipped;
}

uint64_t spool_reader_damaged_len(const struct spool_reader *r)
{
	return r->damaged_len + (r->file.fd >= 0 ? r->cursor.damaged_len : 0);
}

void spool_reader_close(struct spool_reader *r)
{
	if (!r)
		return;
	close_reader_segment(r);
	spool_tables_done(&r->tables);
	spool_slice_done(&r->slice);
	spool_late_done(&r->late);
	if (r->dir_fd >= 0)
		r->io->close(r->io->ctx, r->dir_fd);
	free(r);
}
