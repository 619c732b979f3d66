/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ADDRESS_INPUT_H
#define RAWSTACK_ADDRESS_INPUT_H
/*
 * Reads addresses from people and programs: hex, as arguments or one a line on a pipe. Lines of a
 * pipe are handed out as they arrive, so that a program can ask, wait for the answer and ask again;
 * lines that arrive together are handed out together.
 */
#include "buf.h"
#include "err.h"

/* Parses hex, with or without 0x. Returns ERR_USAGE if it is no address. */
int address_parse(const char *text, uint64_t *ret, struct err *err);

struct address_input {
	int fd;          /* borrowed */
	bool lenient;    /* text that is no address gives 0, as in addr2line; else ERR_USAGE */
	struct buf text; /* bytes that were read and not handed out yet */
	uint64_t *list;  /* addresses of the last call, valid until the next */
	size_t count, cap;
	bool end;
};

void address_input_init(struct address_input *in, int fd, bool lenient);
void address_input_done(struct address_input *in);

/* Waits for at least one whole line. Returns 1 and in->list, or 0 at the end. */
int address_input_next(struct address_input *in, struct err *err);

#endif
