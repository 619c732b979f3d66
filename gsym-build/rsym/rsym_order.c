/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_order.h"

#include <string.h>

#include "sort.h"

/* A string and its old id. */
struct sorted_string {
	struct rsym_string s;
	uint32_t id;
};

static inline bool is_before(const struct sorted_string *a, const struct sorted_string *b)
{
	size_t shared = a->s.len < b->s.len ? a->s.len : b->s.len;
	int order = shared ? memcmp(a->s.p, b->s.p, shared) : 0;

	return order ? order < 0 : a->s.len < b->s.len;
}

DEFINE_SORT(sort_texts, struct sorted_string, is_before)

int rsym_order_strings(const struct intern *in, struct rsym_string **ret, uint32_t **ret_new_id,
		       struct err *err)
{
	_cleanup_(freep) struct sorted_string *sorted = calloc(in->count + 1, sizeof(*sorted));
	_cleanup_(freep) struct sorted_string *tmp = malloc((in->count / 2 + 1) * sizeof(*tmp));
	_cleanup_(freep) uint32_t *new_id = calloc(in->count + 1, sizeof(*new_id));

	*ret = calloc(in->count + 1, sizeof(**ret));
	if (!sorted || !tmp || !new_id || !*ret)
		return err_no_memory(err);
	for (uint32_t i = 0; i < in->count; i++) {
		sorted[i].s.p = intern_get(in, i, &sorted[i].s.len);
		sorted[i].id = i;
	}
	sort_texts(sorted, tmp, in->count);
	for (uint32_t i = 0; i < in->count; i++) {
		(*ret)[i] = sorted[i].s;
		new_id[sorted[i].id] = i;
	}
	*ret_new_id = TAKE_PTR(new_id);
	return 0;
}

struct sorted_function {
	struct rsym_content_function f;
	uint32_t id;
};

/* Orders by name, entry and declaration. Functions are distinct, so there are no ties. */
static inline bool is_first(const struct sorted_function *x, const struct sorted_function *y)
{
	const struct rsym_content_function *a = &x->f, *b = &y->f;

	if (a->name != b->name)
		return a->name < b->name;
	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr;
	if (a->file != b->file)
		return a->file < b->file;
	if (a->line != b->line)
		return a->line < b->line;
	if (a->flags != b->flags)
		return a->flags < b->flags;
	return a->type < b->type;
}

DEFINE_SORT(sort_by_name, struct sorted_function, is_first)

int rsym_order_functions(const struct intern *in, const uint32_t *name_id, const uint32_t *file_id,
			 struct rsym_content_function **ret, uint32_t **ret_new_id, struct err *err)
{
	size_t count = in->count;
	_cleanup_(freep) struct sorted_function *sorted = calloc(count + 1, sizeof(*sorted));
	_cleanup_(freep) struct sorted_function *tmp = malloc((count / 2 + 1) * sizeof(*tmp));
	_cleanup_(freep) uint32_t *new_id = calloc(count + 1, sizeof(*new_id));

	*ret = calloc(count + 1, sizeof(**ret));
	if (!sorted || !tmp || !new_id || !*ret)
		return err_no_memory(err);
	for (uint32_t i = 0; i < count; i++) {
		memcpy(&sorted[i].f, intern_get(in, i, NULL), sizeof(sorted[i].f));
		sorted[i].f.name = name_id[sorted[i].f.name];
		sorted[i].f.file = rsym_order_file(file_id, sorted[i].f.file);
		sorted[i].id = i;
	}
	sort_by_name(sorted, tmp, count);
	for (uint32_t i = 0; i < count; i++) {
		(*ret)[i] = sorted[i].f;
		new_id[sorted[i].id] = i;
	}
	*ret_new_id = TAKE_PTR(new_id);
	return 0;
}

/* --- aliases --------------------------------------------------------------------------------- */

struct entry_order {
	uint64_t vaddr;
	uint32_t function;
};

static int compare_entries(const void *va, const void *vb)
{
	const struct entry_order *a = va, *b = vb;

	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

int rsym_order_function_aliases(uint32_t *list, uint32_t *count,
				const struct rsym_content_function *functions,
				const uint32_t *function_id, struct err *err)
{
	_cleanup_(freep) struct entry_order *sorted = calloc(*count + 1, sizeof(*sorted));
	uint32_t kept = 0;

	if (!sorted)
		return err_no_memory(err);
	for (uint32_t i = 0; i < *count; i++) {
		sorted[i].function = function_id[list[i]];
		sorted[i].vaddr = functions[sorted[i].function].vaddr;
	}
	qsort(sorted, *count, sizeof(*sorted), compare_entries);
	for (uint32_t i = 0; i < *count; i++)
		if (!kept || list[kept - 1] != sorted[i].function)
			list[kept++] = sorted[i].function;
	*count = kept;
	return 0;
}
