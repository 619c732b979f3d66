/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UNIT_ENCODING_H
#define RAWSTACK_UNIT_ENCODING_H
/* Describes how a unit of DWARF is encoded. */
#include <stdbool.h>
#include <stdint.h>

/* The properties that decide the size of a form and which attributes are extracted. */
struct unit_encoding {
	uint8_t version;      /* 2 to 5 */
	uint8_t address_size; /* 4 or 8 */
	uint8_t offset_size;  /* 4 or 8: 32-bit or 64-bit DWARF */
	bool columns, types;  /* whether columns and types are extracted */
};

#endif
