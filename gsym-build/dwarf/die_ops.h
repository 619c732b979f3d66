/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_OPS_H
#define RAWSTACK_DIE_OPS_H
/* The programs that abbreviations are compiled to. Only die_abbrev.c, which compiles them, and
 * die_attributes.c, which runs them, include this file. */
#include "unit_encoding.h"

/*
 * An op is a word with its kind in the low 4 bits and its argument in the others. Adjacent
 * attributes of fixed size become one OP_ADVANCE, and adjacent LEB128 numbers one OP_LEBS.
 */
enum op_kind {
	OP_END,
	OP_ADVANCE, /* skips arg bytes */
	OP_LEBS,    /* skips arg LEB128 numbers */
	OP_STRING,
	OP_BLOCK1,
	OP_BLOCK2,
	OP_BLOCK4,
	OP_BLOCK,    /* a LEB128 gives the length */
	OP_INDIRECT, /* a LEB128 gives the form */
	OP_TAKE,     /* arg: slot in 8 bits, take_how in 4, form in the rest */
	OP_CONST,    /* arg: slot; the value is in the next two words */
};

/* Says how to read a value; 0 to 8 is its length in bytes. */
enum take_how {
	TAKE_ULEB = 9,
	TAKE_OTHER, /* the form decides at run time */
};

#define OP(kind, arg) ((uint32_t)(kind) | (uint32_t)(arg) << 4)
#define OP_ARG(op)    ((op) >> 4)
#define OP_ARG_MAX    (UINT32_MAX >> 4)

/* Returns the op that skips a value of this form, or OP_END if the form is unknown. */
uint32_t die_op_of_form(uint64_t form, struct unit_encoding s);

#endif
