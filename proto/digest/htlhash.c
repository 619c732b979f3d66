/* SPDX-License-Identifier: Apache-2.0 */
#include "htlhash.h"

#include "digest.h"
#include "io.h"

int htlhash_of_file(int fd, uint64_t len, struct build_id *ret, struct err *err)
{
	uint8_t data[2 * HTLHASH_END_LEN + 8], sum[DIGEST_LEN];
	const size_t end_len = len < HTLHASH_END_LEN ? len : HTLHASH_END_LEN;

	TRY(io_read_all(io_system(), fd, data, end_len, 0, err));
	TRY(io_read_all(io_system(), fd, data + end_len, end_len, (off_t)(len - end_len), err));
	for (int i = 0; i < 8; i++)
		data[2 * end_len + (size_t)i] = (uint8_t)(len >> (56 - 8 * i));
	digest_sha256(data, 2 * end_len + 8, sum);
	return build_id_set(ret, BUILD_ID_HTLHASH, sum, HTLHASH_LEN, err);
}
