/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BASE_H
#define RAWSTACK_BASE_H
/*
 * The macros that every file uses: release at the end of a scope, overflow-checked sizes, growing
 * arrays. Needs nothing but libc.
 *
 *	_cleanup_(buf_done) struct buf out = BUF_INIT(LIMIT);	released when the scope ends
 *	return TAKE_PTR(obj);					hands it out instead
 *	TRY(x_open(&x, err));					ends the function on an error
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(fn)  __attribute__((cleanup(fn)))
#define _must_check_   __attribute__((warn_unused_result))
#define _printf_(f, a) __attribute__((format(printf, f, a)))
#define _unused_       __attribute__((unused))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Evaluates to the pointer and sets it to NULL, so that the cleanup of the scope does nothing. */
#define TAKE_PTR(p)                               \
	__extension__({                           \
		__typeof__(p) *take_p_ = &(p);    \
		__typeof__(p) take_v_ = *take_p_; \
		*take_p_ = NULL;                  \
		take_v_;                          \
	})

/* Does the same for a descriptor, with -1 in place of NULL. */
#define TAKE_FD(fd)                     \
	__extension__({                 \
		int *take_p_ = &(fd);   \
		int take_v_ = *take_p_; \
		*take_p_ = -1;          \
		take_v_;                \
	})

/* Returns from the function with what the call returned, unless that is 0: its error, or the 1 of a
 * call after which nothing is left to do. */
#define TRY(call)                       \
	do {                            \
		int try_rc_ = (call);   \
		if (try_rc_)            \
			return try_rc_; \
	} while (0)

/* Declares x_freep() for _cleanup_(), from x_free() that accepts NULL. */
#define DEFINE_FREEP(type, fn)             \
	static inline void fn##p(type **p) \
	{                                  \
		fn(*p);                    \
	}                                  \
	struct rawstack_swallow_semicolon

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Return false when the result does not fit; *ret is then undefined. */
#define CHECKED_ADD(a, b, ret) (!__builtin_add_overflow(a, b, ret))
#define CHECKED_MUL(a, b, ret) (!__builtin_mul_overflow(a, b, ret))

/* Functions of <ctype.h> depend on the locale; these do not. */
static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool is_lower_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Adds with saturation, because the weights of a profile are a stranger's numbers. */
static inline void add_capped(int64_t *sum, int64_t n)
{
	if (!CHECKED_ADD(*sum, n, sum))
		*sum = n > 0 ? INT64_MAX : INT64_MIN;
}

static inline void add_capped_u64(uint64_t *sum, uint64_t n)
{
	if (!CHECKED_ADD(*sum, n, sum))
		*sum = UINT64_MAX;
}

/* Grows *p to hold at least want elements of size bytes, doubling its capacity. Returns false, with
 * *p and *cap unchanged, when want exceeds ceiling or memory is out. */
bool grow_memory(void **p, size_t *cap, size_t want, size_t size, size_t ceiling) _must_check_;

/* Grows an array, which is an lvalue, as grow_memory() does. It calls nothing if there is room. */
#define GROW(array, cap, want, ceiling)                                                        \
	__extension__({                                                                        \
		size_t *const cap_ = (cap);                                                    \
		const size_t want_ = (want), ceiling_ = (ceiling);                             \
		void *grown_ = (array);                                                        \
		bool fits_ = grown_ && want_ <= *cap_ && want_ <= ceiling_;                    \
                                                                                               \
		if (!fits_ && grow_memory(&grown_, cap_, want_, sizeof(*(array)), ceiling_)) { \
			(array) = grown_;                                                      \
			fits_ = true;                                                          \
		}                                                                              \
		fits_;                                                                         \
	})

#endif
