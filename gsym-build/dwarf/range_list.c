/* SPDX-License-Identifier: Apache-2.0 */
#include "range_list.h"

#include <dwarf.h>

#include "limits.h"

static uint64_t read_sized(struct bytes *in, unsigned int size)
{
	return size == 4 ? bytes_u32(in) : bytes_u64(in);
}

bool range_list_add(struct range_list *out, uint64_t start, uint64_t end)
{
	if (start >= end)
		return true;
	if (!GROW(out->list, &out->cap, out->count + 1, LIMIT_UNIT_SPANS))
		return false;
	out->list[out->count++] = (struct debug_range){.start = start, .end = end};
	return true;
}

int range_list_full(const struct range_list *out, struct err *err)
{
	return err_full(err, out->count < LIMIT_UNIT_SPANS,
			"more than %llu address ranges in one unit",
			(unsigned long long)LIMIT_UNIT_SPANS);
}

static int range_outside(const char *section, uint64_t off, struct err *err)
{
	return err_set(err, ERR_DATA, "range list at 0x%llx leaves %s", (unsigned long long)off,
		       section);
}

/* Reads address pairs up to a pair of zeros. A pair that begins with the highest address sets a new
 * base. */
static int read_debug_ranges(const struct range_source *s, struct bytes *in, uint64_t off,
			     struct range_list *out, struct err *err)
{
	uint64_t highest = s->address_size == 4 ? UINT32_MAX : UINT64_MAX, base = s->base;

	for (;;) {
		uint64_t start = read_sized(in, s->address_size),
			 end = read_sized(in, s->address_size);

		if (in->failed)
			return range_outside(".debug_ranges", off, err);
		if (!start && !end)
			return 0;
		if (start == highest)
			base = end;
		else if (!range_list_add(out, (base + start) & highest, (base + end) & highest))
			return range_list_full(out, err);
	}
}

static uint64_t address_at(const struct range_source *s, struct bytes *in)
{
	uint64_t index = bytes_uleb(in), off;
	struct bytes addr = bytes_of(s->addr, s->addr_len);

	if (in->failed || !CHECKED_MUL(index, s->address_size, &off) ||
	    !CHECKED_ADD(off, s->addr_base, &off)) {
		bytes_fail(in);
		return 0;
	}
	bytes_skip(&addr, off);
	off = read_sized(&addr, s->address_size);
	if (addr.failed)
		bytes_fail(in);
	return off;
}

static int read_rnglist(const struct range_source *s, struct bytes *in, uint64_t off,
			struct range_list *out, struct err *err)
{
	uint64_t base = s->base;

	for (;;) {
		uint8_t kind = bytes_u8(in);
		uint64_t start = 0, end = 0;

		if (in->failed)
			return range_outside(".debug_rnglists", off, err);
		switch (kind) {
		case DW_RLE_end_of_list:
			return 0;
		case DW_RLE_base_addressx:
			base = address_at(s, in);
			break;
		case DW_RLE_base_address:
			base = read_sized(in, s->address_size);
			break;
		case DW_RLE_startx_endx:
			start = address_at(s, in);
			end = address_at(s, in);
			break;
		case DW_RLE_startx_length:
			start = address_at(s, in);
			end = start + bytes_uleb(in);
			break;
		case DW_RLE_offset_pair:
			start = base + bytes_uleb(in);
			end = base + bytes_uleb(in);
			break;
		case DW_RLE_start_end:
			start = read_sized(in, s->address_size);
			end = read_sized(in, s->address_size);
			break;
		case DW_RLE_start_length:
			start = read_sized(in, s->address_size);
			end = start + bytes_uleb(in);
			break;
		default:
			return err_set(err, ERR_DATA, "range list at 0x%llx: unknown entry %u",
				       (unsigned long long)off, kind);
		}
		if (in->failed)
			return range_outside(".debug_rnglists", off, err);
		if (!range_list_add(out, start, end))
			return range_list_full(out, err);
	}
}

int range_list_read(const struct range_source *s, uint64_t off, struct range_list *out,
		    struct err *err)
{
	bool is_old = s->version < 5;
	struct bytes in = is_old ? bytes_of(s->ranges, s->ranges_len)
				 : bytes_of(s->rnglists, s->rnglists_len);
	size_t left;
	int rc;

	bytes_skip(&in, off);
	left = in.left;
	rc = is_old ? read_debug_ranges(s, &in, off, out, err)
		    : read_rnglist(s, &in, off, out, err);
	out->read_len += left - in.left;
	return rc;
}

int range_list_read_index(const struct range_source *s, uint64_t index, struct range_list *out,
			  struct err *err)
{
	struct bytes in = bytes_of(s->rnglists, s->rnglists_len);
	uint64_t at, off;

	if (!CHECKED_MUL(index, s->offset_size, &at) || !CHECKED_ADD(at, s->rnglists_base, &at))
		return range_outside(".debug_rnglists", index, err);
	bytes_skip(&in, at);
	off = read_sized(&in, s->offset_size);
	if (in.failed || !CHECKED_ADD(off, s->rnglists_base, &off))
		return range_outside(".debug_rnglists", at, err);
	return range_list_read(&(struct range_source){.rnglists = s->rnglists,
						      .rnglists_len = s->rnglists_len,
						      .addr = s->addr,
						      .addr_len = s->addr_len,
						      .version = 5,
						      .address_size = s->address_size,
						      .offset_size = s->offset_size,
						      .base = s->base,
						      .addr_base = s->addr_base},
			       off, out, err);
}
