/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DEMANGLE_BOUND_H
#define RAWSTACK_DEMANGLE_BOUND_H
/*
 * Says before a name is demangled whether libiberty's work on it is bounded, by its length. Some
 * names of 60 bytes keep it busy for years, others end it by a signal, and nothing stops it on the
 * way. The answer depends on the name alone: no clock is asked, so that every machine shows a name
 * in the same way.
 */
#include "base.h"

/* Takes a NUL-terminated name of at most LIMIT_DEMANGLE_IN bytes that begins with _Z, _R or _D.
 * options: those that libiberty will get. */
bool demangle_is_bounded(const char *name, int options);

/* What makes printing a C++ name costly. */
struct demangle_shape {
	bool has_lambda, has_pack_length; /* of both in each other libiberty reads through NULL */
	bool has_wide_lambda_head; /* several parameters of its own: libiberty may read wildly */
	bool has_silent_lists;     /* folds, or a pack in a pack: text may be empty */
	uint32_t scopes;           /* of template arguments, one in another */
	uint32_t parameters;       /* references to template arguments */
	uint32_t templates, references; /* their product is memory on the stack */
	uint64_t pack_work;             /* nodes seen when packs are looked for */
};

/* Reads it from the parsed name; false when the name is none. */
bool demangle_shape_read(const char *name, int options, struct demangle_shape *s);

/* The same for names of Rust's v0 scheme only. What is no such name has no bound. */
bool demangle_rust_is_bounded(const char *name);

#endif
