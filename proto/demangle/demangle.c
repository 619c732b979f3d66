/* SPDX-License-Identifier: Apache-2.0 */
#include "demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

#include "demangle_bound.h"
#include "limits.h"

#define PLT "@plt"

/*
 * The most text for each byte of a name, and for any name. Real names become up to 29 times as
 * long, mostly the longer ones. Longer texts repeat themselves, and a short name must not cost
 * much.
 */
enum {
	TEXT_PER_BYTE = 32,
	TEXT_FREE = 1024,
};

/* The text that libiberty passes on so far. */
struct text {
	struct buf buf;
	jmp_buf full;
};

/*
 * Leaves the demangler when the limit is reached. It would go on for exponential time, because back
 * references repeat text that contains back references. The jump leaks nothing on the heap but one
 * decoded identifier of Rust's rare non-ASCII names.
 */
static void add_demangled(const char *p, size_t len, void *ctx)
{
	struct text *t = ctx;

	if (!buf_append(&t->buf, p, len))
		longjmp(t->full, 1);
}

static bool name_starts_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool demangle_d(const char *name, int options, struct text *t)
{
	char *p = dlang_demangle(name, options);

	if (p)
		buf_str(&t->buf, p);
	free(p);
	return p != NULL;
}

static bool by_scheme(const char *name, int options, struct text *t)
{
	if (name_starts_with(name, "_R"))
		return demangle_is_bounded(name, options) &&
		       rust_demangle_callback(name, options, add_demangled, t);
	if (name_starts_with(name, "_D"))
		return demangle_is_bounded(name, options) && demangle_d(name, options, t);
	if (!name_starts_with(name, "_Z"))
		return false;
	/* Comes first, because the legacy Rust scheme looks like C++ with a hash at the end. */
	if (rust_demangle_callback(name, options, add_demangled, t))
		return true;
	buf_reset(&t->buf);
	/* libiberty's own limit refuses names above 1 KiB; ours bounds the depth of its parser, and
	 * the depth of its printer is bounded anyway. */
	options |= DMGL_NO_RECURSE_LIMIT;
	return demangle_is_bounded(name, options) &&
	       cplus_demangle_v3_callback(name, options, add_demangled, t);
}

static bool demangle_name(const char *name, int options, struct text *t)
{
	if (setjmp(t->full))
		return false;
	return by_scheme(name, options, t) && !t->buf.failed && t->buf.len > 0;
}

bool demangle_append(enum demangle_style style, const void *name, size_t len, struct buf *out)
{
	/* Without DMGL_PARAMS libiberty also leaves out the return type; Rust names have neither.
	 */
	int options = style == DEMANGLE_SHORT ? DMGL_ANSI : DMGL_ANSI | DMGL_PARAMS;
	size_t text_max = TEXT_FREE + TEXT_PER_BYTE * len;
	struct text t = {
		.buf = BUF_INIT(text_max < LIMIT_DEMANGLE_OUT ? text_max : LIMIT_DEMANGLE_OUT)};
	char copy[LIMIT_DEMANGLE_IN + 1];
	size_t stub_len = strlen(PLT), plain_len;
	bool ok;

	if (style == DEMANGLE_NONE || len < 3 || len > LIMIT_DEMANGLE_IN ||
	    *(const char *)name != '_' || memchr(name, 0, len))
		return buf_append(out, name, len);
	memcpy(copy, name, len);
	/* The name of a stub is that of its function and a suffix. */
	plain_len = len > stub_len && memcmp(copy + len - stub_len, PLT, stub_len) == 0
			    ? len - stub_len
			    : len;
	copy[plain_len] = 0;
	if (demangle_name(copy, options, &t))
		ok = buf_append(out, t.buf.p, t.buf.len) &&
		     buf_append(out, (const char *)name + plain_len, len - plain_len);
	else
		ok = buf_append(out, name, len);
	buf_done(&t.buf);
	return ok;
}
