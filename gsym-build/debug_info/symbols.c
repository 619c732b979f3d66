/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols.h"

#include <string.h>

/* Marks in by_name: no symbol has the name, or several at different addresses have it. */
#define NAME_NONE UINT32_MAX
#define NAME_MANY (UINT32_MAX - 1)

bool symbols_add(struct symbols *s, const struct symbol *sym)
{
	if (!GROW(s->list, &s->cap, s->count + 1, UINT32_MAX - 1))
		return false;
	s->list[s->count++] = *sym;
	return true;
}

void symbols_done(struct symbols *s)
{
	free(s->list);
	interval_overlay_done(&s->spans);
	free(s->by_name);
	*s = (struct symbols)SYMBOLS_INIT;
}

/* Orders by address, and at one address the best symbol last. Ids of names are in the order of the
 * table. */
static int compare_symbols(const void *va, const void *vb)
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

int symbols_choose(struct symbols *s, const struct interval_overlay *code, struct err *err)
{
	uint64_t next = 0; /* start of the next symbol above the current address */

	if (!s->count)
		return 0;
	qsort(s->list, s->count, sizeof(*s->list), compare_symbols);
	for (size_t i = s->count; i-- > 0;) {
		const struct symbol *sym = &s->list[i];
		uint64_t ceiling = UINT64_MAX, end;

		if (i + 1 < s->count && sym->vaddr != s->list[i + 1].vaddr)
			next = s->list[i + 1].vaddr;
		if (code->count) {
			size_t c = interval_overlay_find(code, sym->vaddr);

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
		/* Symbols with a size rank above all others; the index orders each kind. */
		if (!interval_overlay_add(&s->spans, sym->vaddr, end,
					  ((uint64_t)(sym->len != 0) << 32) + i, (uint32_t)i))
			return err_no_memory(err);
	}
	return interval_overlay_flatten(&s->spans, err);
}

static bool list_names(struct symbols *s, size_t name_count)
{
	s->by_name = malloc((name_count + 1) * sizeof(*s->by_name));
	if (!s->by_name)
		return false;
	for (size_t i = 0; i < name_count; i++)
		s->by_name[i] = NAME_NONE;
	for (size_t i = 0; i < s->count; i++) {
		uint32_t *is = &s->by_name[s->list[i].name];

		if (*is == NAME_NONE)
			*is = (uint32_t)i;
		else if (*is != NAME_MANY && s->list[*is].vaddr != s->list[i].vaddr)
			*is = NAME_MANY;
	}
	return true;
}

bool symbols_entry(struct symbols *s, const struct debug_text *text, uint32_t symbol, uint64_t *ret)
{
	static const char cold[] = {'.', 'c', 'o', 'l', 'd'};
	size_t whole, len;
	const char *name = intern_get(&text->strings, s->list[symbol].name, &whole);
	uint32_t home;

	*ret = s->list[symbol].vaddr;
	for (len = whole; len && name[len - 1] >= '0' && name[len - 1] <= '9';)
		len--;
	len = len && len < whole && name[len - 1] == '.' ? len - 1 : whole;
	if (len <= sizeof(cold) || memcmp(name + len - sizeof(cold), cold, sizeof(cold)) != 0)
		return true;
	home = intern_find(&text->strings, name, len - sizeof(cold));
	if (home == INTERN_FULL)
		return true;
	if (!s->by_name && !list_names(s, text->strings.count))
		return false;
	if (s->by_name[home] < NAME_MANY)
		*ret = s->list[s->by_name[home]].vaddr;
	return true;
}
