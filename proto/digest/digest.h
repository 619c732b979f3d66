/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIGEST_H
#define RAWSTACK_DIGEST_H
/*
 * SHA-256 (FIPS 180-4): the identity of a file without a build id, and proof that an upload arrived
 * as it was sent. Not for secrets. Of Nettle: libcrypto computes as fast, and takes a program 2 ms
 * before it does. A struct digest is a value that belongs to one thread at a time, and nothing in
 * it is to be freed.
 *
 *	struct digest d;
 *
 *	digest_init(&d);
 *	digest_update(&d, p, len);
 *	digest_finish(&d, sum);
 */
#include <nettle/sha2.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DIGEST_LEN = SHA256_DIGEST_SIZE
};

struct digest {
	struct sha256_ctx sha256;
};

void digest_init(struct digest *d);

/* len may be 0. */
void digest_update(struct digest *d, const void *p, size_t len);

/* The sum of everything given since the start. d is then at the start again. */
void digest_finish(struct digest *d, uint8_t sum[static DIGEST_LEN]);

/* All at once. */
void digest_sha256(const void *p, size_t len, uint8_t sum[static DIGEST_LEN]);

#endif
