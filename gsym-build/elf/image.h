/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IMAGE_H
#define RAWSTACK_IMAGE_H
/*
 * An ELF file in memory: sections (decompressed on demand), loaded segments, symbols. It is the
 * first stage of a build and understands only ELF itself (System V gABI) and the GNU extensions
 * .zdebug_* and symbol versions. Little-endian, 32 and 64 bits, any machine.
 *
 * The bytes must stay mapped and unchanged as long as the image is used. Only one thread at a time
 * may use an image.
 */
#include "debug_info.h"
#include "inflate.h"
#include "interval_overlay.h"
#include "symbols.h"

struct image;

/*
 * Opens an ELF file in memory. Nothing is copied; sections are read when asked for.
 * ERR_UNSUPPORTED: not ELF, big-endian, a core dump or of another type. ERR_DATA: truncated or
 * damaged headers. ERR_LIMIT, ERR_MEMORY.
 */
int image_open(struct image **ret, const void *p, size_t len, struct err *err) _must_check_;
void image_free(struct image *im);
DEFINE_FREEP(struct image, image_free);

bool image_is_64(const struct image *im);

/*
 * Returns the bias of an image, which all addresses inside it include; the writer of a table
 * subtracts it. It is 0 for linked files. A relocatable file (.o, .ko) has no addresses, so each of
 * its loaded sections gets one: first those with code, then the rest, in the order of the section
 * headers, the first at 0, each at the next multiple of its alignment that leaves a byte free
 * behind the one before; empty sections get none. The bias keeps 0 free to mean "no code".
 */
uint64_t image_bias(const struct image *im);

/* Returns how many relocations of the sections read so far were not applied; *ret_first, which
 * belongs to the image, tells where the first is and why. */
uint64_t image_relocations_skipped(const struct image *im, const char **ret_first);

/* Returns whether the file is a separate debug file, which keeps headers but not the code (its
 * sections are NOBITS). Its segments do not have the file offsets of the executable. */
bool image_is_debug_only(const struct image *im);

/*
 * Gives the content of a section by its plain name (".debug_info" also finds ".zdebug_info"),
 * decompressed and relocated; the image owns it. There may be many sections .debug_info and
 * .debug_types, which are then concatenated. Returns 1, or 0 if there is no such section or it has
 * no content. ERR_DATA, ERR_LIMIT, ERR_UNSUPPORTED, ERR_MEMORY, with the section's name in the
 * message. Where image_bias() is 0, two threads may ask for two sections of different names, except
 * .debug_info and .debug_types.
 */
int image_section(struct image *im, const char *name, const uint8_t **ret_p, size_t *ret_len,
		  struct err *err);

/* A section as it is in the file, for readers that decompress it piece by piece. */
struct image_packed {
	const uint8_t *p; /* borrowed from the image's bytes */
	size_t len;
	enum inflate_kind kind;
	uint64_t plain_len; /* after decompression */
};

/* Finds a section like image_section(), but does not decompress it. */
int image_section_packed(struct image *im, const char *name, struct image_packed *ret,
			 struct err *err);

/*
 * Declares that the bytes are a private read-only mapping of a file that begins on a page boundary.
 * Then image_drop() returns the memory of bytes that were read to the system, which reads them from
 * the file again when they are needed. Without this, image_drop() does nothing.
 */
void image_set_mapped(struct image *im);
void image_drop(const struct image *im, const uint8_t *p, size_t len);

/* Frees the memory of all sections; pointers from image_section() become invalid. */
void image_forget(struct image *im);

struct image_segment {
	uint64_t vaddr, mem_len, file_off, file_len;
	uint32_t flags; /* PF_X, PF_W, PF_R */
};

/* Returns the PT_LOAD segments in the order of the file, or the code sections of a relocatable file
 * (none if there are more than LIMIT_SEGMENTS), without bias. The image owns them. */
const struct image_segment *image_segments(const struct image *im, size_t *ret_count);

/* A code section of a relocatable file. */
struct image_code_section {
	const char *name;
	uint64_t vaddr, len; /* without bias */
};

/* Finds the next code section behind *index, which starts at 0. Returns 1, or 0 behind the last one
 * and for linked files. */
int image_code_section(const struct image *im, size_t *index, struct image_code_section *ret);

/* Adds the addresses of all sections with SHF_EXECINSTR to `code`, or, if there are none, those of
 * executable segments. The caller flattens it. ERR_MEMORY. */
int image_add_code(const struct image *im, struct interval_overlay *code,
		   struct err *err) _must_check_;

/*
 * Adds the functions and labels of .symtab, or, if there is none, of .dynsym. Names go to `text`
 * without their version ("memcpy@@GLIBC_2.14" is memcpy). *ret_count is the number of symbols
 * added. ERR_DATA, ERR_LIMIT, ERR_MEMORY.
 */
int image_add_symbols(struct image *im, struct debug_text *text, struct symbols *symbols,
		      uint64_t *ret_count, struct err *err) _must_check_;

/*
 * Adds the symbols of MiniDebugInfo (.gnu_debugdata) if the image has no .symtab; they complement
 * those of .dynsym. *ret_count is the number of symbols added. ERR_DATA, ERR_LIMIT and
 * ERR_UNSUPPORTED mean that the section cannot be read; the rest of the file can still be used.
 * ERR_MEMORY.
 */
int image_add_mini_symbols(struct image *im, struct debug_text *text, struct symbols *symbols,
			   uint64_t *ret_count, struct err *err) _must_check_;

/*
 * Adds the stubs of procedure linkage tables (.plt, .plt.sec, .plt.got; x86-64, i386, AArch64),
 * named "function@plt". *ret_count is their number; a separate debug file has none, but its
 * executable does. ERR_MEMORY.
 */
int image_add_plt_symbols(struct image *im, struct debug_text *text, struct symbols *symbols,
			  uint64_t *ret_count, struct err *err) _must_check_;

#endif
