/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IMAGE_PRIV_H
#define RAWSTACK_IMAGE_PRIV_H
/* Shared by the image*.c files only. */
#include <gelf.h>

#include "image.h"

struct image_part {
	GElf_Shdr shdr;
	const char *name;  /* in the file's string table */
	uint8_t *inflated; /* owned */
	bool relocated;    /* relocations were applied to `inflated`, or there are none */
	uint8_t *joined;   /* owned: this section and later ones of its name, concatenated */
	size_t joined_len;
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
	uint64_t relocations_skipped;
	char relocation_skipped[128]; /* describes the first */
};

/*
 * Gives each loaded section of a relocatable file its address and makes segments of the code (see
 * image.h). The base keeps addresses that no relocation filled in (code that `ld -r` dropped) below
 * all sections. ERR_DATA, ERR_UNSUPPORTED, ERR_MEMORY.
 */
#define IMAGE_BASE_REL UINT64_C(0x10000)
int image_lay_out(struct image *im, struct err *err) _must_check_;

/*
 * Applies the relocations of a section that is not loaded to part->inflated, which becomes a copy
 * of the len bytes at p if the section was not compressed. Call it once for a section. ERR_DATA,
 * ERR_MEMORY.
 */
int image_relocate(struct image *im, struct image_part *part, const uint8_t *p, size_t len,
		   struct err *err);

/* Zero bytes behind what is decompressed or copied, so that a reader may look ahead. */
#define SECTION_PAD 64

static inline bool image_part_is_code(const struct image_part *part)
{
	return part->shdr.sh_flags & SHF_EXECINSTR && part->shdr.sh_flags & SHF_ALLOC &&
	       part->shdr.sh_size;
}

/* Returns the content of a section for gelf_get...(), or NULL if the file does not hold
 * all of it. */
Elf_Data *image_data(const struct image *im, size_t index);

/* Returns the section numbers that do not fit into the symbols of a table (SHT_SYMTAB_SHNDX), or
 * NULL. */
Elf_Data *image_extended(const struct image *im, size_t symtab);

/* Returns the section in which a symbol is defined, or 0 if it is in none or the number
 * is invalid. */
size_t image_symbol_section(const struct image *im, const GElf_Sym *sym, uint32_t extended);

/* Gives the address of a symbol of a relocatable file after image_lay_out(). Returns false if the
 * symbol is undefined or does not exist. */
bool image_symbol_vaddr(const struct image *im, Elf_Data *symbols, Elf_Data *extended, size_t index,
			uint64_t *ret_vaddr);

#endif
