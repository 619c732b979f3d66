/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SANDBOX_H
#define RAWSTACK_SANDBOX_H
/*
 * A list of the system calls that the table worker needs; any other kills it (SIGSYS). Entered
 * after its files are open and before the first byte of input is read.
 */
#include "err.h"

/*
 * From here on this process can compute, allocate, read and write the descriptors it has, and end.
 * Nothing can be opened, started or connected. Without effect under sanitizers, which need more.
 * One thread only. ERR_INTERNAL when the kernel refuses the filter.
 */
int sandbox_enter(struct err *err) _must_check_;

#endif
