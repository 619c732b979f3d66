/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_header.h"

#include <stdio.h>
#include <string.h>

#include "crc32c.h"

const char *spool_segment_name(uint64_t segment, char name[static SPOOL_NAME_MAX])
{
	snprintf(name, SPOOL_NAME_MAX, SPOOL_SEGMENT_PREFIX "%016llx" SPOOL_SEGMENT_SUFFIX,
		 (unsigned long long)segment);
	return name;
}

static uint8_t *put_header_bytes(uint8_t *to, const void *p, size_t len)
{
	memcpy(to, p, len);
	return to + len;
}

static size_t blocks_len(uint32_t block_count)
{
	return sizeof(struct spool_header_blocks) + block_count * sizeof(struct spool_header_block);
}

size_t spool_header_len(uint32_t block_count)
{
	const size_t fixed_len =
		sizeof(struct spool_header) + 3 * sizeof(struct spool_header_entry) +
		sizeof(struct spool_header_origin) + sizeof(struct spool_header_bounds);

	_Static_assert(sizeof(struct spool_header) + 3 * sizeof(struct spool_header_entry) +
				       sizeof(struct spool_header_origin) +
				       sizeof(struct spool_header_bounds) +
				       sizeof(struct spool_header_blocks) +
				       SPOOL_BLOCKS_MAX * sizeof(struct spool_header_block) <=
			       SPOOL_HEADER_MAX,
		       "the header holds its parts");
	return fixed_len + blocks_len(block_count) <= SPOOL_HEADER_LEN ? SPOOL_HEADER_LEN
								       : SPOOL_HEADER_MAX;
}

static uint8_t *put_blocks(uint8_t *to, const struct spool_segment_info *info)
{
	const struct spool_header_blocks blocks = {
		.raw_len = info->raw_len,
		.block_len = info->block_len,
		.block_count = info->block_count,
		.records_off = info->records_off,
		.late_told = info->late_told,
	};

	to = put_header_bytes(to, &blocks, sizeof(blocks));
	return put_header_bytes(to, info->blocks, info->block_count * sizeof(*info->blocks));
}

size_t spool_header_encode(const struct spool_segment_info *info,
			   uint8_t out[static SPOOL_HEADER_MAX])
{
	const struct spool_origin *o = &info->origin;
	const bool packed = info->block_count;
	struct spool_header head = {
		.magic = SPOOL_MAGIC,
		.major = packed ? SPOOL_MAJOR_PACKED : SPOOL_MAJOR,
		.minor = SPOOL_MINOR,
		.header_len = (uint32_t)spool_header_len(info->block_count),
		.segment = info->segment,
		.segment_len = info->segment_len,
		.entry_count = 2 + packed,
	};
	struct spool_header_origin origin = {
		.period_ns = o->period_ns,
		.mono_ns = o->mono_ns,
		.real_ns = o->real_ns,
		.cpu_count = o->cpu_count,
	};
	struct spool_header_bounds bounds = {SPOOL_FLUSH_NS, info->sync_ns};
	struct spool_header_entry entries[3] = {
		{.kind = SPOOL_HEADER_ORIGIN, .len = sizeof(origin)},
		{.kind = SPOOL_HEADER_BOUNDS, .len = sizeof(bounds)},
		{.kind = SPOOL_HEADER_BLOCKS},
	};
	uint8_t *p;

	memcpy(origin.host_id, o->host_id, sizeof(origin.host_id));
	memcpy(origin.boot_id, o->boot_id, sizeof(origin.boot_id));
	memcpy(origin.host_name, o->host_name, sizeof(origin.host_name));
	memcpy(origin.event, o->event, sizeof(origin.event));
	memcpy(origin.backend, o->backend, sizeof(origin.backend));
	entries[0].off = sizeof(head) + sizeof(entries);
	entries[1].off = entries[0].off + entries[0].len;
	entries[2].off = entries[1].off + entries[1].len;
	entries[2].len = packed ? (uint32_t)blocks_len(info->block_count) : 0;
	memset(out, 0, head.header_len);
	p = put_header_bytes(out, &head, sizeof(head));
	p = put_header_bytes(p, entries, sizeof(entries));
	p = put_header_bytes(p, &origin, sizeof(origin));
	p = put_header_bytes(p, &bounds, sizeof(bounds));
	if (packed)
		put_blocks(p, info);
	head.crc = crc32c(0, out, head.header_len);
	put_header_bytes(out, &head, sizeof(head));
	return head.header_len;
}

static void get_text(char *to, const char *from, size_t len)
{
	memcpy(to, from, len);
	to[len - 1] = 0;
}

static int decode_origin(const uint8_t *p, size_t len, struct spool_origin *ret)
{
	struct spool_header_origin in;

	if (len < sizeof(in))
		return ERR_DATA;
	memcpy(&in, p, sizeof(in));
	*ret = (struct spool_origin){
		.period_ns = in.period_ns,
		.mono_ns = in.mono_ns,
		.real_ns = in.real_ns,
		.cpu_count = in.cpu_count,
	};
	memcpy(ret->host_id, in.host_id, sizeof(ret->host_id));
	memcpy(ret->boot_id, in.boot_id, sizeof(ret->boot_id));
	get_text(ret->host_name, in.host_name, sizeof(ret->host_name));
	get_text(ret->event, in.event, sizeof(ret->event));
	get_text(ret->backend, in.backend, sizeof(ret->backend));
	return 0;
}

/* Decodes the list of blocks. Checks that each block lies behind the header and is no longer than
 * block_len, and that together they are the whole original segment. */
static int decode_blocks(const uint8_t *p, size_t len, uint32_t header_len,
			 struct spool_segment_info *ret, struct err *err)
{
	struct spool_header_blocks in;

	if (len < sizeof(in))
		return err_set(err, ERR_DATA, "spool header: blocks of %zu bytes", len);
	memcpy(&in, p, sizeof(in));
	if (in.raw_len > LIMIT_SPOOL_SEGMENT || in.raw_len < in.records_off || !in.block_len ||
	    in.block_len > SPOOL_BLOCK_LEN || in.block_count > SPOOL_BLOCKS_MAX ||
	    in.block_count != (in.raw_len + in.block_len - 1) / in.block_len ||
	    in.block_count * sizeof(*ret->blocks) > len - sizeof(in) ||
	    in.records_off < sizeof(struct spool_header) || in.records_off % SPOOL_RECORD_ALIGN)
		return err_set(err, ERR_DATA, "spool header with impossible blocks");
	memcpy(ret->blocks, p + sizeof(in), in.block_count * sizeof(*ret->blocks));
	for (uint32_t i = 0; i < in.block_count; i++) {
		const struct spool_header_block *b = &ret->blocks[i];

		if (b->off < header_len || b->len > in.block_len ||
		    b->off > LIMIT_SPOOL_SEGMENT + SPOOL_HEADER_MAX)
			return err_set(err, ERR_DATA, "spool header: block %u lies outside", i);
	}
	ret->raw_len = in.raw_len;
	ret->block_len = in.block_len;
	ret->block_count = in.block_count;
	ret->records_off = in.records_off;
	ret->late_told = in.late_told;
	return 0;
}

static int read_header_block(const struct io *io, int fd, uint8_t block[static SPOOL_HEADER_MAX],
			     struct spool_header *ret, struct err *err)
{
	uint32_t crc;

	TRY(io_read_all(io, fd, block, sizeof(*ret), 0, err));
	memcpy(ret, block, sizeof(*ret));
	if (memcmp(ret->magic, SPOOL_MAGIC, sizeof(ret->magic)))
		return err_set(err, ERR_DATA, "not a spool segment");
	if (ret->major != SPOOL_MAJOR && ret->major != SPOOL_MAJOR_PACKED)
		return err_set(err, ERR_UNSUPPORTED,
			       "spool format %u; this program reads formats %u and %u", ret->major,
			       SPOOL_MAJOR, SPOOL_MAJOR_PACKED);
	if (ret->header_len < sizeof(*ret) || ret->header_len > SPOOL_HEADER_MAX ||
	    ret->header_len % SPOOL_RECORD_ALIGN)
		return err_set(err, ERR_DATA, "spool header of %u bytes", ret->header_len);
	TRY(io_read_all(io, fd, block, ret->header_len, 0, err));
	crc = ret->crc;
	memset(block + offsetof(struct spool_header, crc), 0, sizeof(crc));
	if (crc32c(0, block, ret->header_len) != crc)
		return err_set(err, ERR_DATA, "spool header fails its checksum");
	if (ret->entry_count > SPOOL_HEADER_ENTRY_MAX ||
	    ret->entry_count * sizeof(struct spool_header_entry) > ret->header_len - sizeof(*ret))
		return err_set(err, ERR_DATA, "spool header with %u entries", ret->entry_count);
	return 0;
}

int spool_header_read(const struct io *io, int fd, struct spool_segment_info *ret, struct err *err)
{
	uint8_t block[SPOOL_HEADER_MAX] = {0};
	struct spool_header head;
	bool have_origin = false;
	int rc = read_header_block(io, fd, block, &head, err);

	if (rc)
		return rc;
	*ret = (struct spool_segment_info){
		.segment = head.segment,
		.segment_len = head.segment_len,
		.records_off = head.header_len,
	};
	for (uint32_t i = 0; i < head.entry_count && !rc; i++) {
		struct spool_header_entry e;

		memcpy(&e, block + sizeof(head) + i * sizeof(e), sizeof(e));
		if (e.off > head.header_len || e.len > head.header_len - e.off)
			return err_set(err, ERR_DATA, "spool header entry %u lies outside", i);
		if (e.kind == SPOOL_HEADER_ORIGIN &&
		    decode_origin(block + e.off, e.len, &ret->origin) == 0)
			have_origin = true;
		if (e.kind == SPOOL_HEADER_BOUNDS && e.len >= sizeof(struct spool_header_bounds))
			memcpy(&ret->sync_ns,
			       block + e.off + offsetof(struct spool_header_bounds, sync_ns),
			       sizeof(ret->sync_ns));
		if (e.kind == SPOOL_HEADER_BLOCKS && head.major == SPOOL_MAJOR_PACKED)
			rc = decode_blocks(block + e.off, e.len, head.header_len, ret, err);
	}
	if (rc)
		return rc;
	if (head.major == SPOOL_MAJOR_PACKED && !ret->block_count)
		return err_set(err, ERR_DATA, "packed spool segment without blocks");
	return have_origin ? 0 : err_set(err, ERR_DATA, "spool header without an origin");
}
