/* SPDX-License-Identifier: Apache-2.0 */
#include "plain_rows.h"

#include <dwarf.h>

#include "buf.h"
#include "limits.h"

void plain_rows_done(struct plain_rows *t)
{
	if (t->context)
		dwarf_srclines_dealloc_b(t->context);
	free(t->ids);
	line_table_done(&t->refused);
	*t = (struct plain_rows){0};
}

/* The line program of a table, and the operand counts of its opcodes. */
struct opcodes {
	const uint8_t *p, *end;
	uint8_t base;
	const uint8_t *operands; /* the count of opcode i is at i - 1 */
};

/* Reads the header as far as needed (DWARF 5 section 6.2.4). Returns false if it is damaged or
 * libdwarf does not support it. */
static bool find_line_program(struct opcodes *o, const struct line_sections *s, uint64_t off)
{
	struct bytes in = bytes_of(s->line, s->line_len);
	uint64_t len, header_len;
	unsigned int version;
	bool wide;

	bytes_skip(&in, off);
	len = bytes_u32(&in);
	wide = len == 0xffffffff;
	if (wide)
		len = bytes_u64(&in);
	if (in.failed || len > in.left)
		return false;
	in.left = len;
	version = bytes_u16(&in);
	if (version >= 5)
		bytes_skip(&in, 2); /* address size, segment selector size */
	header_len = wide ? bytes_u64(&in) : bytes_u32(&in);
	if (in.failed || header_len > in.left)
		return false;
	o->p = in.p + header_len;
	o->end = in.p + in.left;
	in.left = header_len;
	bytes_skip(&in, 1); /* shortest instruction */
	if (version >= 4 && bytes_u8(&in) > 1)
		return false; /* libdwarf does not support op_index */
	bytes_skip(&in, 3);   /* first statement, line base and range */
	o->base = bytes_u8(&in);
	o->operands = bytes_take(&in, o->base ? o->base - 1u : 0);
	return o->base >= 10 && o->operands;
}

static uint64_t read_leb(struct opcodes *o)
{
	struct bytes in = bytes_of(o->p, (size_t)(o->end - o->p));
	uint64_t v = bytes_uleb(&in);

	o->p = in.failed ? o->end : in.p;
	return v;
}

enum mark {
	SETS_FILE = 1,
	IS_END = 2
};

/* Appends one byte of enum mark for each row. Returns false if the program is damaged. */
static bool mark_rows(const struct line_sections *s, uint64_t off, struct buf *marks)
{
	struct opcodes o;
	uint8_t file = 0;

	if (!find_line_program(&o, s, off))
		return false;
	while (o.p < o.end) {
		uint8_t opcode = *o.p++;

		if (opcode >= o.base || opcode == DW_LNS_copy) {
			buf_u8(marks, file);
		} else if (opcode == DW_LNS_set_file) {
			read_leb(&o);
			file = SETS_FILE;
		} else if (opcode == DW_LNS_fixed_advance_pc) {
			if (o.end - o.p < 2)
				return false;
			o.p += 2;
		} else if (opcode) {
			for (int i = 0; i < o.operands[opcode - 1]; i++)
				read_leb(&o);
		} else {
			uint64_t len = read_leb(&o);

			if (!len || len > (uint64_t)(o.end - o.p))
				return false;
			if (*o.p == DW_LNE_end_sequence) {
				buf_u8(marks, file | IS_END);
				file = 0;
			}
			o.p += len;
		}
	}
	return !marks->failed;
}

/* Makes the column word of a row. */
static bool column_word_of(Dwarf_Line line, uint32_t *ret, Dwarf_Error *e)
{
	Dwarf_Unsigned column = 0, isa, discriminator = 0;
	Dwarf_Bool ignored;

	if (dwarf_lineoff_b(line, &column, e) != DW_DLV_OK ||
	    dwarf_prologue_end_etc(line, &ignored, &ignored, &isa, &discriminator, e) != DW_DLV_OK)
		return false;
	*ret = (column > UINT16_MAX ? 0 : (uint32_t)column) +
	       ((discriminator > UINT16_MAX ? 0 : (uint32_t)discriminator) << 16);
	return true;
}

static bool one_row(Dwarf_Line line, uint8_t mark, struct debug_row *ret, Dwarf_Error *e)
{
	Dwarf_Unsigned number = 0, file = 0;
	Dwarf_Addr address = 0;

	if (dwarf_lineaddr(line, &address, e) != DW_DLV_OK ||
	    dwarf_lineno(line, &number, e) != DW_DLV_OK ||
	    dwarf_line_srcfileno(line, &file, e) != DW_DLV_OK)
		return false;
	*ret = (struct debug_row){
		.vaddr = address,
		.file = file > UINT32_MAX ? UINT32_MAX : (uint32_t)file,
		.line = (uint32_t)number,
		.end = mark & IS_END,
	};
	return true;
}

/* Takes the rows and the file numbers from libdwarf. Returns 1, 0 if libdwarf fails or does not
 * agree with mark_rows(), or ERR_MEMORY. */
static int take_rows(struct plain_rows *t, const struct plain_rows_place *place, bool columns,
		     struct line_rows *out, Dwarf_Error *e, struct err *err)
{
	_cleanup_(buf_done) struct buf marks = BUF_INIT(LIMIT_LINE_ROWS);
	Dwarf_Line *lines = NULL;
	Dwarf_Signed count = 0, file_count;

	if (dwarf_srclines_from_linecontext(t->context, &lines, &count, e) != DW_DLV_OK ||
	    dwarf_srclines_files_indexes(t->context, &t->first, &file_count, &t->end, e) !=
		    DW_DLV_OK ||
	    count < 0 || (uint64_t)count > LIMIT_LINE_ROWS || t->end < t->first)
		return 0;
	if (!mark_rows(place->sections, place->off, &marks) || marks.len != (size_t)count)
		return 0;
	t->ids = malloc(((size_t)(t->end - t->first) + 1) * sizeof(*t->ids));
	if (!t->ids || !GROW(out->rows, &out->cap, (size_t)count + 1, SIZE_MAX))
		return err_no_memory(err);
	for (Dwarf_Signed i = 0; i < t->end - t->first; i++)
		t->ids[i] = DEBUG_NONE;
	for (Dwarf_Signed i = 0; i < count; i++) {
		struct debug_row *row = &out->rows[i];

		if (!one_row(lines[i], marks.p[i], row, e) ||
		    (columns && !column_word_of(lines[i], &row->column_word, e)))
			return 0;
		if (t->version == 5 && !(marks.p[i] & SETS_FILE) && row->file == 0)
			row->file = 1;
	}
	out->count = (size_t)count;
	return 1;
}

int plain_rows_read(struct plain_rows *t, const struct plain_rows_place *place, bool columns,
		    struct line_rows *out, struct err *err)
{
	Dwarf_Small table_count = 0;
	Dwarf_Error e = NULL;
	int rc = 0;

	*t = (struct plain_rows){0};
	*err = (struct err){0};
	out->count = 0;
	if (dwarf_srclines_b(place->unit, &t->version, &table_count, &t->context, &e) == DW_DLV_OK)
		rc = take_rows(t, place, columns, out, &e, err);
	else
		t->context = NULL;
	if (e)
		dwarf_dealloc(place->dbg, e, DW_DLA_ERROR);
	if (rc)
		return rc;
	plain_rows_done(t);
	/* libdwarf also refuses tables that other readers accept: unknown content types, or a line
	 * below 0. */
	t->refused.want_columns = columns;
	if (line_table_read(&t->refused, place->sections, place->off, out, err) == 0)
		err->code = 0;
	return 0;
}

/* Joins a path as section 6.2.4 of DWARF 4 and DWARF 5 describe, and returns its file. */
static uint32_t plain_path_of(const struct plain_rows *t, const char *base, uint64_t number,
			      const char *comp_dir, struct debug_text *text)
{
	_cleanup_(buf_done) struct buf dir = BUF_INIT(2 * LIMIT_NAME_LEN + 1);
	const char *listed = NULL;
	Dwarf_Error e = NULL;
	size_t base_len = strnlen(base, LIMIT_NAME_LEN);
	bool in_comp_dir;

	if (base[0] == '/')
		return debug_file(text, "", 0, base, base_len);
	if ((number || t->version == 5) && number <= INT64_MAX &&
	    dwarf_srclines_include_dir_data(t->context, (Dwarf_Signed)number, &listed, &e) !=
		    DW_DLV_OK)
		listed = NULL;
	in_comp_dir = comp_dir && comp_dir[0] && (number || t->version < 5) &&
		      !(listed && listed[0] == '/');
	if (in_comp_dir)
		buf_append(&dir, comp_dir, strnlen(comp_dir, LIMIT_NAME_LEN));
	if (in_comp_dir && listed && listed[0] && dir.len && dir.p[dir.len - 1] != '/')
		buf_u8(&dir, '/');
	if (listed)
		buf_append(&dir, listed, strnlen(listed, LIMIT_NAME_LEN));
	return dir.failed ? DEBUG_NONE : debug_file(text, dir.p, dir.len, base, base_len);
}

uint32_t plain_rows_file(struct plain_rows *t, uint64_t number, const char *comp_dir,
			 struct debug_text *text)
{
	const char *base = NULL;
	Dwarf_Unsigned dir = 0, ignored;
	Dwarf_Error e = NULL;
	uint32_t *id;

	if (!t->context)
		return line_table_file(&t->refused, number, comp_dir, text);
	if (number > INT64_MAX || (Dwarf_Signed)number < t->first || (Dwarf_Signed)number >= t->end)
		return DEBUG_NONE;
	id = &t->ids[(Dwarf_Signed)number - t->first];
	if (*id == DEBUG_NONE &&
	    dwarf_srclines_files_data_b(t->context, (Dwarf_Signed)number, &base, &dir, &ignored,
					&ignored, NULL, &e) == DW_DLV_OK &&
	    base && *base)
		*id = plain_path_of(t, base, dir, comp_dir, text);
	return *id;
}
