/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "crc32c.h"
#include "spool_zstd.h"

static int open_blocks(struct spool_file *f, struct err *err)
{
	f->block_index = UINT32_MAX;
	if (!f->info.block_count)
		return 0;
	f->packed = malloc(f->info.block_len);
	f->block = malloc(f->info.block_len);
	f->unpacker = spool_unpacker_new();
	return f->packed && f->block && f->unpacker ? 0 : err_no_memory(err);
}

static int read_segment_header(struct spool_file *f, uint64_t segment, struct err *err)
{
	TRY(spool_header_read(f->io, f->fd, &f->info, err));
	if (f->info.segment != segment)
		return err_set(err, ERR_DATA, "a segment with the number of another");
	return open_blocks(f, err);
}

int spool_file_open(struct spool_file *f, const struct io *io, int dir_fd, uint64_t segment,
		    struct err *err)
{
	char name[SPOOL_NAME_MAX];
	int rc;

	*f = (struct spool_file){.io = io, .fd = -1};
	rc = io->open(io->ctx, dir_fd, spool_segment_name(segment, name),
		      O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (rc < 0)
		return err_sys(err, -rc, "%s", name);
	f->fd = rc;
	rc = read_segment_header(f, segment, err);
	if (rc) {
		spool_file_close(f);
		/* Callers may pass no err and go by the code. */
		(void)err_prefix(err, "%s", name);
	}
	return rc;
}

void spool_file_close(struct spool_file *f)
{
	if (f->fd >= 0)
		f->io->close(f->io->ctx, f->fd);
	spool_unpacker_free(f->unpacker);
	free(f->packed);
	free(f->block);
	*f = (struct spool_file){.io = f->io, .fd = -1};
}

static size_t raw_block_len(const struct spool_segment_info *info, uint32_t block)
{
	uint64_t left = info->raw_len - (uint64_t)block * info->block_len;

	return left < info->block_len ? (size_t)left : info->block_len;
}

/* Reads len bytes at off, or less at the end of the file. Returns how many, or -errno. */
static ssize_t read_spool_file_at(const struct spool_file *f, uint8_t *p, size_t len, uint64_t off)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = f->io->pread(f->io->ctx, f->fd, p + got, len - got, (off_t)(off + got));

		if (n < 0)
			return n;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

/* Unpacks a block into f->block, or fills that with 0xff if the packed bytes are damaged. Returns 0
 * or -errno. */
static int load_block(struct spool_file *f, uint32_t index)
{
	const struct spool_header_block *b = &f->info.blocks[index];
	const size_t len = raw_block_len(&f->info, index);
	ssize_t n;

	if (f->block_index == index)
		return 0;
	f->block_index = UINT32_MAX;
	n = read_spool_file_at(f, f->packed, b->len, b->off);
	if (n < 0)
		return (int)n;
	if ((size_t)n < b->len || crc32c(0, f->packed, b->len) != b->crc ||
	    !spool_unpack(f->unpacker, f->packed, b->len, f->block, len))
		memset(f->block, 0xff, len);
	f->block_index = index;
	return 0;
}

ssize_t spool_file_pread(struct spool_file *f, void *p, size_t len, uint64_t off)
{
	uint32_t index;
	size_t at, left;

	if (!f->info.block_count)
		return f->io->pread(f->io->ctx, f->fd, p, len, (off_t)off);
	if (off >= f->info.raw_len)
		return 0;
	index = (uint32_t)(off / f->info.block_len);
	TRY(load_block(f, index));
	at = off % f->info.block_len;
	left = raw_block_len(&f->info, index) - at;
	len = len < left ? len : left;
	memcpy(p, f->block + at, len);
	return (ssize_t)len;
}
