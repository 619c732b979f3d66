/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SINK_RENDER_H
#define RAWSTACK_SINK_RENDER_H
/*
 * A profile as the bytes of a file, one function for each kind of sink. Names in it are untrusted:
 * JSON escapes them, folded stacks have '?' for what would break a line. All append to out, which
 * fails when it is full; negative only when the profile cannot be rendered.
 */
#include "buf.h"
#include "profile.h"

int sink_render_pprof(const struct profile *p, struct buf *out, struct err *err);
int sink_render_json(const struct profile *p, struct buf *out, struct err *err);
int sink_render_folded(const struct profile *p, struct buf *out, struct err *err);

#endif
