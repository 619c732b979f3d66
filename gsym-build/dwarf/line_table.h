/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LINE_TABLE_H
#define RAWSTACK_LINE_TABLE_H
/* Reads the line table of one unit from raw sections. It uses memory in proportion to the length of
 * its input. */
#include "bytes.h"
#include "debug_info.h"

struct line_sections {
	const uint8_t *line, *line_str, *str; /* NULL if there is no such section */
	size_t line_len, line_str_len, str_len;
};

struct line_file {
	const char *base; /* name inside a section, or NULL */
	uint64_t dir;
	uint32_t id; /* id in debug_text, DEBUG_NONE until it is requested */
};

/* A zeroed struct is an empty table. */
struct line_table {
	const char **dirs;
	struct line_file *files;
	size_t dir_count, dirs_cap, file_count, files_cap;
	unsigned int version;
	bool want_columns; /* whether columns and discriminators are read; the caller sets it */
	bool no_memory;    /* memory was out for a file, which is then missing */
	uint64_t read_len; /* length of the table that was read last, valid or not */
};

/* Reused from unit to unit. */
struct line_rows {
	struct debug_row *rows;
	size_t count, cap;
};

/*
 * Reads the table at section offset `off`. Rows hold file *numbers*, for line_table_file(). Returns
 * ERR_DATA, ERR_LIMIT, ERR_UNSUPPORTED or ERR_MEMORY; the rows up to the damage are then there, and
 * the files if the header was valid.
 */
int line_table_read(struct line_table *t, const struct line_sections *s, uint64_t off,
		    struct line_rows *out, struct err *err) _must_check_;
void line_table_done(struct line_table *t);

/* Returns the file with this number in the unit's rows and DIEs, or DEBUG_NONE if there is none or,
 * with t->no_memory or that of the text set, if memory was out. */
uint32_t line_table_file(struct line_table *t, uint64_t number, const char *comp_dir,
			 struct debug_text *text);

#endif
