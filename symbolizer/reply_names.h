/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_REPLY_NAMES_H
#define RAWSTACK_REPLY_NAMES_H
/*
 * The string and function tables of one reply. Every text is decoded, demangled and stored once,
 * and everything is weighed before it is added: *_add give RSYM_NONE when the reply would exceed
 * its budget, and what was there stays good.
 */
#include "demangle.h"
#include "intern.h"
#include "rsym.h"

struct reply_names {
	struct intern strings;   /* the reply's strings; 0 is the empty one */
	struct intern functions; /* struct reply_function */
	struct intern name_keys, file_keys, linkage_keys; /* (module, id) -> below */
	uint32_t *names, *files, *linkages;               /* string of each key */
	size_t names_cap, files_cap, linkages_cap;
	struct buf raw, text;
	enum demangle_style style;
	bool details;
	size_t size; /* upper bound of the reply's bytes so far, as packed */
	size_t max;
};

/* A row of the reply's functions. Without `details` the last three are 0. */
struct reply_function {
	uint32_t name, file;
	uint32_t linkage_name, start_line;
	uint64_t start_address;
};

int reply_names_init(struct reply_names *n, enum demangle_style style, bool details, size_t base,
		     size_t max, struct err *err) _must_check_;
void reply_names_done(struct reply_names *n);

/* The row of a table's function in a file (RSYM_NONE: not known). module tells tables apart. */
uint32_t reply_names_function(struct reply_names *n, uint32_t module, const struct rsym *t,
			      uint32_t function, uint32_t file);

/* The row of a name that needs no table. */
uint32_t reply_names_plain(struct reply_names *n, const void *name, size_t len);

/* Room for len more bytes of the reply; false when there is none. */
bool reply_names_weigh(struct reply_names *n, size_t len);

#endif
