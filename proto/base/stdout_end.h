/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STDOUT_END_H
#define RAWSTACK_STDOUT_END_H
/*
 * Makes sure that what a program printed was really written, or reports an error. stdio reports a
 * failed write once, to whichever call happened to flush; these functions ask the stream about all
 * of its writes. Only programs use them, from the thread that prints.
 */
#include "buf.h"
#include "err.h"

/* Prints the content of a buf, which may be empty. */
void stdout_put(const struct buf *out);

/*
 * Writes what was printed to standard output so far. Returns ERR_CANCELLED if its reader went away
 * (a pipe or socket), so that nobody wants the rest, or ERR_IO if something, perhaps earlier, could
 * not be written.
 */
int stdout_flush(struct err *err) _must_check_;

/*
 * Flushes standard output, prints *err if rc is negative and *err has a message, and returns the
 * exit status; the last call in main(). A failed write is an error of its own; a reader that went
 * away is none.
 */
int stdout_end(int rc, struct err *err) _must_check_;

#endif
