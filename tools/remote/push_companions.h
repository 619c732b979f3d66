/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PUSH_COMPANIONS_H
#define RAWSTACK_PUSH_COMPANIONS_H
/*
 * Finds the files that belong to one that is pushed: the program that a debug file was split from
 * or the other way round, its dwz alternate file, and its .dwp. It follows what the file says of
 * them, to the places where distributions and compilers leave them, and takes only regular files
 * with the build id that is asked for.
 */
#include "gsym_companions.h"
#include "image_links.h"

enum {
	PUSH_COMPANIONS_MAX = 5
};

struct push_companion {
	int fd;
	enum image_kind kind;
	struct build_id id; /* id under which it is sent */
	char name[256];     /* name of its file, without the directory */
};

struct push_companions {
	struct push_companion list[PUSH_COMPANIONS_MAX];
	size_t count;
	struct err why; /* a companion that exists but belongs to another file; code 0: none */
};

/* Finds the companions. path is where the file with these links was opened. */
void push_companions_find(struct push_companions *p, const char *path,
			  const struct image_links *links, const struct build_id *id);
void push_companions_close(struct push_companions *p);

#endif
