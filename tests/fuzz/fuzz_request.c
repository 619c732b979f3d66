/* SPDX-License-Identifier: Apache-2.0 */
/* A StackBatch as it comes from a stranger, unpacked and answered from a store with a real table
 * (FUZZ_TABLE), whose id takes the place of the first module's: it is refused with a line, or the
 * reply has a status for each location, its columns agree, every index in it is in range, and it
 * fits its limit. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "limits.h"
#include "rsym.h"
#include "rsym_format.h"
#include "symbolize.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static struct build_id table_id;

static void open_store(struct symbolize_env *env)
{
	uint8_t *file, *aligned;
	struct rsym table;
	struct err err;
	struct kv *kv;
	size_t len;

	if (io_read_file(FUZZ_TABLE, GIB, &file, &len, &err))
		abort();
	aligned = aligned_alloc(16, (len + 15) / 16 * 16);
	if (!aligned)
		abort();
	memcpy(aligned, file, len);
	if (rsym_open(&table, aligned, len, &err) || store_kv_open_memory(&kv, GIB, &err) ||
	    store_open(&env->store, kv, GIB, RSYM_MAJOR, &err))
		abort();
	table_id = table.id;
	if (store_put(env->store,
		      &(struct store_binary){.id = table.id,
					     .status = STORE_READY,
					     .generation = table.generation,
					     .table_len = len},
		      aligned, &err))
		abort();
	env->tables = tables_new(&err);
	free(aligned);
	free(file);
}

static void check(const Rawstack__V1__StackBatch *batch, const Rawstack__V1__SymbolizedBatch *r)
{
	size_t rows = batch->locations ? batch->locations->n_kind : 0, frames = 0;

	assert(r->n_status == rows && r->n_frame_count == rows);
	for (size_t i = 0; i < rows; i++)
		frames += r->frame_count[i];
	assert(r->n_frame_function == frames && r->n_frame_line == frames);
	assert(r->n_frame_column == (batch->want_columns ? frames : 0));
	for (size_t i = 0; i < frames; i++)
		assert(r->frame_function[i] < r->functions->n_name);
	for (size_t i = 0; i < r->functions->n_name; i++)
		assert(r->functions->name[i] < r->n_strings &&
		       r->functions->file[i] < r->n_strings);
	assert(rawstack__v1__symbolized_batch__get_packed_size(r) <= LIMIT_REPLY_LEN);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct symbolize_env env;
	Rawstack__V1__StackBatch *batch;
	ProtobufCBinaryData theirs = {0};
	struct symbolize *s;
	struct err err;

	if (!env.store)
		open_store(&env);
	batch = rawstack__v1__stack_batch__unpack(NULL, len, p);
	if (!batch)
		return 0;
	if (batch->n_modules) {
		theirs = batch->modules[0]->build_id;
		batch->modules[0]->build_id = (ProtobufCBinaryData){table_id.len, table_id.bytes};
	}
	s = symbolize_new(false, &err);
	if (s && !symbolize_run(s, &env, batch, &err))
		check(batch, symbolize_reply(s));
	symbolize_free(s);
	if (batch->n_modules)
		batch->modules[0]->build_id = theirs;
	rawstack__v1__stack_batch__free_unpacked(batch, NULL);
	return 0;
}
