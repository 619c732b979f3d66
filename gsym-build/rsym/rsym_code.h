/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_CODE_H
#define RAWSTACK_RSYM_CODE_H
/*
 * Where the code sections of a relocatable file stand in its table: a loaded kernel module is known
 * by the name of a section and an offset in it, for each section is loaded where there is room.
 * For the reader and the writer of tables; who asks uses rsym_vaddr_of_section().
 */
#include "rsym.h"

struct rsym_code_section {
	const char *name; /* up to len bytes of it, no NUL needed */
	size_t name_len;
	uint64_t vaddr, len;
};

/* Names that occur twice say nothing and are left out; more than LIMIT_CODE_SECTIONS sections leave
 * all out. Sorts the list. Failure sticks in out. */
void rsym_code_put(struct buf *out, struct rsym_code_section *list, size_t count);

/* For rsym_open(): ERR_DATA when the section is damaged. */
int rsym_code_check(const struct rsym *t, struct err *err) _must_check_;

#endif
