/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PPROF_FIELDS_H
#define RAWSTACK_PPROF_FIELDS_H
/*
 * Reads the fields of a protobuf message one by one: the wire format and no more. It is in a
 * header, to be inlined, because a profile has some hundred thousand fields. Private to the reader
 * of pprof.
 */
#include "bytes.h"
#include "pprof_wire.h"

struct pprof_field {
	uint32_t number;
	enum protobuf_wire_type type;
	uint64_t value;    /* WIRE_VARINT */
	struct bytes data; /* WIRE_BYTES; empty otherwise */
};

/* The faults of a message, all negative; pprof_damage() puts them into words. */
enum pprof_damage {
	PPROF_NO_TAG = -3,
	PPROF_NO_TYPE = -2,
	PPROF_PAST_END = -1,
};

static inline const char *pprof_damage(int damage)
{
	return damage == PPROF_NO_TAG    ? "no field tag"
	       : damage == PPROF_NO_TYPE ? "unknown wire type"
					 : "field runs past its message";
}

/* Returns 1 and *f, 0 at the end of the message, or an enum pprof_damage. */
static inline __attribute__((always_inline)) int pprof_field_next(struct bytes *in,
								  struct pprof_field *f)
{
	uint64_t tag, len;

	if (!in->left && !in->failed)
		return 0;
	tag = bytes_uleb(in);
	if (in->failed || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
		return PPROF_NO_TAG;
	f->number = (uint32_t)(tag >> 3);
	f->type = tag & 7;
	f->value = 0;
	f->data = bytes_of(in->p, 0);
	if (f->type == WIRE_VARINT) {
		f->value = bytes_uleb(in);
	} else if (f->type == WIRE_BYTES) {
		len = bytes_uleb(in);
		f->data.p = in->p;
		bytes_skip(in, len);
		f->data.left = in->failed ? 0 : len;
	} else if (f->type == WIRE_FIXED64 || f->type == WIRE_FIXED32) {
		bytes_skip(in, f->type == WIRE_FIXED64 ? 8 : 4);
	} else {
		return PPROF_NO_TYPE;
	}
	return in->failed ? PPROF_PAST_END : 1;
}

/* Reads the next number of a repeated field, packed or not: 1 and *ret, 0 if none is left, -1 if it
 * is damaged. */
static inline int pprof_number_next(struct pprof_field *f, uint64_t *ret)
{
	if (f->type == WIRE_VARINT) {
		*ret = f->value;
		f->type = WIRE_FIXED32; /* taken */
		return 1;
	}
	if (f->type != WIRE_BYTES || !f->data.left)
		return 0;
	*ret = bytes_uleb(&f->data);
	return f->data.failed ? -1 : 1;
}

#endif
