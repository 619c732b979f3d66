/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"

void digest_init(struct digest *d)
{
	sha256_init(&d->sha256);
}

void digest_update(struct digest *d, const void *p, size_t len)
{
	sha256_update(&d->sha256, len, p);
}

void digest_finish(struct digest *d, uint8_t sum[static DIGEST_LEN])
{
	sha256_digest(&d->sha256, DIGEST_LEN, sum);
}

void digest_sha256(const void *p, size_t len, uint8_t sum[static DIGEST_LEN])
{
	struct digest d;

	digest_init(&d);
	digest_update(&d, p, len);
	digest_finish(&d, sum);
}
