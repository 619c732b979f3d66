/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FRAME_PRINTER_H
#define RAWSTACK_FRAME_PRINTER_H
/*
 * Prints the frames at addresses of one table. Each name is unpacked and demangled once, and kept:
 * addresses of one log or profile share most of them. One thread at a time.
 */
#include "resolve_print.h"
#include "rsym.h"

struct frame_printer;

/* `t` must outlive it. NULL: ERR_MEMORY. */
struct frame_printer *frame_printer_new(const struct rsym *t, bool demangle, struct err *err);
void frame_printer_free(struct frame_printer *n);
DEFINE_FREEP(struct frame_printer, frame_printer_free);

/*
 * For each of `count` addresses: begin, frames, end. vaddrs[i] is looked up, shown[i] is printed.
 * Adds to *unknown those in no function. ERR_DATA when the table is damaged, ERR_MEMORY.
 */
int frame_printer_print(struct frame_printer *n, const uint64_t *shown, const uint64_t *vaddrs,
			size_t count, struct resolve_printer *printer, size_t *unknown,
			struct err *err) _must_check_;

/* The entry of the function that the linker knows by this name: 1, 0, ERR_MEMORY, ERR_DATA. The
 * first call reads all names. */
int frame_printer_find_entry(struct frame_printer *n, const void *name, size_t len,
			     uint64_t *ret_vaddr, struct err *err);

#endif
