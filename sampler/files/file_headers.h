/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_HEADERS_H
#define RAWSTACK_FILE_HEADERS_H
/*
 * Headers of an ELF file of 32 or 64 bits, little-endian, one at a time, and nothing else of it:
 * what a host reads of files. For the helper process (file_helper.h), and not for the capture loop,
 * since reading a file may take for ever. Everything that is read is a stranger's.
 */
#include "file_segments.h"

struct file_headers {
	bool is_64;
	/* Where the headers of segments, and of sections, are. */
	struct file_header_table {
		uint64_t off;
		uint16_t count;
		bool is_usual; /* entries have the length that the class says */
	} segments, sections;
};

/* From the gABI. <elf.h> is for those who read more of a file than this. */
enum {
	ELF_SEGMENT_LOAD = 1,
	ELF_SEGMENT_NOTE = 4,
	ELF_SEGMENT_EXECUTABLE = 1, /* a flag */
	ELF_SECTION_NOTE = 7,
};

/* Of a segment, or of a section; bytes [off, off + len) of the file, if there are so many. */
struct file_header {
	uint32_t type;
	uint64_t flags, off, vaddr, len;
};

/* 0 and *ret; -1 when it is no ELF file, or cannot be read. */
int file_headers_read(int fd, struct file_headers *ret);

/* Header i, below the count of its table: 0 and *ret; -1 when it cannot be read. */
int file_headers_segment(int fd, const struct file_headers *h, uint16_t i, struct file_header *ret);
int file_headers_section(int fd, const struct file_headers *h, uint16_t i, struct file_header *ret);

/* The executable segments of the file, which have passed file_segments_check(): 0 and *ret; -1 when
 * it has none, too many, such as cannot be, or cannot be read. Looks at LIMIT_NOTE_HEADERS headers.
 */
int file_headers_code_segments(int fd, struct file_segments *ret);

#endif
