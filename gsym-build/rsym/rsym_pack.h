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

/* The shape must be filled by rsym_line_bases_pack() already; what concerns rows is added.
 * `shallow` is what rsym_pack_is_shallow() says. A helper packs with the caller, when it is through
 * with what it was given before, and to the same bytes; it is waited for. ERR_MEMORY; failure
 * sticks in the buffers. */
int rsym_pack(const struct rsym_content *c, const struct rsym_line_bases *e, bool shallow,
	      struct helper *helper, const struct rsym_pack_out *out, struct rsym_disk_shape *shape,
	      struct err *err) _must_check_;

/* Whether few calls are inlined: frames per row below 1.5. Such tables take larger blocks and
 * line bases of any length, for their lines are mostly streams of differences. */
bool rsym_pack_is_shallow(const struct rsym_content *c);

#endif
