/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIGEST_H
#define RAWSTACK_DIGEST_H
/*
 * SHA-256 (FIPS 180-4), from which a file without a build id gets its identity, and which proves
 * that an upload arrived as it was sent. Not for secrets. Nettle computes it: libcrypto is as fast,
 * but adds 2 ms to the start of a program. A struct digest is a value that belongs to one thread at
 * a time, and needs no release.
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

/* Writes the digest of everything since the start, and starts anew. */
void digest_finish(struct digest *d, uint8_t sum[static DIGEST_LEN]);

/* Computes a digest in one call. */
void digest_sha256(const void *p, size_t len, uint8_t sum[static DIGEST_LEN]);

#endif
