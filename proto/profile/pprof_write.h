/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PPROF_WRITE_H
#define RAWSTACK_PPROF_WRITE_H
/*
 * Writes a profile as a pprof file: gzip around the protobuf message perftools.profiles.Profile.
 * Equal profiles give equal bytes. Rows keep their order; an id is the row number + 1. The message
 * is compressed while it is made, so memory is that of the compressed file.
 *
 * A protobuf string has to be UTF-8 and a name need not be: ill-formed bytes become U+FFFD here.
 */
#include "buf.h"
#include "profile.h"

/* Appends the file to out. Returns ERR_LIMIT if the profile has failed or out is full. */
int pprof_write(const struct profile *p, struct buf *out, struct err *err) _must_check_;

#endif
