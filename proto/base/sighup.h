/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SIGHUP_H
#define RAWSTACK_SIGHUP_H
/*
 * Keeps a SIGHUP from ending a daemon that has only just started. Loading the libraries of gRPC
 * takes tens of milliseconds, and a SIGHUP in that time would kill a program that blocks it at the
 * beginning of main(). A program that refers to this module blocks SIGHUP before the constructors
 * of its libraries run, so that the signal waits until the program takes it. What the dynamic
 * linker itself does comes earlier still; a parent that cannot wait for the daemon to be ready
 * starts it with SIGHUP ignored.
 */

/* Makes the program refer to this module, and blocks SIGHUP in the calling thread. Call it at the
 * beginning of main(). */
void sighup_block(void);

/* Unblocks SIGHUP in the calling thread, for a command that is no daemon. One that came meanwhile
 * takes effect now. */
void sighup_unblock(void);

#endif
