/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"

#include <openssl/evp.h>

struct digest {
	EVP_MD_CTX *ctx;
};

static int start(struct digest *d, struct err *err)
{
	if (EVP_DigestInit_ex(d->ctx, EVP_sha256(), NULL) != 1)
		return err_set(err, ERR_INTERNAL, "libcrypto does not provide SHA-256");
	return 0;
}

struct digest *digest_new(struct err *err)
{
	_cleanup_(digest_freep) struct digest *d = calloc(1, sizeof(*d));

	if (d)
		d->ctx = EVP_MD_CTX_new();
	if (!d || !d->ctx) {
		err_set(err, ERR_MEMORY, "out of memory");
		return NULL;
	}
	if (start(d, err))
		return NULL;
	return TAKE_PTR(d);
}

void digest_free(struct digest *d)
{
	if (!d)
		return;
	EVP_MD_CTX_free(d->ctx);
	free(d);
}

int digest_update(struct digest *d, const void *p, size_t len, struct err *err)
{
	if (EVP_DigestUpdate(d->ctx, p, len) != 1)
		return err_set(err, ERR_INTERNAL, "libcrypto: SHA-256 update failed");
	return 0;
}

int digest_finish(struct digest *d, uint8_t sum[static DIGEST_LEN], struct err *err)
{
	unsigned int len = 0;

	if (EVP_DigestFinal_ex(d->ctx, sum, &len) != 1 || len != DIGEST_LEN)
		return err_set(err, ERR_INTERNAL, "libcrypto: SHA-256 failed");
	return start(d, err);
}

int digest_sha256(const void *p, size_t len, uint8_t sum[static DIGEST_LEN], struct err *err)
{
	_cleanup_(digest_freep) struct digest *d = digest_new(err);
	int rc;

	if (!d)
		return err ? err->code : ERR_MEMORY;
	rc = digest_update(d, p, len, err);
	return rc ? rc : digest_finish(d, sum, err);
}
