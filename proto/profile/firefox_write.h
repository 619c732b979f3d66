/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FIREFOX_WRITE_H
#define RAWSTACK_FIREFOX_WRITE_H
/*
 * Writes a profile for the Firefox Profiler (profiler.firefox.com) in its "processed profile
 * format", fixed version 60, which later versions of the application upgrade by themselves. It has
 * a track for each thread; libraries with build ids, so that frames without a name keep their
 * address; inlined calls; user and kernel code as categories. Source:
 * docs-developer/CHANGELOG-formats.md and src/types/profile.ts of the project.
 *
 * Samples of a profile have no time of their own here, so they are spread evenly over its duration,
 * with their weight. Labels other than the thread's are lost, and so are all values but one.
 */
#include "profile.h"
#include "text_out.h"

#define FIREFOX_VERSION 60

/* Writes value number `value` of each sample, and leaves out those that are not above 0. `title`
 * names the product. Returns 0, ERR_MEMORY, ERR_LIMIT, or an error of to->write(). */
int firefox_write(const struct profile *p, uint32_t value, const char *title, struct text_out *to,
		  struct err *err) _must_check_;

#endif
