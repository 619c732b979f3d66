/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SINK_RENDER_H
#define RAWSTACK_SINK_RENDER_H
/*
 * Renders a profile as the bytes of a file, with one function for each kind of sink. Names in a
 * profile are untrusted: JSON escapes them, and folded stacks have '?' for each byte that would
 * break a line. The functions append to out, which is marked failed when it is full, and return
 * negative only if the profile cannot be rendered.
 */
#include "buf.h"
#include "profile.h"

int sink_render_pprof(const struct profile *p, struct buf *out, struct err *err);
int sink_render_json(const struct profile *p, struct buf *out, struct err *err);
int sink_render_folded(const struct profile *p, struct buf *out, struct err *err);

#endif
