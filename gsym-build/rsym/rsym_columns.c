/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_columns.h"

#include <string.h>

#include "bisect.h"
#include "bytes.h"
#include "rsym_format.h"

void rsym_columns_init(struct rsym_columns *c)
{
	*c = (struct rsym_columns){.chains = INTERN_INIT(UINT32_MAX - 2, LIMIT_TABLE_LEN)};
	buf_init(&c->index, LIMIT_TABLE_LEN);
	buf_init(&c->stream, LIMIT_TABLE_LEN);
}

void rsym_columns_done(struct rsym_columns *c)
{
	intern_done(&c->chains);
	buf_done(&c->index);
	buf_done(&c->stream);
}

uint32_t rsym_columns_chain(struct rsym_columns *c, uint32_t around, uint32_t column_word)
{
	struct rsym_disk_chain key = {.around = around, .column_word = column_word};
	uint32_t id;

	if (!around && !column_word)
		return 0;
	id = intern_add(&c->chains, &key, sizeof(key), NULL);
	return id == INTERN_FULL ? UINT32_MAX : id + 1;
}

void rsym_columns_row(struct rsym_columns *c, uint64_t vaddr, uint32_t chain)
{
	if (chain == c->last_chain)
		return;
	if (c->row_count % RSYM_COLUMNS_ROWS == 0) {
		struct rsym_disk_columns_block block = {.vaddr = vaddr,
							.off = (uint32_t)c->stream.len};

		buf_append(&c->index, &block, sizeof(block));
		buf_uleb(&c->stream, chain);
	} else {
		buf_uleb(&c->stream, vaddr - c->last_vaddr);
		buf_sleb(&c->stream, (int64_t)chain - (int64_t)c->last_chain);
	}
	c->last_vaddr = vaddr;
	c->last_chain = chain;
	c->row_count++;
}

void rsym_columns_put(const struct rsym_columns *c, struct buf *out)
{
	struct rsym_disk_columns head = {.row_count = c->row_count,
					 .chain_count = (uint32_t)c->chains.count};

	if (!c->row_count)
		return;
	buf_append(out, &head, sizeof(head));
	buf_append(out, c->index.p, c->index.len);
	for (uint32_t i = 0; i < c->chains.count; i++)
		buf_append(out, intern_get(&c->chains, i, NULL), sizeof(struct rsym_disk_chain));
	buf_append(out, c->stream.p, c->stream.len);
	out->failed |= c->index.failed || c->stream.failed;
}

/* The parts of the section. They are empty when the table has none. */
struct parts {
	const uint8_t *index, *chains;
	struct bytes stream;
	uint32_t row_count, block_count, chain_count;
};

static bool find_parts(const struct rsym *t, struct parts *p)
{
	struct rsym_disk_columns head;
	uint64_t index_len, chains_len;

	*p = (struct parts){0};
	if (!t->columns.p)
		return true;
	if (t->columns.len < sizeof(head))
		return false;
	memcpy(&head, t->columns.p, sizeof(head));
	p->block_count =
		head.row_count / RSYM_COLUMNS_ROWS + (head.row_count % RSYM_COLUMNS_ROWS != 0);
	index_len = (uint64_t)p->block_count * sizeof(struct rsym_disk_columns_block);
	chains_len = (uint64_t)head.chain_count * sizeof(struct rsym_disk_chain);
	if (index_len + chains_len > t->columns.len - sizeof(head)) {
		p->block_count = 0;
		return false;
	}
	p->row_count = head.row_count;
	p->chain_count = head.chain_count;
	p->index = t->columns.p + sizeof(head);
	p->chains = p->index + index_len;
	p->stream = bytes_of(p->chains + chains_len,
			     t->columns.len - sizeof(head) - index_len - chains_len);
	return true;
}

static struct rsym_disk_columns_block block_at(const struct parts *p, uint32_t i)
{
	struct rsym_disk_columns_block b;

	memcpy(&b, p->index + (size_t)i * sizeof(b), sizeof(b));
	return b;
}

/* An iterator over the rows of a block. */
struct rows {
	struct bytes in;
	uint64_t vaddr;
	int64_t chain;
	uint32_t left;
};

static struct rows rows_of_block(const struct parts *p, uint32_t block)
{
	struct rsym_disk_columns_block b = block_at(p, block);
	uint32_t before = block * RSYM_COLUMNS_ROWS;
	struct rows r = {.in = p->stream, .vaddr = b.vaddr};

	bytes_skip(&r.in, b.off);
	r.left = p->row_count - before < RSYM_COLUMNS_ROWS ? p->row_count - before
							   : (uint32_t)RSYM_COLUMNS_ROWS;
	r.chain = (int64_t)(bytes_uleb(&r.in) & UINT32_MAX);
	r.left--;
	return r;
}

static bool next_row(struct rows *r)
{
	if (!r->left || r->in.failed)
		return false;
	r->left--;
	r->vaddr += bytes_uleb(&r->in);
	r->chain = (int64_t)((uint64_t)r->chain + (uint64_t)bytes_sleb(&r->in));
	return !r->in.failed;
}

static struct rsym_disk_chain chain_at(const struct parts *p, uint32_t id)
{
	struct rsym_disk_chain c;

	memcpy(&c, p->chains + (size_t)(id - 1) * sizeof(c), sizeof(c));
	return c;
}

/* Counts the blocks that begin at or before vaddr; the last of these holds its row. */
static uint32_t blocks_up_to(const struct parts *p, uint64_t vaddr)
{
	return (uint32_t)BISECT(p->block_count, i, block_at(p, (uint32_t)i).vaddr <= vaddr);
}

bool rsym_columns_at(const struct rsym *t, uint64_t vaddr, struct rsym_column *columns,
		     size_t count)
{
	uint32_t blocks, chain;
	struct parts p;
	struct rows r, next;

	memset(columns, 0, count * sizeof(*columns));
	if (!find_parts(t, &p) || !p.block_count)
		return false;
	blocks = blocks_up_to(&p, vaddr);
	if (!blocks)
		return true;
	r = next = rows_of_block(&p, blocks - 1);
	while (next_row(&next) && next.vaddr <= vaddr)
		r = next;
	chain = r.chain > 0 && r.chain <= (int64_t)p.chain_count ? (uint32_t)r.chain : 0;
	for (size_t i = 0; i < count && chain; i++) {
		struct rsym_disk_chain c = chain_at(&p, chain);

		columns[i] = (struct rsym_column){.column = c.column_word & UINT16_MAX,
						  .discriminator = c.column_word >> 16};
		chain = c.around < chain ? c.around : 0;
	}
	return true;
}

uint64_t rsym_columns_end(const struct rsym *t, uint64_t vaddr)
{
	struct parts p;
	uint32_t blocks;

	if (!find_parts(t, &p))
		return UINT64_MAX;
	blocks = blocks_up_to(&p, vaddr);
	if (blocks) {
		struct rows next = rows_of_block(&p, blocks - 1);

		while (next_row(&next))
			if (next.vaddr > vaddr)
				return next.vaddr;
	}
	return blocks < p.block_count ? block_at(&p, blocks).vaddr : UINT64_MAX;
}

static int columns_damaged(struct err *err)
{
	return err_set(err, ERR_DATA, "damaged table: section %d does not fit the others",
		       RSYM_SECTION_COLUMNS);
}

int rsym_columns_open(const struct rsym *t, struct err *err)
{
	struct parts p;

	return find_parts(t, &p) ? 0 : columns_damaged(err);
}

int rsym_columns_check(const struct rsym *t, struct err *err)
{
	struct parts p;
	uint64_t before = 0, off = 0;

	if (!find_parts(t, &p))
		return columns_damaged(err);
	for (uint32_t id = 1; id <= p.chain_count; id++)
		if (chain_at(&p, id).around >= id)
			return columns_damaged(err);
	for (uint32_t i = 0; i < p.block_count; i++) {
		struct rows r = rows_of_block(&p, i);

		/* Blocks must not overlap, so that the time of a check is bounded by the length of
		 * the section. */
		if (block_at(&p, i).off != off)
			return columns_damaged(err);
		do {
			if (r.in.failed || r.chain < 0 || r.chain > (int64_t)p.chain_count ||
			    ((i || off) && r.vaddr <= before))
				return columns_damaged(err);
			before = r.vaddr;
			off = 1;
		} while (next_row(&r));
		if (r.left || r.in.failed)
			return columns_damaged(err);
		off = p.stream.left - r.in.left;
	}
	return off == p.stream.left ? 0 : columns_damaged(err);
}
