/* SPDX-License-Identifier: Apache-2.0 */
/* A StackBatch as it comes from a stranger, unpacked and answered from an empty store: it is
 * refused with a line, or the reply has a status for each location and fits its limit. */
#include <assert.h>
#include <stdlib.h>

#include "limits.h"
#include "symbolize.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct symbolize_env env;
	Rawstack__V1__StackBatch *batch;
	struct symbolize *s;
	struct err err;
	struct kv *kv;

	if (!env.store) {
		if (store_kv_open_memory(&kv, GIB, &err) || store_open(&env.store, kv, GIB, &err))
			abort();
		env.tables = tables_new(&err);
	}
	batch = rawstack__v1__stack_batch__unpack(NULL, len, p);
	if (!batch)
		return 0;
	s = symbolize_new(false, &err);
	if (s && !symbolize_run(s, &env, batch, &err)) {
		const Rawstack__V1__SymbolizedBatch *reply = symbolize_reply(s);

		assert(reply->n_status == (batch->locations ? batch->locations->n_kind : 0));
		assert(rawstack__v1__symbolized_batch__get_packed_size(reply) <= LIMIT_REPLY_LEN);
	}
	symbolize_free(s);
	rawstack__v1__stack_batch__free_unpacked(batch, NULL);
	return 0;
}
