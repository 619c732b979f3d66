/* SPDX-License-Identifier: Apache-2.0 */
#include "demangle.h"

#include <libiberty/demangle.h>

#include "limits.h"

/* Text as libiberty hands it out, up to the limit. */
struct text {
	struct buf buf;
};

static void add_text(const char *p, size_t len, void *ctx)
{
	struct text *t = ctx;

	buf_append(&t->buf, p, len);
}

static bool starts(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/*
 * The streaming entry points, which cannot be made to allocate an exponential text: what exceeds
 * the buffer is dropped on the way. libiberty bounds its own recursion unless told not to.
 */
static bool demangle(const char *name, int options, struct text *t)
{
	bool ok = false;

	if (starts(name, "_Z"))
		/* The legacy Rust scheme looks like C++ with a hash at the end. */
		ok = rust_demangle_callback(name, options, add_text, t) ||
		     (buf_reset(&t->buf), cplus_demangle_v3_callback(name, options, add_text, t));
	else if (starts(name, "_R"))
		ok = rust_demangle_callback(name, options, add_text, t);
	else if (starts(name, "_D")) {
		char *p = dlang_demangle(name, options);

		ok = p != NULL;
		if (p)
			buf_str(&t->buf, p);
		free(p);
	}
	return ok && !t->buf.failed && t->buf.len > 0;
}

bool demangle_append(enum demangle_style style, const void *name, size_t len, struct buf *out)
{
	/* Without parameters libiberty also leaves out the return type; Rust has neither. */
	int options = style == DEMANGLE_SHORT ? DMGL_ANSI : DMGL_ANSI | DMGL_PARAMS;
	struct text t = {.buf = BUF_INIT(LIMIT_DEMANGLE_OUT)};
	char copy[LIMIT_DEMANGLE_IN + 1];
	bool ok;

	if (style == DEMANGLE_NONE || len < 3 || len > LIMIT_DEMANGLE_IN ||
	    *(const char *)name != '_' || memchr(name, 0, len))
		return buf_append(out, name, len);
	memcpy(copy, name, len);
	copy[len] = 0;
	if (demangle(copy, options, &t))
		ok = buf_append(out, t.buf.p, t.buf.len);
	else
		ok = buf_append(out, name, len);
	buf_done(&t.buf);
	return ok;
}
