/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_PACK_H
#define RAWSTACK_RSYM_PACK_H
/*
 * Cuts the rows of a table into blocks, gives each the nodes it needs, picks the frequent line
 * bases, and writes blocks, index and frequent list.
 */
#include "helper.h"
#include "rsym_index_writer.h"
#include "rsym_line_bases.h"

struct rsym_pack_out {
	struct buf *blocks, *frequent;
	struct rsym_index_writer *index;
};

/*
 * rsym_line_bases_pack() must have filled the shape; this adds the fields about rows. `shallow` is
 * the result of rsym_pack_is_shallow(). A helper, once its earlier work is done, packs in parallel
 * with the caller; the bytes are the same, and it is idle on return. ERR_MEMORY; a failure is
 * sticky in the buffers.
 */
int rsym_pack(const struct rsym_content *c, const struct rsym_line_bases *e, bool shallow,
	      struct helper *helper, const struct rsym_pack_out *out, struct rsym_disk_shape *shape,
	      struct err *err) _must_check_;

/* Returns whether few calls are inlined: fewer than 1.5 frames per row. Such tables use larger
 * blocks and line bases of any length, because their lines are mostly streams of differences. */
bool rsym_pack_is_shallow(const struct rsym_content *c);

#endif
