/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest_sha256() for a program that seldom needs it: libcrypto is loaded when it is called. Being
 * linked, that takes half of what it takes to start the sampler's program, and half a megabyte; and
 * only the process that reads a file without a build id needs it, which lives a moment.
 */
#include "digest.h"

#include <dlfcn.h>
#include <openssl/evp.h>
#include <openssl/opensslv.h>

#define TEXT_OF(x)     #x
#define TEXT(x)        TEXT_OF(x)
#define LIBCRYPTO_NAME "libcrypto.so." TEXT(OPENSSL_SHLIB_VERSION)

int digest_sha256(const void *p, size_t len, uint8_t sum[static DIGEST_LEN], struct err *err)
{
	/* Stays loaded: there is nothing to gain at the second call. */
	void *lib = dlopen(LIBCRYPTO_NAME, RTLD_NOW | RTLD_LOCAL);
	__typeof__(EVP_sha256) *sha256;
	__typeof__(EVP_Digest) *digest;
	unsigned int sum_len = 0;

	if (!lib)
		return err_set(err, ERR_NOT_FOUND, LIBCRYPTO_NAME " cannot be loaded");
	*(void **)&sha256 = dlsym(lib, "EVP_sha256");
	*(void **)&digest = dlsym(lib, "EVP_Digest");
	if (!sha256 || !digest || digest(p, len, sum, &sum_len, sha256(), NULL) != 1 ||
	    sum_len != DIGEST_LEN)
		return err_set(err, ERR_INTERNAL, "libcrypto does not provide SHA-256");
	return 0;
}
