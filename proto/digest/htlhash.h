/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_HTLHASH_H
#define RAWSTACK_HTLHASH_H
/* Computes the identity of a file that has no build id; see BUILD_ID_HTLHASH. */
#include "build_id.h"

enum {
	HTLHASH_END_LEN = 4096 /* bytes that it covers at either end */
};

/* Computes the hash of a file of `len` bytes. Reads only its ends, by pread(2). Returns 0, ERR_DATA
 * if the file is shorter, or an error of err_sys(). */
int htlhash_of_file(int fd, uint64_t len, struct build_id *ret, struct err *err) _must_check_;

#endif
