/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_JSON_OUT_H
#define RAWSTACK_JSON_OUT_H
/*
 * The --json output of rawstack-gsym-build: one object per line on stdout, keys in the order given.
 * Names and paths are untrusted bytes; what is not UTF-8 in them becomes U+FFFD.
 */
#include "table_text.h"

/* Closes the line and prints it. ERR_LIMIT: the line was cut. */
int json_print(struct buf *line, struct err *err);

/* The keys "build_id" and "build_id_kind". */
void json_identity(struct buf *out, const struct build_id *id);

/* The keys of what a table holds, and of what its build could not read. */
void json_table(struct buf *out, const struct rsym *t);

/* {"address":"0x1139","frames":[{"function":"f","file":"/a.c","line":3,"start_address":"0x1130",
 * "start_line":2,"start_file":"/a.c"}]}; file is null when unknown, and what starts nowhere, or in
 * no file, lacks the key. With discriminators, by frame, columns are printed too. The last frame
 * has "aliases":["g"] when they are asked for. */
int json_print_frames(const struct table_text *text, uint64_t vaddr,
		      const struct rsym_frame *frames, const uint32_t *discriminators, int count,
		      bool aliases, struct err *err);

#endif
