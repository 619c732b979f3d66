/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_OPS_H
#define RAWSTACK_DIE_OPS_H
/* The programs that abbreviations are compiled to. Only die_abbrev.c, which compiles them, and
 * die_attributes.c, which runs them, include this. */
#include "unit_encoding.h"

/*
 * An op is a word: its kind in the low 4 bits, its argument above. Neighbouring fixed-size
 * attributes become one OP_ADVANCE, neighbouring LEBs one OP_LEBS.
 */
enum op_kind {
	OP_END,
	OP_ADVANCE, /* so many bytes */
	OP_LEBS,    /* so many LEB128 */
	OP_STRING,
	OP_BLOCK1,
	OP_BLOCK2,
	OP_BLOCK4,
	OP_BLOCK,    /* a LEB128 gives the length */
	OP_INDIRECT, /* a LEB128 gives the form */
	OP_TAKE,     /* arg: slot in 8 bits, take_how in 4, form above */
	OP_CONST,    /* arg: slot; the value is in the next two words */
};

/* How a value is read: 0 to 8 is a number of bytes. */
enum take_how {
	TAKE_ULEB = 9,
	TAKE_OTHER, /* as its form says */
};

#define OP(kind, arg) ((uint32_t)(kind) | (uint32_t)(arg) << 4)
#define OP_ARG(op)    ((op) >> 4)
#define OP_ARG_MAX    (UINT32_MAX >> 4)

/* The op that skips a value of this form; OP_END: the form is unknown. */
uint32_t die_op_of_form(uint64_t form, struct unit_encoding s);

#endif
