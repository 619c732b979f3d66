/* SPDX-License-Identifier: Apache-2.0 */
#include "function_alias.h"

#include <string.h>

bool function_aliases_add(struct function_aliases *a, const struct function_alias *alias)
{
	if (!GROW(a->list, &a->cap, a->count + 1, SIZE_MAX))
		return false;
	a->list[a->count++] = *alias;
	return true;
}

static int by_entry(const void *va, const void *vb)
{
	const struct function_alias *a = va, *b = vb;

	if (a->entry != b->entry)
		return a->entry < b->entry ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->from_symbol != b->from_symbol)
		return a->from_symbol - b->from_symbol;
	return a->internal - b->internal;
}

static int text_order(const struct debug_text *t, uint32_t x, uint32_t y)
{
	size_t x_len, y_len;
	const void *p = intern_get(&t->strings, x, &x_len), *q = intern_get(&t->strings, y, &y_len);
	size_t shared = x_len < y_len ? x_len : y_len;
	int order = shared ? memcmp(p, q, shared) : 0;

	return order ? order : (x_len > y_len) - (x_len < y_len);
}

/* Orders aliases that differ only in their declaration. Files are compared as text, because their
 * ids depend on the order in which units were read. */
static bool is_declared_before(const struct debug_text *t, const struct function_alias *a,
			       const struct function_alias *b)
{
	struct debug_file f, g;
	int order;

	if (a->decl_file == b->decl_file || a->decl_file == DEBUG_NONE ||
	    b->decl_file == DEBUG_NONE)
		return a->decl_file == b->decl_file ? a->decl_line < b->decl_line
						    : b->decl_file == DEBUG_NONE;
	memcpy(&f, intern_get(&t->files, a->decl_file, NULL), sizeof(f));
	memcpy(&g, intern_get(&t->files, b->decl_file, NULL), sizeof(g));
	order = text_order(t, f.dir, g.dir);
	return order ? order < 0 : text_order(t, f.base, g.base) < 0;
}

void function_aliases_sort(struct function_aliases *a, const struct debug_text *text)
{
	size_t kept = 0;

	if (!a->count)
		return;
	qsort(a->list, a->count, sizeof(*a->list), by_entry);
	for (size_t i = 0; i < a->count; i++) {
		const struct function_alias *x = &a->list[i];
		struct function_alias *last = kept ? &a->list[kept - 1] : NULL;

		if (!last || x->entry != last->entry || x->name != last->name)
			a->list[kept++] = *x;
		else if (x->from_symbol == last->from_symbol && x->internal == last->internal &&
			 is_declared_before(text, x, last))
			*last = *x;
	}
	a->count = kept;
}

/*
 * Returns whether a name is that of a compiler's specialised copy, like "f.constprop.0" of f. DWARF
 * names such a copy f, which is the name users know. With link-time optimisation such copies are
 * half of the symbols.
 */
static bool is_copy(const struct debug_text *t, uint32_t name, uint32_t of)
{
	size_t len, of_len;
	const char *p = intern_get(&t->strings, name, &len);
	const char *q = intern_get(&t->strings, of, &of_len);

	return len > of_len && p[of_len] == '.' && memcmp(p, q, of_len) == 0;
}

void function_aliases_choose(struct function_aliases *a, const struct function_aliases *answers,
			     const struct debug_text *text)
{
	size_t kept = 0, at = 0;

	for (size_t i = 0; i < a->count; i++) {
		const struct function_alias *al = &a->list[i], *is;

		while (at < answers->count && answers->list[at].entry < al->entry)
			at++;
		if (at == answers->count)
			break;
		is = &answers->list[at];
		if (is->entry != al->entry || is->name == al->name ||
		    (al->from_symbol &&
		     ((al->internal && !is->from_symbol) || is_copy(text, al->name, is->name))))
			continue;
		a->list[kept++] = *al;
	}
	a->count = kept;
}

void function_aliases_done(struct function_aliases *a)
{
	free(a->list);
	*a = (struct function_aliases){0};
}
