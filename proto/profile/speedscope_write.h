/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPEEDSCOPE_WRITE_H
#define RAWSTACK_SPEEDSCOPE_WRITE_H
/*
 * Writes a profile for speedscope (www.speedscope.app): its JSON "file format", with one "sampled"
 * profile for each thread, shared frames, and weights instead of repeated samples. Source:
 * file-format-schema.json of speedscope 1.5 and later.
 *
 * Lost: addresses, modules except of frames without a name, labels but the thread's, all values but
 * one, and the lines of a function's frames (the first is kept, so that a function is one frame).
 */
#include "profile.h"
#include "text_out.h"

/* Writes value number `value` of each sample, and leaves out those that are not above 0. `title`
 * names the file. */
int speedscope_write(const struct profile *p, uint32_t value, const char *title,
		     struct text_out *to, struct err *err) _must_check_;

#endif
