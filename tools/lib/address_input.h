/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ADDRESS_INPUT_H
#define RAWSTACK_ADDRESS_INPUT_H
/*
 * Addresses as people and programs give them: hex, one by one as arguments, or a line each on a
 * pipe. What is on the pipe is handed out as it comes, so that a program can ask, wait for the
 * answer and ask again; many at once are handed out together.
 */
#include "buf.h"
#include "err.h"

/* Hex, with or without 0x. ERR_USAGE. */
int address_parse(const char *text, uint64_t *ret, struct err *err);

struct address_input {
	int fd;          /* borrowed */
	bool lenient;    /* what is no address is 0, as addr2line has it; else ERR_USAGE */
	struct buf text; /* read, and not handed out yet */
	uint64_t *list;  /* of the last call; valid until the next */
	size_t count, cap;
	bool end;
};

void address_input_init(struct address_input *in, int fd, bool lenient);
void address_input_done(struct address_input *in);

/* Waits for at least one whole line: 1 and in->list; 0 at the end. */
int address_input_next(struct address_input *in, struct err *err);

#endif
