/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PPROF_WRITE_H
#define RAWSTACK_PPROF_WRITE_H
/*
 * A profile as a pprof file: gzip around the protobuf message perftools.profiles.Profile. Equal
 * profiles give equal bytes. Rows keep their order, ids are row number + 1. The message is
 * compressed as it is made; memory is that of the compressed file.
 *
 * protobuf strings must be UTF-8, names need not be: ill-formed bytes become U+FFFD here.
 */
#include "buf.h"
#include "profile.h"

/* Appends the file to out. ERR_LIMIT when the profile has failed or out is full. */
int pprof_write(const struct profile *p, struct buf *out, struct err *err) _must_check_;

#endif
