/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a pprof file: refused, or a profile that merges, writes and reads back equal. */

#include "pprof_read.h"
#include "pprof_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static void write_again(const struct profile *profile, struct buf *out)
{
	_cleanup_(profile_done) struct profile back;
	_cleanup_(buf_done) struct buf again = BUF_INIT(LIMIT_PPROF_FILE_LEN);
	struct err err;

	if (pprof_write(profile, out, &err))
		abort();
	profile_init(&back);
	if (pprof_read(out->p, out->len, &back, &err) || pprof_write(&back, &again, &err))
		abort();
	if (back.samples.count != profile->samples.count)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	_cleanup_(profile_done) struct profile profile, merged;
	_cleanup_(buf_done) struct buf out = BUF_INIT(LIMIT_PPROF_FILE_LEN);
	struct err err;

	profile_init(&profile);
	profile_init(&merged);
	if (pprof_read(p, len, &profile, &err) == 0) {
		write_again(&profile, &out);
		if (profile_merge(&merged, &profile, NULL, NULL, &err))
			abort();
	}
	return 0;
}
