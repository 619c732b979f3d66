/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_ORDER_H
#define RAWSTACK_RSYM_ORDER_H
/*
 * Sorts what a writer has collected into the order of a table: strings by their bytes, functions by
 * name, entry and declaration. So a table does not depend on the order in which threads read units.
 */
#include "intern.h"
#include "rsym_content.h"
#include "rsym_text_writer.h"

/* Gives the sorted strings, which point into `in`, and the new id of each old one. The caller frees
 * both, even after an error. ERR_MEMORY. */
int rsym_order_strings(const struct intern *in, struct rsym_string **ret, uint32_t **ret_new_id,
		       struct err *err) _must_check_;

/* Does the same for functions: `in` holds struct rsym_content_function with old ids of names and
 * files; name_id and file_id map them to the new ones. */
int rsym_order_functions(const struct intern *in, const uint32_t *name_id, const uint32_t *file_id,
			 struct rsym_content_function **ret, uint32_t **ret_new_id,
			 struct err *err) _must_check_;

/*
 * Replaces the old ids in `list` by the new ones of function_id, by which `functions` is indexed;
 * sorts them by entry and removes duplicates. *count becomes the number left. ERR_MEMORY leaves the
 * list unchanged.
 */
int rsym_order_function_aliases(uint32_t *list, uint32_t *count,
				const struct rsym_content_function *functions,
				const uint32_t *function_id, struct err *err) _must_check_;

/* Returns the new id of a file, or RSYM_NONE for none. */
static inline uint32_t rsym_order_file(const uint32_t *new_id, uint32_t file)
{
	return file == RSYM_NONE ? RSYM_NONE : new_id[file];
}

#endif
