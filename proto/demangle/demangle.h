/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DEMANGLE_H
#define RAWSTACK_DEMANGLE_H
/*
 * Linkage names as people read them: C++ (Itanium ABI), Rust (legacy and v0), D. Names are
 * untrusted: above LIMIT_DEMANGLE_IN bytes, nested too deeply, when it would take much work for its
 * length (demangle_bound.h), or when the text would exceed LIMIT_DEMANGLE_OUT or 32 times its
 * length and 1 KiB, a name stays as it is, the same everywhere. The costliest names known take 1.6
 * us for each byte (D; a retry reads what follows again), so a MiB of those takes 1.7 s; real ones
 * take a twentieth. Many of them are the caller's to bound (demangle_budget.h, and for replies of a
 * service reply_texts.h). Safe from any thread.
 */
#include "buf.h"

enum demangle_style {
	DEMANGLE_NONE = 0,  /* the name as it is */
	DEMANGLE_SHORT = 1, /* without parameters and return type */
	DEMANGLE_FULL = 2,
};

/* Appends the text of name[len] to out; false only when out is full. */
bool demangle_append(enum demangle_style style, const void *name, size_t len, struct buf *out);

#endif
