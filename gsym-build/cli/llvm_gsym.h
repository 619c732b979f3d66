/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LLVM_GSYM_H
#define RAWSTACK_LLVM_GSYM_H
/*
 * Writes what a table answers as LLVM GSYM, version 1 (llvm/DebugInfo/GSYM, the headers of LLVM
 * 19), little-endian, for programs that read that. It reads nothing but the table, so both give the
 * same answers: the same functions, files, lines and inlined calls at every address, with these
 * limits of GSYM:
 *
 *	- a function is one run of addresses there, so one with a cold part becomes two of one name;
 *	- identities longer than 20 bytes are cut, and offsets are 32 bits;
 *	- a function without a name is named "??", and so is the file of a call site without one.
 *
 * Entries of functions, aliases, segments and the report have no place in it.
 */
#include "rsym.h"

/* Appends the file to out, which must be empty. ERR_NOT_FOUND: the table has no answer at all.
 * ERR_LIMIT, ERR_MEMORY, ERR_DATA (a damaged text). */
int llvm_gsym_write(const struct rsym *t, struct buf *out, struct err *err) _must_check_;

#endif
