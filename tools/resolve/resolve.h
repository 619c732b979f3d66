/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RESOLVE_H
#define RAWSTACK_RESOLVE_H
/* Turns addresses of one binary into lines: the query, to a service or to the file itself, and the
 * answer from the file. */
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
	const char *section; /* addresses are offsets in this section; or NULL */
	bool return_address; /* the addresses are return addresses */
	enum resolve_demangle demangle;
};

/* Prints every address and adds to *unknown those without an answer. Makes the table if there is
 * none. */
int resolve_local(struct local_table *t, const struct resolve_query *q,
		  struct resolve_printer *printer, size_t *unknown, struct err *err) _must_check_;

#endif
