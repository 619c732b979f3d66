/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_NOTES_H
#define RAWSTACK_FILE_NOTES_H
/*
 * Reads the GNU build id (NT_GNU_BUILD_ID) of a file or of the running kernel from ELF notes
 * (System V gABI, "Note Section"). Damaged notes count as absent. The length of the file and the
 * caller's limits bound how much of a hostile file is read, however its headers overlap.
 */
#include "build_id.h"
#include "file_headers.h"

/* Finds the build id in one run of notes, each padded to 8 bytes if `align` is 8 and else to 4: 1
 * and *ret, or 0. */
int file_notes_find(struct bytes notes, uint64_t align, struct build_id *ret);

struct file_notes_limits {
	uint32_t headers; /* headers looked at in one table */
	uint64_t note_len,
		read_len; /* bytes of one segment or section; bytes of one table in all */
};

/* Find the build id in a file's segments, or sections, of notes: 1 and *ret, or 0. Return ERR_DATA
 * if a header is not in the file, ERR_MEMORY or ERR_IO. */
int file_notes_in_segments(struct file_headers *h, const struct file_notes_limits *limits,
			   struct build_id *ret, struct err *err);
int file_notes_in_sections(struct file_headers *h, const struct file_notes_limits *limits,
			   struct build_id *ret, struct err *err);

/* Finds the build id by which a host knows a file, in at most LIMIT_NOTE_HEADERS headers. Returns 1
 * and *ret, 0 if there is none, or a negative code if it is no ELF file that could be mapped. */
int file_notes_of_file(int fd, struct build_id *ret);

/* Finds the build id in a file that holds nothing but notes, as the kernel shows its own and its
 * modules' notes. Returns ERR_NOT_FOUND if there is none among them, or ERR_IO. */
#define FILE_NOTES_KERNEL "/sys/kernel/notes"
int file_notes_of_path(const char *path, struct build_id *ret, struct err *err);

#endif
