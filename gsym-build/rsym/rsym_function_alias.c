/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that no address has as its answer, because another function has their code. */
#include "rsym_function_alias.h"
#include "bisect.h"
#include "rsym.h"
#include "rsym_bits.h"
#include "rsym_format.h"

static uint32_t alias_bits(const struct rsym *t)
{
	return t->function_count ? (uint32_t)bits_len(t->function_count - 1) : 0;
}

uint32_t rsym_function_alias_at(const struct rsym *t, uint32_t index)
{
	uint32_t bits = alias_bits(t);
	uint64_t at = (uint64_t)index * bits;

	return (uint32_t)bits_get(t->aliases.p + sizeof(uint32_t) + at / 8, (uint32_t)(at % 8),
				  bits);
}

static uint64_t alias_entry_of(const struct rsym *t, uint32_t function)
{
	struct rsym_function f;

	return rsym_function(t, function, &f, NULL) ? 0 : f.vaddr;
}

uint32_t rsym_function_aliases(const struct rsym *t, uint64_t vaddr, uint32_t *functions,
			       uint32_t cap)
{
	uint32_t at =
		(uint32_t)BISECT(t->alias_count, i,
				 alias_entry_of(t, rsym_function_alias_at(t, (uint32_t)i)) < vaddr);
	uint32_t found = 0;

	for (; at < t->alias_count; at++, found++) {
		uint32_t function = rsym_function_alias_at(t, at);

		if (alias_entry_of(t, function) != vaddr)
			break;
		if (found < cap)
			functions[found] = function;
	}
	return found;
}

void rsym_function_aliases_put(struct buf *out, const uint32_t *functions, uint32_t count,
			       uint32_t function_count)
{
	struct bits_out bits = {.out = out};

	if (!count)
		return;
	buf_u32(out, count);
	for (uint32_t i = 0; i < count; i++)
		bits_put(&bits, functions[i], bits_len(function_count - 1));
	bits_flush(&bits);
}

int rsym_function_aliases_open(struct rsym *t, struct err *err)
{
	if (!t->aliases.p)
		return 0;
	if (t->aliases.len >= sizeof(uint32_t)) {
		t->alias_count = rsym_load32(t->aliases.p);
		if (((uint64_t)t->alias_count * alias_bits(t) + 7) / 8 + sizeof(uint32_t) ==
		    t->aliases.len)
			return 0;
	}
	return err_set(err, ERR_DATA, "damaged table: section %d does not fit the others",
		       RSYM_SECTION_ALIASES);
}

int rsym_function_aliases_check(const struct rsym *t, struct err *err)
{
	uint64_t before = 0;

	for (uint32_t i = 0; i < t->alias_count; i++) {
		struct rsym_function f;

		if (rsym_function(t, rsym_function_alias_at(t, i), &f, NULL) || !f.has_entry ||
		    f.vaddr < before)
			return err_set(err, ERR_DATA, "damaged table: alias %u is out of order", i);
		before = f.vaddr;
	}
	return 0;
}
