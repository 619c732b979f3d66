/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_ORDER_H
#define RAWSTACK_RSYM_ORDER_H
/*
 * Puts what a writer has collected, in the order in which it came, into the order that a table has:
 * strings by their bytes, functions by name, entry and declaration. So a table does not depend on
 * who read which unit first.
 */
#include "intern.h"
#include "rsym_content.h"
#include "rsym_text_writer.h"

/* The strings in order, which point into `in`, and by old id the new one. Both are freed by the
 * caller, after an error too. ERR_MEMORY. */
int rsym_order_strings(const struct intern *in, struct rsym_string **ret, uint32_t **ret_new_id,
		       struct err *err) _must_check_;

/* The same for functions: `in` holds struct rsym_content_function with old ids of names and files,
 * for which name_id and file_id have the new ones. */
int rsym_order_functions(const struct intern *in, const uint32_t *name_id, const uint32_t *file_id,
			 struct rsym_content_function **ret, uint32_t **ret_new_id,
			 struct err *err) _must_check_;

/* Functions by entry, each once: `list` has old ids, for which function_id has the new ones that
 * are put there instead, and which `functions` are in the order of. *count becomes how many are
 * left. ERR_MEMORY, with the list as it was. */
int rsym_order_function_aliases(uint32_t *list, uint32_t *count,
				const struct rsym_content_function *functions,
				const uint32_t *function_id, struct err *err) _must_check_;

/* The new id of a file, or RSYM_NONE for none. */
static inline uint32_t rsym_order_file(const uint32_t *new_id, uint32_t file)
{
	return file == RSYM_NONE ? RSYM_NONE : new_id[file];
}

#endif
