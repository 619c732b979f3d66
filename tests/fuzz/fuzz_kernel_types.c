/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as BTF: refused, or cut; and what was cut, cut again, is the same. */
#include "kernel_types.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	_cleanup_(buf_done) struct buf once = BUF_INIT(65536), again = BUF_INIT(65536);

	if (kernel_types_cut_from(p, len, &once))
		return 0;
	if (kernel_types_cut_from(once.p, once.len, &again) || once.len != again.len ||
	    memcmp(once.p, again.p, once.len))
		abort();
	return 0;
}
