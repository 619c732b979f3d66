/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LOG_SCAN_H
#define RAWSTACK_LOG_SCAN_H
/*
 * Finds the addresses in a line of text that programs write when they fail:
 *
 *	./server(+0x1139) [0x55d7c4f1a139]          backtrace_symbols() of glibc
 *	./server(main+0x1d) [0x55d7c4f1a139]        the same, with a symbol
 *	#1 0x7f12 (/usr/lib/libx.so+0x2345)         sanitizers, for what they cannot name
 *	#2 0x00007f12 n/a (/usr/lib/libx.so + 0x2345)
 *	/usr/lib/libx.so+0x2345                     many programs
 *	RIP: 0010:do_exit+0x12/0x40 [ext4]          Linux
 *	[0x55d7c4f1a139]  [<ffffffff81000010>]  pc=0x4805a1   bare: of the process, also Go's
 *
 * It knows no files and resolves nothing. Results point into the line. The time is proportional to
 * the length of the line, whatever it holds.
 */
#include "base.h"

enum log_frame_kind {
	LOG_MODULE, /* vaddr in `module` */
	LOG_SYMBOL, /* offset from the entry of `symbol`, in `module` */
	LOG_KERNEL, /* the same in the kernel, or in one of its modules by name */
	LOG_PC,     /* an address of the process */
};

struct log_text {
	const char *p;
	size_t len;
};

struct log_frame {
	struct log_text module, symbol;
	/* The module if its path has blanks, which only the file system can tell; len 0: there is
	 * no such reading. */
	struct log_text spaced_module;
	uint64_t address; /* or offset from the symbol */
	size_t end;       /* where in the line the frame ends */
	enum log_frame_kind kind;
	bool return_address; /* a return address, as far as the format tells */
};

/* The most frames of one line. Each known format has one; lines that a logger joined have a few. */
#define LIMIT_LOG_FRAMES 16

size_t log_scan(const char *line, size_t len, struct log_frame frames[static LIMIT_LOG_FRAMES]);

#endif
