/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STDOUT_END_H
#define RAWSTACK_STDOUT_END_H
/*
 * How programs end: what they printed is written, or that is an error. stdio reports a write that
 * failed once, and to whoever happened to flush; here the stream is asked what became of all of
 * it. For programs only, from the thread that prints.
 */
#include "buf.h"
#include "err.h"

/* Prints all of a buf, which may be empty. */
void stdout_put(const struct buf *out);

/*
 * Writes what was printed to standard output so far. ERR_CANCELLED: its reader went away (a pipe or
 * socket), so nobody wants the rest; ERR_IO: something, also of before, could not be written.
 */
int stdout_flush(struct err *err) _must_check_;

/*
 * Last in main(): flushes, prints *err when rc is negative, and gives the exit status. What could
 * not be written is an error of its own; a reader that went away is none.
 */
int stdout_end(int rc, struct err *err) _must_check_;

#endif
