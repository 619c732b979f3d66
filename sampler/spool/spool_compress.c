/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_compress.h"

#include <fcntl.h>
#include <stdio.h>

#include "crc32c.h"
#include "spool_zstd.h"

const char *spool_compressed_name(uint64_t segment, char name[static SPOOL_COMPRESSED_NAME_MAX])
{
	char of[SPOOL_NAME_MAX];

	snprintf(name, SPOOL_COMPRESSED_NAME_MAX, ".%s.packed.tmp",
		 spool_segment_name(segment, of));
	return name;
}

struct compression {
	struct spool_file from;
	int fd;
	struct spool_packer *packer;
	uint8_t *raw, *packed;
	uint64_t end; /* where the next block is written */
};

/* Reads SPOOL_BLOCK_LEN bytes, or less at the end of the file. Returns how many, or -errno. */
static ssize_t read_compressed_input(struct compression *s, uint64_t off)
{
	size_t got = 0;

	while (got < SPOOL_BLOCK_LEN) {
		ssize_t n =
			spool_file_pread(&s->from, s->raw + got, SPOOL_BLOCK_LEN - got, off + got);

		if (n < 0)
			return n;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

static int write_blocks(struct compression *s, struct spool_segment_info *info, struct err *err)
{
	/* The header gets room for as many blocks as there can be. */
	const uint64_t most = info->segment_len < LIMIT_SPOOL_SEGMENT
				      ? (info->segment_len + SPOOL_BLOCK_LEN - 1) / SPOOL_BLOCK_LEN
				      : SPOOL_BLOCKS_MAX;

	s->end = spool_header_len((uint32_t)most);
	for (;;) {
		struct spool_header_block *b;
		ssize_t n = read_compressed_input(s, info->raw_len);

		if (n < 0)
			return err_sys(err, (int)-n, "reading a spool segment");
		if (n == 0)
			return 0;
		if (info->block_count == most)
			return err_set(err, ERR_DATA, "a spool segment longer than it says");
		b = &info->blocks[info->block_count];
		b->off = (uint32_t)s->end;
		b->len = (uint32_t)spool_pack_block(s->packer, s->raw, (size_t)n, s->packed);
		b->crc = crc32c(0, s->packed, b->len);
		TRY(io_write_all(s->from.io, s->fd, s->packed, b->len, (off_t)s->end, err));
		info->block_count++;
		info->raw_len += (uint64_t)n;
		s->end += b->len;
		if (n < SPOOL_BLOCK_LEN)
			return 0;
	}
}

/* Counts records of type LATE, so that a reader need not unpack a segment that has none. Where
 * damage may hide some, the count is unknown. */
static uint32_t count_late(struct compression *s)
{
	_cleanup_(spool_cursor_done) struct spool_cursor c = {.file = NULL};
	struct spool_record rec;
	uint32_t ret = 1;

	spool_cursor_init(&c, &s->from, s->from.info.records_off);
	while (spool_cursor_next(&c, true, &rec, NULL) == 1)
		ret += rec.type == SPOOL_RECORD_LATE;
	return c.damaged_len ? 0 : ret;
}

static int fill_output(struct compression *s, struct err *err)
{
	const struct io *io = s->from.io;
	struct spool_segment_info info = s->from.info;
	uint8_t header[SPOOL_HEADER_MAX] = {0};
	int rc;

	info.raw_len = info.block_count = 0;
	info.block_len = SPOOL_BLOCK_LEN;
	info.late_told = count_late(s);
	TRY(write_blocks(s, &info, err));
	TRY(io_write_all(io, s->fd, header, spool_header_encode(&info, header), 0, err));
	rc = io->sync(io->ctx, s->fd);
	if (rc)
		return err_sys(err, -rc, "sync of a packed segment");
	return s->end < info.raw_len;
}

static int open_compression(struct compression *s, int dir_fd, const char *name, struct err *err)
{
	const struct io *io = s->from.io;

	s->raw = malloc(SPOOL_BLOCK_LEN);
	s->packed = malloc(SPOOL_BLOCK_LEN);
	s->packer = spool_packer_new();
	if (!s->raw || !s->packed || !s->packer)
		return err_no_memory(err);
	s->fd = io->open(io->ctx, dir_fd, name, O_RDWR | O_CREAT | O_EXCL, 0600);
	return s->fd < 0 ? err_sys(err, -s->fd, "%s", name) : 0;
}

int spool_compress(const struct io *io, int dir_fd, uint64_t segment, uint64_t *ret_len,
		   struct err *err)
{
	char name[SPOOL_COMPRESSED_NAME_MAX];
	struct compression s = {.fd = -1};
	int rc = 0;

	TRY(spool_file_open(&s.from, io, dir_fd, segment, err));
	spool_compressed_name(segment, name);
	if (!s.from.info.block_count)
		rc = open_compression(&s, dir_fd, name, err);
	if (s.fd >= 0) {
		rc = fill_output(&s, err);
		io->close(io->ctx, s.fd);
		if (rc <= 0)
			io->unlink(io->ctx, dir_fd, name);
	}
	*ret_len = s.end;
	spool_packer_free(s.packer);
	free(s.raw);
	free(s.packed);
	spool_file_close(&s.from);
	return rc;
}
