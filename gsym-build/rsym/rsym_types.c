/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_types.h"

#include "rsym_bits.h"
#include "rsym_format.h"
#include "rsym_text.h"

enum {
	TYPES_BLOCK = 16,
	POOL_ALIGN = 8,
};

static uint64_t array_len(uint32_t function_count, uint32_t count)
{
	uint64_t len = ((uint64_t)function_count * bits_len(count) + 7) / 8 + sizeof(uint64_t);

	return (len + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
}

int rsym_types_put(struct buf *out, const struct rsym_string *signatures, uint32_t count,
		   const uint32_t *type_of, uint32_t function_count, struct err *err)
{
	struct bits_out bits = {.out = out};

	if (!count)
		return 0;
	buf_u64(out, count);
	for (uint32_t i = 0; i < function_count; i++)
		bits_put(&bits, type_of[i], bits_len(count));
	bits_flush(&bits);
	buf_align(out, POOL_ALIGN);
	return rsym_text_write(signatures, count, TYPES_BLOCK, false, out, err);
}

static int types_damaged(struct err *err)
{
	return err_set(err, ERR_DATA, "damaged table: section %d does not fit the others",
		       RSYM_SECTION_TYPES);
}

int rsym_types_open(struct rsym *t, struct err *err)
{
	uint64_t count, len;
	int rc;

	if (!t->types.p)
		return 0;
	if (t->types.len < sizeof(count))
		return types_damaged(err);
	count = rsym_load64(t->types.p);
	len = count && count < UINT32_MAX ? array_len(t->function_count, (uint32_t)count) : 0;
	if (!len || len > t->types.len)
		return types_damaged(err);
	rc = rsym_texts_open(&t->signatures, t->types.p + len, t->types.len - len, err);
	return rc || t->signatures.count == count ? rc : types_damaged(err);
}

static uint32_t index_of(const struct rsym *t, uint32_t function)
{
	unsigned int bits = bits_len(t->signatures.count);
	uint64_t at = (uint64_t)function * bits;

	return (uint32_t)bits_get(t->types.p + sizeof(uint64_t) + at / 8, at % 8, bits);
}

int rsym_types_check(const struct rsym *t, struct err *err)
{
	if (!t->types.p)
		return 0;
	for (uint32_t i = 0; i < t->function_count; i++)
		if (index_of(t, i) > t->signatures.count)
			return types_damaged(err);
	return rsym_texts_check(&t->signatures, err);
}

uint32_t rsym_types_index(const struct rsym *t, uint32_t function)
{
	uint32_t index =
		t->types.p && function < t->function_count ? index_of(t, function) : RSYM_NONE;

	return index < t->signatures.count ? index : RSYM_NONE;
}

int rsym_type(const struct rsym *t, uint32_t function, struct buf *out, struct err *err)
{
	struct rsym_text_reader *r;
	const uint8_t *p;
	uint32_t index = rsym_types_index(t, function);
	size_t len;
	int rc;

	if (index == RSYM_NONE)
		return 0;
	r = rsym_text_reader_new(&t->signatures, 0);
	if (!r)
		return err_no_memory(err);
	rc = rsym_text_get(r, index, &p, &len, err);
	if (!rc && !buf_append(out, p, len))
		rc = err_full(err, out->no_memory, "text longer than the %zu bytes allowed",
			      out->max);
	rsym_text_reader_free(r);
	return rc ? rc : 1;
}
