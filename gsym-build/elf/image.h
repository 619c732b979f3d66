/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IMAGE_H
#define RAWSTACK_IMAGE_H
/*
 * An ELF file in memory: sections (decompressed on demand), loaded segments, symbols. It is the
 * first stage of a build and understands only ELF itself (System V gABI) and the GNU extensions
 * .zdebug_* and symbol versions. Little-endian, 32 and 64 bits, any machine.
 *
 * The bytes must stay mapped and unchanged as long as the image. One thread at a time.
 */
#include "debug_info.h"
#include "inflate.h"
#include "interval_overlay.h"
#include "symbols.h"

struct image;

/*
 * ERR_UNSUPPORTED: not ELF, big-endian, a core dump or of another type. ERR_DATA: truncated or
 * damaged headers. ERR_LIMIT, ERR_MEMORY. Nothing is copied; sections are read when asked for.
 */
int image_open(struct image **ret, const void *p, size_t len, struct err *err) _must_check_;
void image_free(struct image *im);
DEFINE_FREEP(struct image, image_free);

bool image_is_64(const struct image *im);

/*
 * A relocatable file (.o, .ko) has no addresses, so each of its loaded sections gets one: first
 * those with code, then the rest, in the order of the section headers, the first at 0, each at the
 * next multiple of its alignment that leaves a byte free behind the one before; empty sections get
 * none. Inside an image all addresses are higher by this bias, so that 0 is free to mean "no code";
 * the writer of a table subtracts it. It is 0 for linked files.
 */
uint64_t image_bias(const struct image *im);

/* Relocations of the sections read so far that were not applied; *ret_first, of the image, tells
 * where the first is and why. */
uint64_t image_relocations_skipped(const struct image *im, const char **ret_first);

/* A separate debug file keeps headers but not the code (its sections are NOBITS): its segments do
 * not have the file offsets of the executable. */
bool image_is_debug_only(const struct image *im);

/*
 * The content of a section by its plain name (".debug_info"; a ".zdebug_info" answers to it):
 * decompressed and relocated, owned by the image; of .debug_info and .debug_types, which may be
 * many of one name, all of them. 1 found; 0 no such section, or it has no content; negative with
 * the section's name in the message: ERR_DATA, ERR_LIMIT, ERR_UNSUPPORTED, ERR_MEMORY. Where
 * image_bias() is 0, two threads may ask for two sections of different names, but .debug_info and
 * .debug_types.
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
 * Says that the bytes are a private read-only mapping of a file, from a page boundary on; then
 * image_drop() gives memory of bytes that were read back to the system, and the file brings them
 * again when they are needed. Without it, image_drop() does nothing.
 */
void image_set_mapped(struct image *im);
void image_drop(const struct image *im, const uint8_t *p, size_t len);

/* Frees the memory of all sections; pointers from image_section() become invalid. */
void image_forget(struct image *im);

struct image_segment {
	uint64_t vaddr, mem_len, file_off, file_len;
	uint32_t flags; /* PF_X, PF_W, PF_R */
};

/* The PT_LOAD segments in order of the file, or the code sections of a relocatable file (none when
 * there are more than LIMIT_SEGMENTS), without bias; owned by the image. */
const struct image_segment *image_segments(const struct image *im, size_t *ret_count);

/* A code section of a relocatable file. */
struct image_code_section {
	const char *name;
	uint64_t vaddr, len; /* without bias */
};

/* The next one from *index on, which starts at 0: 1, or 0 behind the last and in linked files. */
int image_code_section(const struct image *im, size_t *index, struct image_code_section *ret);

/* Adds the addresses of all sections with SHF_EXECINSTR, or without sections those of executable
 * segments. The caller flattens. ERR_MEMORY. */
int image_add_code(const struct image *im, struct interval_overlay *code,
		   struct err *err) _must_check_;

/*
 * Adds the functions and labels of .symtab, or without it of .dynsym; names without their version
 * ("memcpy@@GLIBC_2.14" is memcpy) go to text. *ret_count: how many. ERR_DATA, ERR_MEMORY.
 */
int image_add_symbols(struct image *im, struct debug_text *text, struct symbols *symbols,
		      uint64_t *ret_count, struct err *err) _must_check_;

/*
 * Adds the symbols of MiniDebugInfo (.gnu_debugdata) of an image that has no .symtab: what it holds
 * stands beside .dynsym. *ret_count: how many, 0 without it. ERR_DATA, ERR_LIMIT, ERR_UNSUPPORTED:
 * it cannot be read, which is no reason to do without the rest. ERR_MEMORY.
 */
int image_add_mini_symbols(struct image *im, struct debug_text *text, struct symbols *symbols,
			   uint64_t *ret_count, struct err *err) _must_check_;

/*
 * Adds the stubs of procedure linkage tables (.plt, .plt.sec, .plt.got; x86-64, i386, AArch64),
 * named "function@plt". *ret_count: how many; a separate debug file has none, but its executable
 * does. ERR_MEMORY.
 */
int image_add_plt_symbols(struct image *im, struct debug_text *text, struct symbols *symbols,
			  uint64_t *ret_count, struct err *err) _must_check_;

#endif
