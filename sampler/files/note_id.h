/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_NOTE_ID_H
#define RAWSTACK_NOTE_ID_H
/*
 * The GNU build id of an executable or of the running kernel, from ELF notes (gABI, "Note
 * Section"), reading as little as possible. Everything read is untrusted and bounded by
 * LIMIT_NOTES_LEN. Does not look at DWARF.
 */
#include "build_id.h"
#include "bytes.h"

/* 1 and *ret, or 0. */
int note_id_find(struct bytes notes, struct build_id *ret);

/* Of an ELF file of 32 or 64 bits: in its segments of notes, then in its sections. 1 and *ret; 0
 * when it has none; negative when it is no such file, or no regular file at all. */
int note_id_of_file(int fd, struct build_id *ret);

/* Of /sys/kernel/notes: 1, 0 or negative. */
int note_id_of_kernel(struct build_id *ret);

#endif
