/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_JSON_LINES_WRITE_H
#define RAWSTACK_JSON_LINES_WRITE_H
/*
 * Writes a profile as lines of JSON, for jq and databases: one object for each sample, without
 * loss.
 *
 *	{"values":{"samples":2,"cpu":20202020},"labels":{"thread":"main","pid":7},
 *	 "stack":[{"function":"f","file":"a.c","line":3,"inlined":true,"module":"/bin/x",
 *	           "build_id":"0102","address":"0x1234"}, ...]}
 *
 * The stack is leaf first. Keys without a value are left out. The function of a frame without a
 * name is "<module>+0x<address>", with "named":false.
 */
#include "profile.h"
#include "text_out.h"

int json_lines_write(const struct profile *p, struct text_out *to, struct err *err) _must_check_;

#endif
