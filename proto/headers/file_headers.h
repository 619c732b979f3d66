/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_HEADERS_H
#define RAWSTACK_FILE_HEADERS_H
/*
 * The headers of an ELF file (System V gABI, "Object Files"), 32 or 64 bits, little-endian, one at
 * a time, by bounded reads and without an ELF library. Hosts, tools and the service's worker read
 * files of strangers with it: every number is checked against the length of the file, and nothing
 * is allocated. A reader belongs to one thread. Reading a file may take for ever: the capture loop
 * leaves it to a helper.
 */
#include "err.h"
#include "file_segments.h"

struct file_headers {
	int fd; /* borrowed */
	uint64_t file_len;
	bool is_64;
	uint16_t type; /* ET_EXEC and its like */
	/* Where the headers of segments, and of sections, are. */
	struct file_header_table {
		uint64_t off;
		uint32_t count;
		bool is_usual; /* entries have the length that the class says; else none is read */
	} segments, sections;
	uint32_t names_index; /* of the section that holds the names of sections */
	/* Set it to know whether anything but the first and last so many bytes was read: then
	 * read_middle is true. */
	uint64_t ends_len;
	bool read_middle;
};

/* The header of a segment or a section, which is bytes [off, off + len) of the file; the file may
 * end before. */
struct file_header {
	uint32_t name; /* of a section: where it is among the names */
	uint32_t type;
	uint64_t flags, off, vaddr, len, align;
};

/* Returns ERR_UNSUPPORTED: not a regular file, not ELF, big-endian. ERR_DATA: unknown class or byte
 * order, or the file header is cut. ERR_IO. */
int file_headers_read(int fd, struct file_headers *ret, struct err *err);

/* Returns whether the first EI_NIDENT bytes of a file, which are there, are those of an ELF file
 * that is read here. ERR_UNSUPPORTED, ERR_DATA, as above. */
int file_headers_check_ident(const uint8_t *ident, struct err *err);

/* Header i, below the count of its table. ERR_DATA: it is not in the file, or of unusual length. */
int file_headers_segment(struct file_headers *h, uint32_t i, struct file_header *ret,
			 struct err *err);
int file_headers_section(struct file_headers *h, uint32_t i, struct file_header *ret,
			 struct err *err);

/* Bytes of the file; ERR_DATA: it has not so many. */
int file_headers_bytes(struct file_headers *h, void *p, size_t len, uint64_t off, struct err *err);

/* Up to `max` bytes of what a header is about; 0 when the file does not have them. */
size_t file_headers_content(struct file_headers *h, const struct file_header *s, void *p,
			    size_t max);

/*
 * The name of a section as far as `size` bytes hold it with a NUL; `names` is the header at
 * names_index. An empty one when it lies outside of the names. ERR_DATA, ERR_IO.
 */
int file_headers_name(struct file_headers *h, const struct file_header *names,
		      const struct file_header *s, char *name, size_t size, struct err *err);

/* The executable segments of a file, which have passed file_segments_check(): 0 and *ret; -1 when
 * it has none, too many, such as cannot be, or cannot be read. Looks at LIMIT_NOTE_HEADERS headers.
 */
int file_headers_code_segments(int fd, struct file_segments *ret);

#endif
