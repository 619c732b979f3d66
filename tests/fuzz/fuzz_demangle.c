/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a name in each style: the text is bounded, and so is the work. Ten seconds of the
 * processor are a hundred times what the costliest name takes that is not refused; what doubles
 * with each letter is above in no time.
 */
#include <stdlib.h>

#include "demangle.h"
#include "limits.h"
#include "thread_seconds.h"

#define SECONDS_MAX 10

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	double begin = thread_seconds();

	if (len > LIMIT_NAME_LEN)
		return 0;
	for (enum demangle_style style = DEMANGLE_NONE; style <= DEMANGLE_FULL; style++) {
		_cleanup_(buf_done) struct buf out = BUF_INIT(LIMIT_DEMANGLE_OUT + LIMIT_NAME_LEN);

		if (!demangle_append(style, p, len, &out))
			abort();
	}
	if (thread_seconds() - begin > SECONDS_MAX)
		abort();
	return 0;
}
