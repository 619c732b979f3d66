/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_FUNCTION_ALIAS_H
#define RAWSTACK_RSYM_FUNCTION_ALIAS_H
/* The section of aliases, which the reader, the writer and verification use. Others call
 * rsym_function_aliases(). */
#include "rsym.h"

/* Returns the function of an alias, whose index is below t->alias_count; the entries of the
 * functions rise with the index. For verification. */
uint32_t rsym_function_alias_at(const struct rsym *t, uint32_t index);

/* Appends the section; `functions` must be in order of their entry. A failure is sticky in out. */
void rsym_function_aliases_put(struct buf *out, const uint32_t *functions, uint32_t count,
			       uint32_t function_count);

/* rsym_open() calls both: the first checks the count against the length, the second every alias.
 * ERR_DATA. */
int rsym_function_aliases_open(struct rsym *t, struct err *err) _must_check_;
int rsym_function_aliases_check(const struct rsym *t, struct err *err) _must_check_;

#endif
