/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DEMANGLE_H
#define RAWSTACK_DEMANGLE_H
/*
 * Demangles linkage names of C++ (Itanium ABI), Rust (legacy and v0) and D. Names are untrusted. A
 * name stays as it is, on every machine alike, if it is longer than LIMIT_DEMANGLE_IN, nested too
 * deeply, needs much work for its length (demangle_bound.h), or if its text would exceed
 * LIMIT_DEMANGLE_OUT or 32 times its length plus 1 KiB.
 *
 * The costliest names known take 1.6 us for each byte (D, where a retry reads the rest again), so a
 * MiB of them takes 1.7 s; real names take a twentieth of that. Callers bound the work on many
 * names: demangle_budget.h for tools, reply_texts.h for replies of the service. Safe from any
 * thread.
 */
#include "buf.h"
#include "limits.h"

/* A longer name stays mangled: demangling expands a name up to exponentially. */
#define LIMIT_DEMANGLE_IN LIMIT(4096)

enum demangle_style {
	DEMANGLE_NONE = 0,  /* the linkage name itself */
	DEMANGLE_SHORT = 1, /* without parameters and return type */
	DEMANGLE_FULL = 2,
};

/* Appends the text of name[len] to out. Returns false only if out is full. */
bool demangle_append(enum demangle_style style, const void *name, size_t len, struct buf *out);

#endif
