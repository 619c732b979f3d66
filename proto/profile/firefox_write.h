/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FIREFOX_WRITE_H
#define RAWSTACK_FIREFOX_WRITE_H
/*
 * A profile for the Firefox Profiler (profiler.firefox.com): its "processed profile format" in the
 * fixed version 60, which later versions of the application upgrade by themselves. A track for each
 * thread; libraries with build ids, so that frames without a name stay addressable; inlined calls;
 * user and kernel code as categories.
 * Source: docs-developer/CHANGELOG-formats.md and src/types/profile.ts of the project.
 *
 * Samples of a profile have no time of their own here: they are spread evenly over its duration,
 * with their weight. Lost: labels but the thread's, all values but one.
 */
#include "profile.h"
#include "text_out.h"

#define FIREFOX_VERSION 60

/* Writes value number `value`; zeros and less are left out. `title` names the product. */
int firefox_write(const struct profile *p, uint32_t value, const char *title, struct text_out *to,
		  struct err *err) _must_check_;

#endif
