/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_stats.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "bytes.h"

static uint64_t entries_of(const struct spool_record *rec)
{
	struct bytes in = bytes_of(rec->payload, rec->len);

	if (rec->type == SPOOL_RECORD_SAMPLES)
		bytes_skip(&in, 8);
	else if (rec->type <= SPOOL_RECORD_THREADS)
		bytes_skip(&in, 4);
	else if (rec->type != SPOOL_RECORD_LOSSES && rec->type != SPOOL_RECORD_LATE &&
		 rec->type != SPOOL_RECORD_FILE_SEGMENTS)
		return 0;
	return bytes_u32(&in);
}

static void add_segment(struct spool_stats *s, int dir_fd, uint64_t number)
{
	_cleanup_(spool_file_close) struct spool_file file;
	_cleanup_(spool_cursor_done) struct spool_cursor c = {.file = NULL};
	struct spool_record rec;
	struct stat st;
	int rc = spool_file_open(&file, io_system(), dir_fd, number, NULL);

	s->segments++;
	s->unread += rc == ERR_UNSUPPORTED;
	if (rc && rc != ERR_UNSUPPORTED)
		s->damaged_len += SPOOL_HEADER_LEN;
	if (rc)
		return;
	if (fstat(file.fd, &st) == 0)
		s->len += (uint64_t)st.st_size;
	s->packed += file.info.block_count > 0;
	spool_cursor_init(&c, &file, file.info.records_off);
	for (uint32_t before = c.off; spool_cursor_next(&c, true, &rec, NULL) == 1;
	     before = c.off) {
		if (rec.type >= SPOOL_STATS_TYPES)
			continue;
		s->types[rec.type].records++;
		s->types[rec.type].entries += entries_of(&rec);
		s->types[rec.type].len += c.off - before;
		if (rec.type == SPOOL_RECORD_SAMPLES)
			s->samples += entries_of(&rec);
	}
	s->raw_len += c.off;
	s->damaged_len += c.damaged_len;
}

int spool_stats_read(struct spool_stats *ret, const char *dir, struct err *err)
{
	_cleanup_(closep) int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct spool_segments found = {0};

	*ret = (struct spool_stats){0};
	if (dir_fd < 0)
		return err_sys(err, errno, "%s", dir);
	TRY(spool_segments_list(io_system(), dir_fd, &found, err));
	for (size_t i = 0; i < found.count; i++)
		add_segment(ret, dir_fd, found.numbers[i]);
	free(found.numbers);
	return 0;
}
