/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_CODE_H
#define RAWSTACK_RSYM_CODE_H
/*
 * The addresses that the table gives to the code sections of a relocatable file. The kernel loads
 * each section of a module at an address of its own, so an address in a module is given as section
 * name and offset. Only the reader and the writer of tables use this; others call
 * rsym_vaddr_of_section().
 */
#include "rsym.h"

struct rsym_code_section {
	const char *name; /* name_len bytes; no NUL needed */
	size_t name_len;
	uint64_t vaddr, len;
};

/* Appends the section. Names that occur twice are ambiguous and left out; with more than
 * LIMIT_CODE_SECTIONS sections nothing is written. Sorts the list. A failure is sticky in out. */
void rsym_code_put(struct buf *out, struct rsym_code_section *list, size_t count);

/* Checks the section for rsym_open(). ERR_DATA if it is damaged. */
int rsym_code_check(const struct rsym *t, struct err *err) _must_check_;

#endif
