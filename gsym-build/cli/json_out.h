/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_JSON_OUT_H
#define RAWSTACK_JSON_OUT_H
/*
 * The --json output of rawstack-gsym-build: one object per line on stdout, with keys in the order
 * given. Names and paths are untrusted bytes; bytes that are not UTF-8 become U+FFFD.
 */
#include "table_text.h"

/* Ends the line and prints it. Returns ERR_LIMIT if the line was cut, or ERR_MEMORY. */
int json_print(struct buf *line, struct err *err);

/* Puts the keys "build_id" and "build_id_kind". */
void json_identity(struct buf *out, const struct build_id *id);

/* Puts keys for the content of a table and for the parts that its build could not read. */
void json_table(struct buf *out, const struct rsym *t);

/* {"address":"0x1139","frames":[{"function":"f","file":"/a.c","line":3,"start_address":"0x1130",
 * "start_line":2,"start_file":"/a.c"}]}; "file" is null if it is unknown, and the keys of a
 * function's start are left out if they are unknown. If discriminators (by frame) are given,
 * columns are printed too. The last frame has "aliases":["g"] if they are wanted. */
int json_print_frames(const struct table_text *text, uint64_t vaddr,
		      const struct rsym_frame *frames, const uint32_t *discriminators, int count,
		      bool aliases, struct err *err);

#endif
