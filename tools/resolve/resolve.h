/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RESOLVE_H
#define RAWSTACK_RESOLVE_H
/* Addresses of one binary to lines: by a service, or from the file itself. */
#include "build_id.h"
#include "local_table.h"
#include "resolve_print.h"

enum resolve_demangle {
	RESOLVE_MANGLED,
	RESOLVE_DEMANGLED
};

struct resolve_query {
	const uint64_t *addresses;
	size_t count;
	bool file_off;       /* addresses are file offsets, not link-time addresses */
	const char *section; /* or NULL: addresses are offsets in this section. Of files only */
	bool return_address; /* the instruction before is meant */
	enum resolve_demangle demangle;
};

/* Prints every address and adds to *unknown those without an answer. The table is made when it is
 * not there. */
int resolve_local(struct local_table *t, const struct resolve_query *q,
		  struct resolve_printer *printer, size_t *unknown, struct err *err) _must_check_;

#endif
