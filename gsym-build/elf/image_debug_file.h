/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IMAGE_DEBUG_FILE_H
#define RAWSTACK_IMAGE_DEBUG_FILE_H
/*
 * Finds the installed debug information of a stripped file, for command line tools. It tries
 * /usr/lib/debug/.build-id, and the name from .gnu_debuglink beside the file, in .debug beside it,
 * and below /usr/lib/debug. It runs in the caller's process on untrusted files, so it reads headers
 * only, and within bounds. A candidate counts only if it has the build id of the file, so files
 * without one have no separate debug file here.
 */
#include "build_id.h"
#include "err.h"

/*
 * Opens the debug file of the file at `fd`, which was opened at `path`. Returns 1 with a descriptor
 * for the caller to close, or 0 if the file has its own debug information or no debug file is
 * installed. Never fails: a damaged file has no debug file.
 */
int image_debug_file_open(int fd, const char *path, const struct build_id *id, int *ret_fd);

/* Converts an offset in a 64-bit executable file to its link-time address by the PT_LOAD segments.
 * Returns 1, or 0 if no segment holds it. */
int image_debug_file_vaddr(int fd, uint64_t file_off, uint64_t *ret_vaddr);

/* The place of a section: where it lies in memory as linked, and where its bytes are in the file
 * (for an object file, that only tells sections apart). */
struct image_debug_file_place {
	uint64_t vaddr, len, file_off;
	bool is_object; /* ET_REL: vaddr is meaningless */
};

/* Finds a section by name. Returns 1, or 0 if there is none. */
int image_debug_file_section(int fd, const char *name, struct image_debug_file_place *ret);

/* Returns whether a file keeps headers but not the code (its .text is NOBITS). It is then a
 * separate debug file, whose segments do not have the file offsets of the executable. */
bool image_debug_file_is_separate(int fd);

/* Returns the number of bytes of an address in an ELF file, 4 or 8; 8 if the file is not ELF. */
unsigned int image_debug_file_class(int fd);

#endif
