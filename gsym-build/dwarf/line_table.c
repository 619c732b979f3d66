/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line tables: DWARF 5 section 6.2, and DWARF 2 to 4. libdwarf is not used because its version
 * 20210528 starts DWARF 5 programs at file 0, where the standard says 1. A path is DW_AT_comp_dir,
 * directory and name joined; an absolute part replaces the parts before it.
 */
#include "line_table.h"

#include <dwarf.h>
#include <string.h>

#include "buf.h"
#include "limits.h"

/* The content types and forms of a DWARF 5 directory or file entry. The standard has 5 content
 * types, and LLVM adds one. */
enum {
	LIMIT_ENTRY_FORMATS = 16
};

struct formats {
	uint64_t pairs[LIMIT_ENTRY_FORMATS][2];
	unsigned int count;
};

struct program {
	struct bytes in;
	unsigned int min_len, max_ops, line_range, opcode_base, address_size;
	int8_t line_base;
	uint8_t operand_counts[256]; /* by standard opcode */
};

struct registers {
	uint64_t address, op_index, file, column, discriminator;
	uint32_t line;
};

void line_table_done(struct line_table *t)
{
	free(t->dirs);
	free(t->files);
	*t = (struct line_table){0};
}

static int line_damaged(uint64_t off, const char *what, struct err *err)
{
	return err_set(err, ERR_DATA, "line table at 0x%llx: %s", (unsigned long long)off, what);
}

static uint64_t offset_of(struct bytes *in, bool is_64)
{
	return is_64 ? bytes_u64(in) : bytes_u32(in);
}

static const char *line_string_at(const uint8_t *p, size_t len, uint64_t off)
{
	struct bytes in = bytes_of(p, len);
	size_t ignored;

	bytes_skip(&in, off);
	return bytes_cstr(&in, &ignored);
}

static bool add_dir(struct line_table *t, const char *dir)
{
	if (!GROW(t->dirs, &t->dirs_cap, t->dir_count + 1, UINT32_MAX)) {
		t->no_memory = true;
		return false;
	}
	t->dirs[t->dir_count++] = dir;
	return true;
}

static bool add_line_file(struct line_table *t, const char *base, uint64_t dir)
{
	if (!GROW(t->files, &t->files_cap, t->file_count + 1, UINT32_MAX)) {
		t->no_memory = true;
		return false;
	}
	t->files[t->file_count++] = (struct line_file){.base = base, .dir = dir, .id = DEBUG_NONE};
	return true;
}

/* Reads the directory and file lists of DWARF 2 to 4, each of which ends with an empty name. */
static bool read_old_names(struct line_table *t, struct bytes *in)
{
	const char *name;
	size_t len;

	while ((name = bytes_cstr(in, &len)) && len)
		if (!add_dir(t, name))
			return false;
	while ((name = bytes_cstr(in, &len)) && len) {
		uint64_t dir = bytes_uleb(in);

		bytes_uleb(in); /* time of modification */
		bytes_uleb(in); /* length */
		if (!add_line_file(t, name, dir))
			return false;
	}
	return true;
}

static bool read_formats(struct bytes *in, struct formats *f)
{
	f->count = bytes_u8(in);
	if (f->count > LIMIT_ENTRY_FORMATS)
		return false;
	for (unsigned int i = 0; i < f->count; i++) {
		f->pairs[i][0] = bytes_uleb(in);
		f->pairs[i][1] = bytes_uleb(in);
	}
	return !in->failed;
}

/*
 * Reads one value of an entry: a string into *ret_text or a number into *ret_number. An unknown
 * form fails, because its length is unknown. Each form takes at least one byte, so the input bounds
 * the number of entries.
 */
static void read_form(const struct line_sections *s, struct bytes *in, uint64_t form, bool is_64,
		      const char **ret_text, uint64_t *ret_number)
{
	size_t ignored;

	switch (form) {
	case DW_FORM_string:
		*ret_text = bytes_cstr(in, &ignored);
		break;
	case DW_FORM_line_strp:
		*ret_text = line_string_at(s->line_str, s->line_str_len, offset_of(in, is_64));
		break;
	case DW_FORM_strp:
		*ret_text = line_string_at(s->str, s->str_len, offset_of(in, is_64));
		break;
	case DW_FORM_strp_sup:
		offset_of(in, is_64);
		break;
	case DW_FORM_udata:
		*ret_number = bytes_uleb(in);
		break;
	case DW_FORM_data1:
		*ret_number = bytes_u8(in);
		break;
	case DW_FORM_data2:
		*ret_number = bytes_u16(in);
		break;
	case DW_FORM_data4:
		*ret_number = bytes_u32(in);
		break;
	case DW_FORM_data8:
		*ret_number = bytes_u64(in);
		break;
	case DW_FORM_data16: /* MD5 */
		bytes_skip(in, 16);
		break;
	case DW_FORM_block:
		bytes_skip(in, bytes_uleb(in));
		break;
	default:
		bytes_fail(in);
		break;
	}
}

static bool read_file_entries(struct line_table *t, const struct line_sections *s, struct bytes *in,
			      bool is_64, bool files)
{
	struct formats f;
	uint64_t count;

	if (!read_formats(in, &f))
		return false;
	count = bytes_uleb(in);
	if (count && !f.count)
		return false;
	for (uint64_t i = 0; i < count && !in->failed; i++) {
		const char *name = NULL;
		uint64_t dir = 0;

		for (unsigned int j = 0; j < f.count; j++) {
			const char *text = NULL;
			uint64_t number = 0;

			read_form(s, in, f.pairs[j][1], is_64, &text, &number);
			if (f.pairs[j][0] == DW_LNCT_path)
				name = text;
			else if (f.pairs[j][0] == DW_LNCT_directory_index)
				dir = number;
		}
		if (!(files ? add_line_file(t, name, dir) : add_dir(t, name)))
			return false;
	}
	return true;
}

static int read_line_header(struct line_table *t, const struct line_sections *s, uint64_t off,
			    struct program *p, struct err *err)
{
	struct bytes in = bytes_of(s->line, s->line_len), rest;
	uint64_t len, header_len;
	bool is_64 = false, ok;

	bytes_skip(&in, off);
	len = bytes_u32(&in);
	if (len == UINT32_MAX) {
		is_64 = true;
		len = bytes_u64(&in);
	}
	in = bytes_of(in.p, in.failed || len > in.left ? 0 : len);
	t->version = bytes_u16(&in);
	if (in.failed)
		return line_damaged(off, "it leaves .debug_line", err);
	if (t->version < 2 || t->version > 5)
		return err_set(err, ERR_UNSUPPORTED, "line table at 0x%llx: version %u",
			       (unsigned long long)off, t->version);
	if (t->version >= 5) {
		p->address_size = bytes_u8(&in);
		bytes_u8(&in); /* segment selectors */
	}
	header_len = offset_of(&in, is_64);
	rest = in; /* the program starts where the header's length says */
	bytes_skip(&rest, header_len);
	p->min_len = bytes_u8(&in);
	p->max_ops = t->version >= 4 ? bytes_u8(&in) : 1;
	bytes_u8(&in); /* default_is_stmt is not used, as all rows are kept */
	p->line_base = (int8_t)bytes_u8(&in);
	p->line_range = bytes_u8(&in);
	p->opcode_base = bytes_u8(&in);
	for (unsigned int i = 1; i < p->opcode_base; i++)
		p->operand_counts[i] = bytes_u8(&in);
	if (t->version >= 5)
		ok = read_file_entries(t, s, &in, is_64, false) &&
		     read_file_entries(t, s, &in, is_64, true);
	else
		ok = read_old_names(t, &in);
	if (t->no_memory)
		return err_no_memory(err);
	if (!ok || in.failed || rest.failed || !p->line_range || !p->opcode_base)
		return line_damaged(off, "damaged header", err);
	p->in = rest;
	return 0;
}

/* Advances the address by `operations` (DWARF 5 section 6.2.5.1). On machines with several
 * operations in an instruction, op_index counts them. */
static void advance_address(const struct program *p, struct registers *r, uint64_t operations)
{
	if (p->max_ops <= 1) {
		r->address += operations * p->min_len;
		return;
	}
	operations += r->op_index;
	r->address += operations / p->max_ops * p->min_len;
	r->op_index = operations % p->max_ops;
}

static bool emit_line_row(struct line_rows *out, struct registers *r, bool end)
{
	if (!GROW(out->rows, &out->cap, out->count + 1, LIMIT_LINE_ROWS))
		return false;
	/* `file` holds the file's number, which the caller replaces by its id. */
	out->rows[out->count++] = (struct debug_row){
		.vaddr = r->address,
		.file = r->file > UINT32_MAX ? UINT32_MAX : (uint32_t)r->file,
		.line = r->line,
		.column_word = debug_column_word(r->column, r->discriminator),
		.end = end,
	};
	r->discriminator = 0;
	return true;
}

static const struct registers at_start = {.file = 1, .line = 1};

static bool extended_opcode(struct program *p, struct line_table *t, struct registers *r,
			    struct line_rows *out)
{
	uint64_t len = bytes_uleb(&p->in), dir;
	struct bytes in = bytes_of(p->in.p, len > p->in.left ? 0 : len);
	const char *name;
	size_t ignored;
	bool ok = true;

	bytes_skip(&p->in, len);
	switch (bytes_u8(&in)) {
	case DW_LNE_end_sequence:
		ok = emit_line_row(out, r, true);
		*r = at_start;
		break;
	case DW_LNE_set_address:
		r->address = in.left == 4 ? bytes_u32(&in) : bytes_u64(&in);
		r->op_index = 0;
		break;
	case DW_LNE_define_file:
		name = bytes_cstr(&in, &ignored);
		dir = bytes_uleb(&in);
		ok = !name || add_line_file(t, name, dir);
		break;
	case DW_LNE_set_discriminator:
		if (t->want_columns)
			r->discriminator = bytes_uleb(&in);
		break;
	default: /* extensions of producers */
		break;
	}
	return ok;
}

static bool standard_opcode(struct program *p, uint8_t opcode, bool want_columns,
			    struct registers *r, struct line_rows *out)
{
	switch (opcode) {
	case DW_LNS_copy:
		return emit_line_row(out, r, false);
	case DW_LNS_advance_pc:
		advance_address(p, r, bytes_uleb(&p->in));
		break;
	case DW_LNS_advance_line:
		r->line += (uint32_t)bytes_sleb(&p->in);
		break;
	case DW_LNS_set_file:
		r->file = bytes_uleb(&p->in);
		break;
	case DW_LNS_set_column:
		r->column = bytes_uleb(&p->in);
		if (!want_columns)
			r->column = 0;
		break;
	case DW_LNS_const_add_pc:
		advance_address(p, r, (255 - p->opcode_base) / p->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		r->address += bytes_u16(&p->in);
		r->op_index = 0;
		break;
	default: /* skips the operands of unused and unknown opcodes */
		for (unsigned int i = 0; i < p->operand_counts[opcode]; i++)
			bytes_uleb(&p->in);
		break;
	}
	return true;
}

static int run_line_program(struct program *p, struct line_table *t, uint64_t off,
			    struct line_rows *out, struct err *err)
{
	struct registers r = at_start;

	while (p->in.left) {
		uint8_t opcode = bytes_u8(&p->in);
		bool ok;

		if (opcode >= p->opcode_base) {
			unsigned int special = opcode - p->opcode_base;

			advance_address(p, &r, special / p->line_range);
			r.line += (uint32_t)(p->line_base + (int)(special % p->line_range));
			ok = emit_line_row(out, &r, false);
		} else {
			ok = opcode ? standard_opcode(p, opcode, t->want_columns, &r, out)
				    : extended_opcode(p, t, &r, out);
		}
		if (!ok)
			return err_full(err, out->count < LIMIT_LINE_ROWS,
					"line table at 0x%llx: more than %llu rows",
					(unsigned long long)off,
					(unsigned long long)LIMIT_LINE_ROWS);
	}
	return p->in.failed ? line_damaged(off, "its program is cut", err) : 0;
}

/* Returns the length that the table at `off` claims, at most up to the end of the section. */
static uint64_t table_len(const struct line_sections *s, uint64_t off)
{
	struct bytes in = bytes_of(s->line, s->line_len);
	uint64_t len;

	bytes_skip(&in, off);
	len = bytes_u32(&in);
	if (len == UINT32_MAX)
		len = bytes_u64(&in);
	return len < in.left ? len : in.left;
}

int line_table_read(struct line_table *t, const struct line_sections *s, uint64_t off,
		    struct line_rows *out, struct err *err)
{
	struct program p = {0};
	int rc = read_line_header(t, s, off, &p, err);

	out->count = 0;
	if (rc)
		line_table_done(t);
	else
		rc = run_line_program(&p, t, off, out, err);
	t->read_len = table_len(s, off);
	return rc;
}

/* Returns the directory with a number, or NULL. Directory 0 is the compilation directory. DWARF 5
 * has it in the table; before, it is only in DW_AT_comp_dir. */
static const char *line_directory(const struct line_table *t, uint64_t number)
{
	if (t->version < 5) {
		if (!number)
			return NULL;
		number--;
	}
	return number < t->dir_count ? t->dirs[number] : NULL;
}

static uint32_t make_file(struct line_table *t, const struct line_file *f, const char *comp_dir,
			  struct debug_text *text)
{
	_cleanup_(buf_done) struct buf path = BUF_INIT(2 * LIMIT_NAME_LEN + 1);
	const char *dir;

	if (!f->base || !*f->base)
		return DEBUG_NONE;
	if (*f->base == '/')
		return debug_file(text, "", 0, f->base, strnlen(f->base, LIMIT_NAME_LEN));
	dir = line_directory(t, f->dir);
	if ((t->version < 5 || f->dir) && (!dir || *dir != '/') && comp_dir && *comp_dir) {
		buf_append(&path, comp_dir, strnlen(comp_dir, LIMIT_NAME_LEN));
		if (dir && *dir && path.len && path.p[path.len - 1] != '/')
			buf_u8(&path, '/');
	}
	if (dir)
		buf_append(&path, dir, strnlen(dir, LIMIT_NAME_LEN));
	t->no_memory |= path.no_memory;
	return path.failed ? DEBUG_NONE
			   : debug_file(text, path.p, path.len, f->base,
					strnlen(f->base, LIMIT_NAME_LEN));
}

uint32_t line_table_file(struct line_table *t, uint64_t number, const char *comp_dir,
			 struct debug_text *text)
{
	struct line_file *f;

	/* File numbers begin at 0 in DWARF 5 and at 1 before. */
	if (t->version < 5) {
		if (!number)
			return DEBUG_NONE;
		number--;
	}
	if (number >= t->file_count)
		return DEBUG_NONE;
	f = &t->files[number];
	if (f->id == DEBUG_NONE)
		f->id = make_file(t, f, comp_dir, text);
	return f->id;
}
