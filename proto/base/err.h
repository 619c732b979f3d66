/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ERR_H
#define RAWSTACK_ERR_H
/*
 * What went wrong, in one line. A struct err lives on the caller's stack; functions that can fail
 * take a pointer to it as their last argument and fail in one expression:
 *
 *	return err_set(err, ERR_DATA, "%s: section %s ends at %zu of %zu bytes", ...);
 *
 * Codes are negative and say whose fault it is; err_exit_status() and err_name() are their only
 * tables. Programs print `message` after their own name, and nothing else.
 */
#include <stdarg.h>

#include "base.h"

enum err_code {
	ERR_NONE = 0,
	ERR_USAGE = -1,       /* the caller's arguments; exit status 2 */
	ERR_DATA = -2,        /* damaged or foreign bytes in a file or message */
	ERR_UNSUPPORTED = -3, /* well-formed, but a kind we do not read */
	ERR_LIMIT = -4,       /* a named limit was exceeded */
	ERR_NOT_FOUND = -5,   /* the thing named does not exist */
	ERR_EXISTS = -6,      /* it exists already */
	ERR_IO = -7,          /* the operating system refused a read, write or open */
	ERR_MEMORY = -8,      /* allocation failed */
	ERR_UNAVAILABLE = -9, /* the peer is not there, or busy; trying again later is right */
	ERR_DENIED = -10,     /* a permission or capability is missing; the message names it */
	ERR_MISMATCH = -11,   /* bytes do not match what was declared (id, size, digest) */
	ERR_CANCELLED = -12,  /* the caller or a deadline stopped it */
	ERR_INTERNAL = -13,   /* a fault of ours, or of a library, contained in time */
	ERR_DAMAGED = -14,    /* what the service has stored is damaged: no fault of the request */
};

#define ERR_MESSAGE_MAX 480

struct err {
	int code;
	char message[ERR_MESSAGE_MAX];
};

/*
 * Fills *err (which may be NULL) and returns code. The message is cut at ERR_MESSAGE_MAX, and what
 * utf8_shown() keeps from a terminal becomes '?', so that untrusted names cannot break the line or
 * the terminal, or turn what is read.
 */
int err_set(struct err *err, int code, const char *fmt, ...) _printf_(3, 4);

/* The same, ending in ": " and the text of errno number errnum; ENOMEM gives ERR_MEMORY. */
int err_sys(struct err *err, int errnum, const char *fmt, ...) _printf_(3, 4);

/* For what is full: the message with ERR_LIMIT, or ERR_MEMORY and "out of memory" when no limit but
 * memory ended it. What fills up says which (buf.h, intern.h), so that nobody is sent to look for a
 * limit on a machine that has no memory. */
int err_full(struct err *err, bool no_memory, const char *fmt, ...) _printf_(3, 4);

/* An allocation failed: ERR_MEMORY, "out of memory". */
int err_no_memory(struct err *err);

/* Puts "<prefix>: " in front of a message already set, and returns its code. */
int err_prefix(struct err *err, const char *fmt, ...) _printf_(2, 3);

/* Tells compilers and analyzers what holds for all of them: an error is never 0 or more. */
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

/* "data", "limit", ...: stable words for logs and --json. */
const char *err_name(int code);

/* 0 done, 1 failed, 2 usage. */
int err_exit_status(int code);

#endif
