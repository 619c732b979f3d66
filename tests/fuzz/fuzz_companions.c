/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A build and its verification with files that go together: an ELF file, its dwz alternate file,
 * its package of split units and a loose .dwo file, each any bytes. What comes out must be a table
 * that opens, and both readers must end. The input is four 32-bit lengths and the files in that
 * order; tests/fuzz/pack_files makes one.
 */
#include "bytes.h"
#include "limits.h"
#include "table_compare.h"
#include "table_make.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

enum {
	FILES = 4
};

static void build(const struct table_source *source)
{
	_cleanup_(buf_done) struct buf table = BUF_INIT(64 << 20), text = BUF_INIT(64 << 20);
	struct build_report report;
	struct verify_report verified;
	struct rsym t;

	if (table_make(source, &table, &report, NULL))
		return;
	if (rsym_open(&t, table.p, table.len, NULL))
		abort();
	(void)!table_compare(source, &t, &verified, &text, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const enum table_companion_kind kinds[FILES - 1] = {
		TABLE_COMPANION_ALT, TABLE_COMPANION_DWP, TABLE_COMPANION_DWO};
	struct table_companion_bytes companions[FILES - 1];
	_cleanup_(buf_done) struct buf missing = BUF_INIT(LIMIT_MISSING_LEN);
	struct table_source source = {
		.companions = companions, .missing = &missing, .columns = true, .types = true};
	struct bytes in = bytes_of(p, len);
	size_t lens[FILES];
	void *files[FILES] = {NULL};

	for (int i = 0; i < FILES; i++)
		lens[i] = bytes_u32(&in);
	for (int i = 0; i < FILES; i++) {
		if (lens[i] > in.left)
			lens[i] = in.left;
		/* In memory of its own, so that a sanitizer sees its end. */
		files[i] = malloc(lens[i] + !lens[i]);
		if (!files[i])
			abort();
		memcpy(files[i], in.p, lens[i]);
		bytes_skip(&in, lens[i]);
	}
	source.p = files[0];
	source.len = lens[0];
	for (int i = 1; i < FILES; i++)
		if (lens[i])
			companions[source.companion_count++] = (struct table_companion_bytes){
				.p = files[i], .len = lens[i], .kind = kinds[i - 1]};
	if (build_id_set(&source.id, BUILD_ID_GNU, "fuzz", 4, NULL))
		abort();
	build(&source);
	for (int i = 0; i < FILES; i++)
		free(files[i]);
	return 0;
}
