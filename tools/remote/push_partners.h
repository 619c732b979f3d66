/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PUSH_PARTNERS_H
#define RAWSTACK_PUSH_PARTNERS_H
/*
 * The files that go with one that is pushed: the program that a debug file was split from or the
 * other way round, its dwz alternate file, its .dwp. Found by what the file says of them, at the
 * places where distributions and compilers leave them; only regular files, and only those with the
 * build id that is asked for.
 */
#include "gsym_companions.h"
#include "image_links.h"

enum {
	PUSH_PARTNERS_MAX = 5
};

struct push_partner {
	int fd;
	enum image_kind kind;
	struct build_id id; /* under which it is sent */
	char name[256];     /* its file's, without the folder */
};

struct push_partners {
	struct push_partner list[PUSH_PARTNERS_MAX];
	size_t count;
	struct err why; /* a partner that is there and is another's; code 0: none */
};

/* path is where the file with these links was opened. */
void push_partners_find(struct push_partners *p, const char *path, const struct image_links *links,
			const struct build_id *id);
void push_partners_close(struct push_partners *p);

#endif
