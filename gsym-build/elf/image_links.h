/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IMAGE_LINKS_H
#define RAWSTACK_IMAGE_LINKS_H
/*
 * Reads from the section headers of an ELF file which kind of file it is and which other files it
 * refers to. Clients that send files use it in their own process on untrusted files, so it reads
 * only headers and two small sections, within bounds, and without an ELF library. The names come
 * from the file; whoever opens them decides in which directories.
 */
#include "build_id.h"
#include "err.h"
#include "limits.h"

enum image_kind {
	IMAGE_EXECUTABLE, /* code, no DWARF */
	IMAGE_BOTH,       /* code and DWARF */
	IMAGE_DEBUG,      /* DWARF or symbols of code that lies in another file */
	IMAGE_ALT,        /* DWARF that belongs to no code: a dwz alternate file */
	IMAGE_PACKAGE,    /* split DWARF package */
	IMAGE_OTHER,      /* neither code nor DWARF */
};

struct image_links {
	enum image_kind kind;
	char debug_name[256];          /* of .gnu_debuglink, or "" */
	char alt_name[LIMIT_PATH_LEN]; /* of .gnu_debugaltlink, or "" */
	struct build_id alt_id;        /* valid if alt_name is not "" */
};

/* Reads fd by pread(2), and does not take it over. Returns 0, ERR_UNSUPPORTED if the file is not
 * ELF or has no section headers, ERR_DATA if they are damaged, or ERR_IO. */
int image_links_read(int fd, struct image_links *ret, struct err *err) _must_check_;

#endif
