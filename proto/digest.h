/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIGEST_H
#define RAWSTACK_DIGEST_H
/*
 * SHA-256 (FIPS 180-4): the identity of a file without a build id, and proof that an upload arrived
 * as it was sent. Not for secrets. A struct digest belongs to one thread at a time; different ones
 * are independent.
 *
 *	_cleanup_(digest_freep) struct digest *d = digest_new(&err);
 *
 *	if (!d || digest_update(d, p, len, &err) || digest_finish(d, sum, &err))
 *		return err.code;
 */
#include "err.h"

enum {
	DIGEST_LEN = 32
};

struct digest;

/* NULL on failure, which is only ever ERR_MEMORY or a libcrypto that refuses SHA-256. */
struct digest *digest_new(struct err *err) _must_check_;
void digest_free(struct digest *d);
DEFINE_FREEP(struct digest, digest_free);

/* 0, or ERR_INTERNAL. len may be 0. */
int digest_update(struct digest *d, const void *p, size_t len, struct err *err) _must_check_;

/* The sum of everything given since the start. d is then at the start again. */
int digest_finish(struct digest *d, uint8_t sum[static DIGEST_LEN], struct err *err) _must_check_;

/* All at once. This alone is in digest_late.c too, which loads libcrypto when it is called:
 * ERR_NOT_FOUND without. */
int digest_sha256(const void *p, size_t len, uint8_t sum[static DIGEST_LEN],
		  struct err *err) _must_check_;

#endif
