/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ERR_H
#define RAWSTACK_ERR_H
/*
 * An error as one line of text. A struct err lives on the caller's stack. A function that can fail
 * takes a pointer to it as its last argument and fails in one expression:
 *
 *	return err_set(err, ERR_DATA, "%s: section %s ends at %zu of %zu bytes", ...);
 *
 * Codes are negative and say whose fault the error is; err_exit_status() translates them. Programs
 * print `message` after their own name, and nothing else.
 */
#include <stdarg.h>

#include "base.h"

enum err_code {
	ERR_NONE = 0,
	ERR_USAGE = -1,       /* the caller's arguments; exit status 2 */
	ERR_DATA = -2,        /* bytes of a file or message are damaged or foreign */
	ERR_UNSUPPORTED = -3, /* well-formed, but of a kind that is not supported */
	ERR_LIMIT = -4,       /* a named limit was exceeded */
	ERR_NOT_FOUND = -5,   /* the thing named does not exist */
	ERR_EXISTS = -6,      /* it exists already */
	ERR_IO = -7,          /* the operating system refused a read, write or open */
	ERR_MEMORY = -8,      /* allocation failed */
	ERR_UNAVAILABLE = -9, /* the peer is away or busy; try again later */
	ERR_DENIED = -10,     /* a permission or capability is missing, which the message names */
	ERR_MISMATCH = -11,   /* bytes do not match what was declared (id, size, digest) */
	ERR_CANCELLED = -12,  /* the caller or a deadline stopped the work */
	ERR_INTERNAL = -13,   /* a bug of ours or of a library, contained in time */
	ERR_DAMAGED = -14,    /* stored data is damaged; the request is not at fault */
	ERR_UNAUTHENTICATED = -15, /* nobody knows who asks; the message says what is missing */
};

#define ERR_MESSAGE_MAX 480

struct err {
	int code;
	char message[ERR_MESSAGE_MAX];
};

/*
 * Fills *err (which may be NULL) and returns code. The message is cut at ERR_MESSAGE_MAX.
 * Characters that utf8_shown() refuses become '?', so that an untrusted name can neither break the
 * line nor change what a terminal shows.
 */
int err_set(struct err *err, int code, const char *fmt, ...) _printf_(3, 4);

/* Does the same, and adds ": " and the text of errno value errnum. Returns ERR_MEMORY for ENOMEM,
 * ERR_DENIED for EPERM and EACCES, ERR_NOT_FOUND for ENOENT, and ERR_IO for all others. */
int err_sys(struct err *err, int errnum, const char *fmt, ...) _printf_(3, 4);

/* Reports that something is full: the message with ERR_LIMIT, or "out of memory" with ERR_MEMORY if
 * no_memory is set. Buffers and tables say which (buf.h, intern.h), so that nobody looks for a
 * limit on a machine that has no memory. */
int err_full(struct err *err, bool no_memory, const char *fmt, ...) _printf_(3, 4);

/* Reports a failed allocation: ERR_MEMORY, "out of memory". */
int err_no_memory(struct err *err);

/* Puts "<prefix>: " in front of the message that is set, and returns its code. */
int err_prefix(struct err *err, const char *fmt, ...) _printf_(2, 3);

/* Tells compilers and analyzers that an error code is always negative. */
#define ERR_NEGATIVE(call)                       \
	__extension__({                          \
		int err_code_ = (call);          \
		if (err_code_ >= 0)              \
			__builtin_unreachable(); \
		err_code_;                       \
	})
#define err_set(...)       ERR_NEGATIVE(err_set(__VA_ARGS__))
#define err_sys(...)       ERR_NEGATIVE(err_sys(__VA_ARGS__))
#define err_full(...)      ERR_NEGATIVE(err_full(__VA_ARGS__))
#define err_no_memory(...) ERR_NEGATIVE(err_no_memory(__VA_ARGS__))
#define err_prefix(...)    ERR_NEGATIVE(err_prefix(__VA_ARGS__))

/* Returns the exit status: 0 done, 1 failed, 2 usage. */
int err_exit_status(int code);

#endif
