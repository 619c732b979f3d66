/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LLVM_GSYM_H
#define RAWSTACK_LLVM_GSYM_H
/*
 * Writes a table as LLVM GSYM, version 1 (llvm/DebugInfo/GSYM, the headers of LLVM 19),
 * little-endian, for programs that read that. It reads only the table, so both give the same
 * functions, files, lines and inlined calls at every address, within these limits of GSYM:
 *
 *	- a function is one run of addresses, so one with a cold part becomes two of the same name;
 *	- identities longer than 20 bytes are cut, and offsets are 32 bits;
 *	- a function without a name is named "??", and so is the file of a call site without one.
 *
 * GSYM has no place for entries of functions, aliases, segments and the report.
 */
#include "rsym.h"

/* Appends the file to out, which must be empty. Returns ERR_NOT_FOUND if the table has no answer at
 * all, ERR_LIMIT, ERR_MEMORY or ERR_DATA (a damaged text). */
int llvm_gsym_write(const struct rsym *t, struct buf *out, struct err *err) _must_check_;

#endif
