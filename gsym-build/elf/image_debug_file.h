/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IMAGE_DEBUG_FILE_H
#define RAWSTACK_IMAGE_DEBUG_FILE_H
/*
 * Finds the installed debug information of a stripped file, for command line tools:
 * /usr/lib/debug/.build-id, and what .gnu_debuglink names beside the file, in .debug beside it, and
 * below /usr/lib/debug. Runs in the caller's process on untrusted files: bounded reads of headers.
 * A candidate counts only when it has the build id of the file; so files without one have no
 * separate debug file here.
 */
#include "build_id.h"
#include "err.h"

/*
 * 1 with a descriptor of the debug file, for the caller to close; 0 when the file at `fd` has its
 * own debug information, or none is installed. `path` is where fd was opened. Never fails: a
 * damaged file has no debug file.
 */
int image_debug_file_open(int fd, const char *path, const struct build_id *id, int *ret_fd);

/* The link-time address of an offset in an executable file, by its PT_LOAD segments: 1, or 0. */
int image_debug_file_vaddr(int fd, uint64_t file_off, uint64_t *ret_vaddr);

/*
 * Where a section lies in memory as linked: 1 with its address, its length, and where its bytes are
 * in the file (of an object file only that tells sections apart), or 0.
 */
struct image_debug_file_place {
	uint64_t vaddr, len, file_off;
	bool is_object; /* ET_REL: vaddr says nothing */
};

int image_debug_file_section(int fd, const char *name, struct image_debug_file_place *ret);

/* Whether a file keeps headers but not the code (its .text is NOBITS): a separate debug file, whose
 * segments say nothing about file offsets of the executable. */
bool image_debug_file_is_separate(int fd);

/* Bytes of an address in an ELF file: 4 or 8; 8 if the file is not ELF. */
unsigned int image_debug_file_class(int fd);

#endif
