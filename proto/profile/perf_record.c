/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_record.h"

uint64_t perf_record_behind(uint32_t type, struct bytes body)
{
	return type == RECORD_HEADER_TRACING_DATA ? ((uint64_t)bytes_u32(&body) + 7) / 8 * 8 : 0;
}

bool perf_part(struct bytes file, uint64_t off, uint64_t len, struct bytes *ret)
{
	if (off > file.left || len > file.left - off)
		return false;
	*ret = bytes_of(file.p + off, len);
	return true;
}
