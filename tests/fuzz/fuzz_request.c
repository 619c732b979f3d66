/* SPDX-License-Identifier: Apache-2.0 */
/* A StackBatch as it comes from a stranger, unpacked and answered from a store with two real
 * tables: one with segments (FUZZ_TABLE), whose id takes the place of the first module's, and one
 * of a debug file alone (FUZZ_LONE_TABLE), likewise of the second's. It is refused with a line, or
 * the reply has a status for each location, its columns agree, every index in it is in range, it
 * fits its limit, and what was found by file offset in the second lies in segments that the request
 * has and that can be.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "file_segments.h"
#include "io.h"
#include "limits.h"
#include "rsym.h"
#include "rsym_format.h"
#include "symbolize.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static struct build_id table_ids[2];

static void put_table(struct store *store, const char *path, struct build_id *ret_id)
{
	uint8_t *file, *aligned;
	struct rsym table;
	struct err err;
	size_t len;

	if (io_read_file(path, GIB, &file, &len, &err))
		abort();
	aligned = aligned_alloc(16, (len + 15) / 16 * 16);
	if (!aligned)
		abort();
	memcpy(aligned, file, len);
	if (rsym_open(&table, aligned, len, &err) ||
	    store_put(store,
		      &(struct store_binary){.id = table.id,
					     .status = STORE_READY,
					     .generation = table.generation,
					     .table_len = len},
		      aligned, &err))
		abort();
	*ret_id = table.id;
	free(aligned);
	free(file);
}

static void open_store(struct symbolize_env *env)
{
	struct err err;
	struct kv *kv;

	if (store_kv_open_memory(&kv, GIB, &err) ||
	    store_open(&env->store, kv, GIB, RSYM_MAJOR, &err))
		abort();
	put_table(env->store, FUZZ_TABLE, &table_ids[0]);
	put_table(env->store, FUZZ_LONE_TABLE, &table_ids[1]);
	env->tables = tables_new(&err);
}

/* Whether the module's own segments hold the byte that the location means. */
static bool lies_in_segments(const Rawstack__V1__Module *m, uint64_t file_off)
{
	struct file_segment rows[LIMIT_FILE_SEGMENTS];
	uint64_t vaddr;

	for (size_t i = 0; i < m->n_segment_file_off; i++)
		rows[i] = (struct file_segment){m->segment_file_off[i], m->segment_vaddr[i],
						m->segment_len[i]};
	return !file_segments_check(rows, m->n_segment_file_off, NULL) &&
	       file_segments_vaddr(rows, m->n_segment_file_off, file_off, &vaddr) == 1;
}

static void check_lone(const Rawstack__V1__StackBatch *batch,
		       const Rawstack__V1__SymbolizedBatch *r)
{
	const Rawstack__V1__Locations *l = batch->locations;

	assert(r->n_modules == batch->n_modules);
	for (size_t i = 0; i < r->n_modules; i++)
		assert(!(r->modules[i]->needs_executable && r->modules[i]->segments_from_host));
	for (size_t i = 0; l && i < l->n_kind; i++) {
		const uint64_t back = l->n_mode && l->mode[i] == 1;

		if (l->kind[i] == RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_FILE_OFF &&
		    l->module[i] == 1 && r->frame_count[i])
			assert(r->modules[1]->segments_from_host &&
			       lies_in_segments(batch->modules[1], l->address[i] - back));
	}
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
	ProtobufCBinaryData theirs[2] = {{0}};
	struct symbolize *s;
	struct err err;

	if (!env.store)
		open_store(&env);
	batch = rawstack__v1__stack_batch__unpack(NULL, len, p);
	if (!batch)
		return 0;
	for (size_t i = 0; i < 2 && i < batch->n_modules; i++) {
		theirs[i] = batch->modules[i]->build_id;
		batch->modules[i]->build_id =
			(ProtobufCBinaryData){table_ids[i].len, table_ids[i].bytes};
	}
	s = symbolize_new(false, &err);
	if (s && !symbolize_run(s, &env, batch, &err)) {
		check(batch, symbolize_reply(s));
		check_lone(batch, symbolize_reply(s));
	}
	symbolize_free(s);
	for (size_t i = 0; i < 2 && i < batch->n_modules; i++)
		batch->modules[i]->build_id = theirs[i];
	rawstack__v1__stack_batch__free_unpacked(batch, NULL);
	return 0;
}
