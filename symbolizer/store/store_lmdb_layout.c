/* SPDX-License-Identifier: Apache-2.0 */
#include "store_lmdb_layout.h"

#include <errno.h>
#include <lmdb.h>
#include <string.h>

enum {
	PAGE_HEAD_LEN = 16
};

/* Finds the free pages. Their lists form an ordinary tree for a transaction that only reads. */
static int mark_free_pages(MDB_txn *txn, struct kv_layout *ret)
{
	MDB_cursor *cursor;
	MDB_val k, v;
	int rc;

	TRY(mdb_cursor_open(txn, 0, &cursor));
	while (!(rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT))) {
		uint64_t count = 0, page;

		if (v.mv_size >= sizeof(count))
			memcpy(&count, v.mv_data, sizeof(count));
		for (uint64_t i = 1; i <= count && (i + 1) * sizeof(page) <= v.mv_size; i++) {
			memcpy(&page, (const uint8_t *)v.mv_data + i * sizeof(page), sizeof(page));
			if (page < ret->page_count)
				ret->free_pages[page / 8] |= (uint8_t)(1 << page % 8);
		}
	}
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

int store_lmdb_layout(MDB_env *env, MDB_txn *txn, uint64_t max_bytes, struct kv_layout *ret)
{
	MDB_envinfo info;
	MDB_stat st;
	int rc;

	mdb_env_info(env, &info);
	mdb_env_stat(env, &st);
	*ret = (struct kv_layout){.page_len = st.ms_psize,
				  .value_head = PAGE_HEAD_LEN,
				  .long_len = st.ms_psize / 2,
				  .page_count = (uint64_t)info.me_last_pgno + 1,
				  .room_count = max_bytes / st.ms_psize};
	ret->free_pages = calloc(1, (size_t)(ret->page_count / 8 + 1));
	rc = ret->free_pages ? mark_free_pages(txn, ret) : ENOMEM;
	if (rc)
		free(TAKE_PTR(ret->free_pages));
	return rc;
}

int store_lmdb_map(MDB_env *env, MDB_txn *txn, const uint8_t **ret)
{
	const uint8_t *page;
	MDB_cursor *cursor;
	uint64_t number;
	MDB_stat st;
	MDB_dbi main;
	MDB_val k;
	int rc;

	TRY(mdb_dbi_open(txn, NULL, 0, &main));
	TRY(mdb_cursor_open(txn, main, &cursor));
	rc = mdb_cursor_get(cursor, &k, NULL, MDB_FIRST);
	mdb_cursor_close(cursor);
	if (rc)
		return rc;
	/* A key lies in a leaf. A leaf is one page, aligned like the map, and begins with its
	 * number. */
	mdb_env_stat(env, &st);
	page = (const uint8_t *)k.mv_data - (uintptr_t)k.mv_data % st.ms_psize;
	memcpy(&number, page, sizeof(number));
	*ret = page - number * st.ms_psize;
	return 0;
}
