/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DEMANGLE_BOUND_H
#define RAWSTACK_DEMANGLE_BOUND_H
/*
 * Decides, before a name is demangled, whether its length bounds libiberty's work on it. Some names
 * of 60 bytes keep libiberty busy for years, others crash it, and nothing stops it on the way. The
 * decision depends on the name alone and not on a clock, so that every machine shows a name in the
 * same way.
 */
#include "base.h"

/* Takes a NUL-terminated name of at most LIMIT_DEMANGLE_IN bytes that begins with _Z, _R or _D.
 * options are those that libiberty will get. */
bool demangle_is_bounded(const char *name, int options);

/* The properties that make printing a C++ name costly. */
struct demangle_shape {
	bool has_lambda, has_pack_length; /* one in the other: libiberty reads through NULL */
	bool has_wide_lambda_head; /* several own parameters: libiberty may read out of bounds */
	bool has_silent_lists;     /* folds, or a pack in a pack: their text may be empty */
	uint32_t scopes;           /* nesting of template arguments */
	uint32_t parameters;       /* references to template arguments */
	uint32_t templates, references; /* their product is memory on the stack */
	uint64_t pack_work;             /* nodes seen when packs are looked for */
};

/* Reads the properties from the parsed name. Returns false if it is not a name. */
bool demangle_shape_read(const char *name, int options, struct demangle_shape *s);

/* Decides the same for names of Rust's v0 scheme. For any other name it returns false. */
bool demangle_rust_is_bounded(const char *name);

#endif
