/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols.h"

bool symbols_add(struct symbols *s, const struct symbol *sym)
{
	if (!grow_array((void **)&s->list, &s->cap, s->count + 1, sizeof(*s->list), UINT32_MAX - 1))
		return false;
	s->list[s->count++] = *sym;
	return true;
}

void symbols_done(struct symbols *s)
{
	free(s->list);
	paint_done(&s->spans);
	*s = (struct symbols)SYMBOLS_INIT;
}

/* By address; at one address the best stands last. Names are numbered in the order of the table. */
static int by_address(const void *va, const void *vb)
{
	const struct symbol *a = va, *b = vb;

	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	if (a->default_version != b->default_version)
		return a->default_version - b->default_version;
	if (a->is_function != b->is_function)
		return a->is_function - b->is_function;
	if (a->binding != b->binding)
		return a->binding - b->binding;
	if (a->name_len != b->name_len)
		return a->name_len > b->name_len ? -1 : 1;
	if (a->name != b->name)
		return a->name > b->name ? -1 : 1;
	return (a->len > b->len) - (a->len < b->len);
}

int symbols_choose(struct symbols *s, const struct paint *code, struct err *err)
{
	uint64_t next = 0; /* start of the symbol behind the current address */

	if (!s->count)
		return 0;
	qsort(s->list, s->count, sizeof(*s->list), by_address);
	for (size_t i = s->count; i-- > 0;) {
		const struct symbol *sym = &s->list[i];
		uint64_t ceiling = UINT64_MAX, end;

		if (i + 1 < s->count && sym->vaddr != s->list[i + 1].vaddr)
			next = s->list[i + 1].vaddr;
		if (code->count) {
			size_t c = paint_find(code, sym->vaddr);

			if (c == code->count || code->spans[c].start > sym->vaddr)
				continue;
			ceiling = code->spans[c].end;
		}
		if (sym->len)
			end = sym->len > ceiling - sym->vaddr ? ceiling : sym->vaddr + sym->len;
		else if (next > sym->vaddr && next < ceiling)
			end = next;
		else
			end = code->count || sym->vaddr == UINT64_MAX ? ceiling : sym->vaddr + 1;
		/* A rank above all sizeless ones for the sized; the index orders each kind. */
		if (!paint_add(&s->spans, sym->vaddr, end, ((uint64_t)(sym->len != 0) << 32) + i,
			       (uint32_t)i))
			return err_set(err, ERR_MEMORY, "out of memory for %zu symbols", s->count);
	}
	return paint_flatten(&s->spans, err);
}
