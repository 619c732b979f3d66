/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_COLUMNS_H
#define RAWSTACK_RSYM_COLUMNS_H
/*
 * Writes the optional section of columns and discriminators. It has rows of its own, because a line
 * has many columns: each gives, from an address on, a chain of column words, one for each frame. A
 * column word has the column in its low 16 bits and the discriminator above. Readers call
 * rsym_columns_at().
 */
#include "intern.h"
#include "rsym.h"

struct rsym_columns {
	struct intern chains; /* pairs of the chain of the outer frames and a column word */
	struct buf index, stream;
	uint64_t last_vaddr;
	uint32_t last_chain, row_count;
};

void rsym_columns_init(struct rsym_columns *c);
void rsym_columns_done(struct rsym_columns *c);

/* Returns the chain of a column word inside of the chain `around`, or UINT32_MAX if memory is out.
 * Chain 0 is all zeros. */
uint32_t rsym_columns_chain(struct rsym_columns *c, uint32_t around, uint32_t column_word);

/* Makes `chain` apply from vaddr on. Addresses must rise. A failure is sticky in the buffers. */
void rsym_columns_row(struct rsym_columns *c, uint64_t vaddr, uint32_t chain);

/* Appends the section, or nothing if there is no row. */
void rsym_columns_put(const struct rsym_columns *c, struct buf *out);

/* rsym_open() calls both: the first checks lengths, the second every row and chain. ERR_DATA. */
int rsym_columns_open(const struct rsym *t, struct err *err) _must_check_;
int rsym_columns_check(const struct rsym *t, struct err *err) _must_check_;

#endif
