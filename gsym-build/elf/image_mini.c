/* SPDX-License-Identifier: Apache-2.0 */
/* MiniDebugInfo (GDB manual): distributions strip .symtab. A table with the functions that .dynsym
 * lacks goes into the section .gnu_debugdata, as a whole ELF file compressed with xz. */
#include "image_priv.h"

#include "buf.h"
#include "inflate_xz.h"
#include "limits.h"

/* Symbols take about 1 % of a file, and .gnu_debugdata holds nothing else. */
#define LIMIT_MINI_DEBUG_LEN (256 * MIB)

static bool has_symtab(const struct image *im)
{
	for (size_t i = 1; i < im->part_count; i++)
		if (im->parts[i].shdr.sh_type == SHT_SYMTAB && image_data(im, i))
			return true;
	return false;
}

/* Adds the symbols of the compressed file, the bytes [p, p + len). */
static int add_packed_symbols(const struct image *im, const uint8_t *p, size_t len,
			      struct debug_text *text, struct symbols *symbols, uint64_t *ret_count,
			      struct err *err)
{
	_cleanup_(buf_done) struct buf elf = BUF_INIT(LIMIT_MINI_DEBUG_LEN);
	_cleanup_(image_freep) struct image *mini = NULL;

	TRY(inflate_xz(p, len, &elf, err));
	TRY(image_open(&mini, elf.p, elf.len, err));
	if (image_bias(mini) != image_bias(im))
		return err_set(err, ERR_DATA, "a relocatable file inside a linked one");
	return image_add_symbols(mini, text, symbols, ret_count, err);
}

int image_add_mini_symbols(struct image *im, struct debug_text *text, struct symbols *symbols,
			   uint64_t *ret_count, struct err *err)
{
	const uint8_t *p;
	size_t len;
	int rc;

	*ret_count = 0;
	if (has_symtab(im))
		return 0;
	rc = image_section(im, ".gnu_debugdata", &p, &len, err);
	if (rc <= 0)
		return rc;
	rc = add_packed_symbols(im, p, len, text, symbols, ret_count, err);
	return rc ? err_prefix(err, "section .gnu_debugdata") : 0;
}
