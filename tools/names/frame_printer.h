/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FRAME_PRINTER_H
#define RAWSTACK_FRAME_PRINTER_H
/*
 * Prints the frames at addresses of one table. It unpacks and demangles each name once and keeps
 * it, because the addresses of one log or profile share most names. For one thread at a time.
 */
#include "resolve_print.h"
#include "rsym.h"

struct frame_printer;

/* Makes a printer for a table, which must outlive it. Returns NULL and ERR_MEMORY if memory is out.
 */
struct frame_printer *frame_printer_new(const struct rsym *t, bool demangle, struct err *err);
void frame_printer_free(struct frame_printer *n);
DEFINE_FREEP(struct frame_printer, frame_printer_free);

/*
 * Prints begin, frames and end for each of `count` addresses: looks up vaddrs[i] and shows
 * shown[i]. Adds to *unknown those that are in no function. Returns ERR_DATA if the table is
 * damaged, or ERR_MEMORY.
 */
int frame_printer_print(struct frame_printer *n, const uint64_t *shown, const uint64_t *vaddrs,
			size_t count, struct resolve_printer *printer, size_t *unknown,
			struct err *err) _must_check_;

/* Finds the entry of the function with this linkage name. Returns 1, 0 if there is none, ERR_MEMORY
 * or ERR_DATA. The first call reads all names. */
int frame_printer_find_entry(struct frame_printer *n, const void *name, size_t len,
			     uint64_t *ret_vaddr, struct err *err);

#endif
