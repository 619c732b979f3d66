/* SPDX-License-Identifier: Apache-2.0 */
#include "plain_ranges.h"

#include "limits.h"

/* Reads a number of `size` bytes at an offset of a section. Returns false if it is outside. */
static bool number_at(const uint8_t *p, size_t len, uint64_t off, unsigned int size, uint64_t *ret)
{
	*ret = 0;
	if (off > len || len - off < size)
		return false;
	for (unsigned int i = 0; i < size; i++)
		*ret |= (uint64_t)p[off + i] << 8 * i;
	return true;
}

static bool product_at(uint64_t index, unsigned int size, uint64_t base, uint64_t *ret)
{
	return CHECKED_MUL(index, size, ret) && CHECKED_ADD(*ret, base, ret);
}

bool plain_ranges_address(const struct range_source *s, uint64_t index, uint64_t *ret)
{
	uint64_t at;

	return product_at(index, s->address_size, s->addr_base, &at) &&
	       number_at(s->addr, s->addr_len, at, s->address_size, ret);
}

static bool uleb_at(const uint8_t *p, size_t len, uint64_t *off, uint64_t *ret)
{
	struct bytes in;

	if (*off > len)
		return false;
	in = bytes_of(p + *off, len - *off);
	*ret = bytes_uleb(&in);
	*off = len - in.left;
	return !in.failed;
}

static int bad_range(const char *what, uint64_t off, struct err *err)
{
	return err_set(err, ERR_DATA, "range list at 0x%llx: %s", (unsigned long long)off, what);
}

static int add_plain_range(struct range_list *out, uint64_t start, uint64_t end, struct err *err)
{
	return range_list_add(out, start, end) ? 0 : range_list_full(out, err);
}

/* Reads a list of address pairs, which are relative to a base (DWARF 4 section 2.17.3). */
static int read_pairs(const struct range_source *s, uint64_t off, struct range_list *out,
		      struct err *err)
{
	unsigned int size = s->address_size;
	uint64_t mask = size == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;
	uint64_t base = s->base, pair[2];

	for (uint64_t at = off;; at += 2 * size) {
		if (!number_at(s->ranges, s->ranges_len, at, size, &pair[0]) ||
		    !number_at(s->ranges, s->ranges_len, at + size, size, &pair[1]))
			return bad_range("cut", off, err);
		if (pair[0] == mask) {
			base = pair[1];
			continue;
		}
		if (!(pair[0] | pair[1]))
			return 0;
		TRY(add_plain_range(out, (base + pair[0]) & mask, (base + pair[1]) & mask, err));
	}
}

/* The operands of each kind of entry (DWARF 5 section 7.25): an address (a), an index of an address
 * (x) or a ULEB128 (u). */
static const char *const operands[] = {
	"",   /* end_of_list */
	"x",  /* base_addressx */
	"xx", /* startx_endx */
	"xu", /* startx_length */
	"uu", /* offset_pair */
	"a",  /* base_address */
	"aa", /* start_end */
	"au", /* start_length */
};

static int read_range_entries(const struct range_source *s, uint64_t off, struct range_list *out,
			      struct err *err)
{
	uint64_t at = off, base = s->base, kind;

	while (number_at(s->rnglists, s->rnglists_len, at, 1, &kind)) {
		uint64_t v[2] = {0};
		bool ok = kind < ARRAY_LEN(operands);
		int rc = 0;

		at++;
		if (kind == 0)
			return 0;
		for (int i = 0; ok && operands[kind][i]; i++) {
			char operand = operands[kind][i];

			if (operand == 'a') {
				ok = number_at(s->rnglists, s->rnglists_len, at, s->address_size,
					       &v[i]);
				at += s->address_size;
			} else {
				ok = uleb_at(s->rnglists, s->rnglists_len, &at, &v[i]);
				if (ok && operand == 'x')
					ok = plain_ranges_address(s, v[i], &v[i]);
			}
		}
		if (!ok)
			return bad_range("damaged", off, err);
		if (kind == 1 || kind == 5)
			base = v[0];
		else if (kind == 4)
			rc = add_plain_range(out, base + v[0], base + v[1], err);
		else
			rc = add_plain_range(out, v[0],
					     operands[kind][1] == 'u' ? v[0] + v[1] : v[1], err);
		if (rc)
			return rc;
	}
	return bad_range("cut", off, err);
}

int plain_ranges_read(const struct range_source *s, uint64_t off, struct range_list *out,
		      struct err *err)
{
	return s->version < 5 ? read_pairs(s, off, out, err) : read_range_entries(s, off, out, err);
}

int plain_ranges_read_index(const struct range_source *s, uint64_t index, struct range_list *out,
			    struct err *err)
{
	uint64_t at, off;

	if (!product_at(index, s->offset_size, s->rnglists_base, &at) ||
	    !number_at(s->rnglists, s->rnglists_len, at, s->offset_size, &off) ||
	    !CHECKED_ADD(off, s->rnglists_base, &off))
		return bad_range("no such index", index, err);
	return read_range_entries(s, off, out, err);
}
