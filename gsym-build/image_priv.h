/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IMAGE_PRIV_H
#define RAWSTACK_IMAGE_PRIV_H
/* Shared by image.c and image_symbols.c only. */
#include <gelf.h>

#include "image.h"

struct image_part {
	GElf_Shdr shdr;
	const char *name;  /* in the file's string table */
	uint8_t *inflated; /* owned */
};

struct image {
	Elf *elf;
	const uint8_t *p;
	size_t len;
	GElf_Ehdr ehdr;
	struct image_part *parts; /* by section index */
	size_t part_count;
	struct image_segment *segments;
	size_t segment_count;
	bool debug_only, mapped;
};

#endif
