/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IMAGE_LINKS_H
#define RAWSTACK_IMAGE_LINKS_H
/*
 * What the section headers of an ELF file say: what kind of file it is, and which other files it
 * refers to. For clients that send files; runs in their process on untrusted files, so it reads
 * headers and two small sections only, bounded, and without an ELF library. Names come from the
 * file: whoever opens them decides where.
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
	IMAGE_OTHER,      /* none of these: no code, no DWARF */
};

struct image_links {
	enum image_kind kind;
	char debug_name[256];          /* of .gnu_debuglink, or "" */
	char alt_name[LIMIT_PATH_LEN]; /* of .gnu_debugaltlink, or "" */
	struct build_id alt_id;        /* when alt_name is set */
};

/* ERR_UNSUPPORTED: not ELF, or without section headers; ERR_DATA: they are damaged. */
int image_links_read(int fd, struct image_links *ret, struct err *err) _must_check_;

#endif
