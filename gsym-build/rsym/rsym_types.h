/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_TYPES_H
#define RAWSTACK_RSYM_TYPES_H
/* The optional section of type signatures, which the reader and the writer of tables use. Others
 * call rsym_type(). */
#include "rsym.h"
#include "rsym_text_writer.h"

/*
 * Appends the section, or nothing when there is no signature. `signatures` are sorted and distinct;
 * type_of has the index of each function's signature, or `count` for none. ERR_MEMORY, ERR_LIMIT,
 * ERR_INTERNAL (zstd).
 */
int rsym_types_put(struct buf *out, const struct rsym_string *signatures, uint32_t count,
		   const uint32_t *type_of, uint32_t function_count, struct err *err) _must_check_;

/* rsym_open() calls both: the first checks the parts, the second every text and index. ERR_DATA,
 * ERR_MEMORY. */
int rsym_types_open(struct rsym *t, struct err *err) _must_check_;
int rsym_types_check(const struct rsym *t, struct err *err) _must_check_;

/* Returns the index of the signature of a function, or RSYM_NONE if it has none. */
uint32_t rsym_types_index(const struct rsym *t, uint32_t function);

#endif
