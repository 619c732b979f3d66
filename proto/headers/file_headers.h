/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_HEADERS_H
#define RAWSTACK_FILE_HEADERS_H
/*
 * Reads the headers of an ELF file (System V gABI, "Object Files"), 32 or 64 bits, little-endian,
 * one at a time, by bounded reads and without an ELF library. Hosts, tools and the service's worker
 * read strangers' files with it: it checks every number against the length of the file and
 * allocates nothing. A reader belongs to one thread. A read may take for ever on a hung file
 * system, so the capture loop leaves it to a helper.
 */
#include "err.h"
#include "file_segments.h"

struct file_headers {
	int fd; /* borrowed */
	uint64_t file_len;
	bool is_64;
	uint16_t type; /* e_type: ET_EXEC, ET_DYN, ... */
	/* The places of the program headers and the section headers. */
	struct file_header_table {
		uint64_t off;
		uint32_t count;
		bool is_usual; /* entries have the length of the class; otherwise none is read */
	} segments, sections;
	uint32_t names_index; /* e_shstrndx: the section with the names of sections */
	/* Set by the caller, to learn whether a read touched more than the first and last so many
	 * bytes of the file; then read_middle becomes true. */
	uint64_t ends_len;
	bool read_middle;
};

/* One program or section header. Its content is bytes [off, off + len) of the file, which may end
 * before. */
struct file_header {
	uint32_t name; /* of a section: offset of its name */
	uint32_t type;
	uint64_t flags, off, vaddr, len, align;
};

/* Reads the file header. Returns ERR_UNSUPPORTED if it is not a regular file, not ELF, or
 * big-endian; ERR_DATA if the class or byte order is unknown or the header is cut; or ERR_IO. */
int file_headers_read(int fd, struct file_headers *ret, struct err *err);

/* Checks the first EI_NIDENT bytes of a file: 0 if they begin an ELF file that this module reads,
 * else ERR_UNSUPPORTED or ERR_DATA, as above. */
int file_headers_check_ident(const uint8_t *ident, struct err *err);

/* Read header i, which is below the count of its table. Return ERR_DATA if it is not in the file or
 * of unusual length. */
int file_headers_segment(struct file_headers *h, uint32_t i, struct file_header *ret,
			 struct err *err);
int file_headers_section(struct file_headers *h, uint32_t i, struct file_header *ret,
			 struct err *err);

/* Reads bytes of the file. Returns ERR_DATA if it does not have so many. */
int file_headers_bytes(struct file_headers *h, void *p, size_t len, uint64_t off, struct err *err);

/* Reads up to `max` bytes of a header's content and returns their number; 0 if the file does not
 * have them. */
size_t file_headers_content(struct file_headers *h, const struct file_header *s, void *p,
			    size_t max);

/*
 * Reads the name of a section, cut so that `size` bytes hold it with a NUL. `names` is the header
 * at names_index. A name outside of the names is empty. Returns ERR_DATA or ERR_IO.
 */
int file_headers_name(struct file_headers *h, const struct file_header *names,
		      const struct file_header *s, char *name, size_t size, struct err *err);

/* Reads the executable segments of a file, from at most LIMIT_NOTE_HEADERS headers: 0 and *ret,
 * which has passed file_segments_check(), or -1 if it has none, too many, illegal ones, or cannot
 * be read. */
int file_headers_code_segments(int fd, struct file_segments *ret);

#endif
