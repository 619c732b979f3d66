/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RECORD_IO_H
#define RAWSTACK_RECORD_IO_H
/* A struct io over files in memory that writes down what is done to them. */
#include "crash_log.h"
#include "memory_io.h"

struct record_io {
	struct io io;
	struct memory_io m;
	struct crash_log log;
};

void record_io_init(struct record_io *r);
void record_io_done(struct record_io *r);

#endif
