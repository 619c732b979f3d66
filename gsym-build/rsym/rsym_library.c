/* SPDX-License-Identifier: Apache-2.0 */
/* The library librsym: handles over the reader of tables. */
#include "librsym.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "rsym.h"

/* One text that is made for a caller; names are at most LIMIT_NAME_LEN and readable ones shorter.
 */
#define LIMIT_TEXT_MADE (MIB)

struct rsym_table {
	struct rsym table;
	void *map; /* NULL: the bytes are the caller's */
	size_t map_len;
};

struct rsym_names {
	const struct rsym *table;
	struct rsym_reader *reader;
	struct buf made; /* a text that the reader does not keep */
};

_Static_assert(RSYM_FRAMES_MAX == RSYM_TABLE_FRAMES_MAX, "the library promises this depth");
_Static_assert((int)RSYM_ERROR_USAGE == (int)ERR_USAGE && (int)RSYM_ERROR_DATA == (int)ERR_DATA &&
		       (int)RSYM_ERROR_UNSUPPORTED == (int)ERR_UNSUPPORTED &&
		       (int)RSYM_ERROR_LIMIT == (int)ERR_LIMIT &&
		       (int)RSYM_ERROR_NOT_FOUND == (int)ERR_NOT_FOUND &&
		       (int)RSYM_ERROR_IO == (int)ERR_IO &&
		       (int)RSYM_ERROR_MEMORY == (int)ERR_MEMORY &&
		       (int)RSYM_ERROR_DENIED == (int)ERR_DENIED,
	       "the codes of the library are those of err.h");
_Static_assert((int)RSYM_TABLE_HAS_DWARF == (int)RSYM_HAS_DWARF &&
		       (int)RSYM_TABLE_HAS_SYMBOLS == (int)RSYM_HAS_SYMBOLS &&
		       (int)RSYM_TABLE_IS_KERNEL == (int)RSYM_IS_KERNEL &&
		       (int)RSYM_TABLE_HAS_SEGMENTS == (int)RSYM_HAS_SEGMENTS,
	       "these flags are those of tables");

/* Hands an error out, and returns its code. */
static int give_error(struct rsym_error *error, const struct err *err)
{
	_Static_assert(sizeof(error->message) == sizeof(err->message), "no message is cut");

	if (error) {
		error->code = err->code;
		memcpy(error->message, err->message, sizeof(error->message));
	}
	return err->code;
}

/* --- tables ---------------------------------------------------------------------------------- */

static int map_library_table(struct rsym_table *t, const char *path, struct err *err)
{
	/* A FIFO would otherwise make open() wait. */
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *map;

	if (fd < 0 || fstat(fd, &st))
		return err_sys(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return err_set(err, ERR_DATA, "%s: not a Rawstack table", path);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return err_sys(err, errno, "%s", path);
	t->map = map;
	t->map_len = (size_t)st.st_size;
	if (rsym_open(&t->table, t->map, t->map_len, err))
		return err_prefix(err, "%s", path);
	return 0;
}

DEFINE_FREEP(struct rsym_table, rsym_table_close);

int rsym_table_open_file(struct rsym_table **ret, const char *path, struct rsym_error *error)
{
	_cleanup_(rsym_table_closep) struct rsym_table *t = calloc(1, sizeof(*t));
	struct err err;
	int rc = t ? map_library_table(t, path, &err) : err_no_memory(&err);

	if (rc)
		return give_error(error, &err);
	*ret = TAKE_PTR(t);
	return 0;
}

int rsym_table_open_bytes(struct rsym_table **ret, const void *bytes, size_t len,
			  struct rsym_error *error)
{
	_cleanup_(rsym_table_closep) struct rsym_table *t = calloc(1, sizeof(*t));
	struct err err;
	int rc = t ? rsym_open(&t->table, bytes, len, &err) : err_no_memory(&err);

	if (rc)
		return give_error(error, &err);
	*ret = TAKE_PTR(t);
	return 0;
}

void rsym_table_close(struct rsym_table *table)
{
	if (table && table->map)
		munmap(table->map, table->map_len);
	free(table);
}

/* Copies a structure to a caller that was compiled with another length of it. */
static void give_members(void *ret, size_t ret_len, const void *from, size_t len)
{
	memset(ret, 0, ret_len);
	memcpy(ret, from, ret_len < len ? ret_len : len);
}

void rsym_table_info(const struct rsym_table *table, struct rsym_table_info *ret, size_t ret_len)
{
	const struct rsym *t = &table->table;
	const uint32_t known = RSYM_TABLE_HAS_DWARF | RSYM_TABLE_HAS_SYMBOLS |
			       RSYM_TABLE_IS_KERNEL | RSYM_TABLE_HAS_SEGMENTS;
	struct rsym_table_info info = {
		.build_id_len = t->id.len,
		.is_file_hash = t->id.kind == BUILD_ID_HTLHASH,
		.generation = t->generation,
		.text_vaddr = t->text_base,
		.range_count = t->range_count,
		.flags = (t->flags & known) | (t->columns.p ? RSYM_TABLE_HAS_COLUMNS : 0) |
			 (t->types.p ? RSYM_TABLE_HAS_TYPES : 0) |
			 (rsym_has_shown(t) ? RSYM_TABLE_HAS_READABLE : 0),
		.function_count = t->function_count,
		.file_count = t->file_count,
	};

	_Static_assert(sizeof(info.build_id) == sizeof(t->id.bytes), "every build id fits");
	memcpy(info.build_id, t->id.bytes, sizeof(info.build_id));
	give_members(ret, ret_len, &info, sizeof(info));
}

/* --- lookups --------------------------------------------------------------------------------- */

int rsym_table_lookup(const struct rsym_table *table, uint64_t vaddr, struct rsym_frame *frames,
		      size_t cap)
{
	return cap ? rsym_lookup(&table->table, vaddr, frames, cap) : 0;
}

size_t rsym_table_lookup_many(const struct rsym_table *table, const uint64_t *vaddrs, size_t count,
			      struct rsym_frame *frames, size_t cap, uint32_t *ends)
{
	return rsym_lookup_batch(&table->table, vaddrs, count, frames, cap, ends);
}

uint64_t rsym_table_call_vaddr(const struct rsym_table *table, uint64_t return_vaddr)
{
	return rsym_call_vaddr(&table->table, return_vaddr);
}

int rsym_table_range(const struct rsym_table *table, uint64_t vaddr, uint64_t *ret_start,
		     uint64_t *ret_end)
{
	return rsym_range(&table->table, vaddr, ret_start, ret_end);
}

int rsym_table_vaddr_of_file_offset(const struct rsym_table *table, uint64_t file_offset,
				    uint64_t *ret_vaddr)
{
	return rsym_vaddr_of_file_off(&table->table, file_offset, ret_vaddr);
}

int rsym_table_vaddr_of_section(const struct rsym_table *table, const char *section,
				uint64_t offset, uint64_t *ret_vaddr)
{
	return rsym_vaddr_of_section(&table->table, section, strlen(section), offset, ret_vaddr);
}

int rsym_table_columns(const struct rsym_table *table, uint64_t vaddr, struct rsym_column *columns,
		       size_t count)
{
	return rsym_columns_at(&table->table, vaddr, columns, count);
}

int rsym_table_function(const struct rsym_table *table, uint32_t function,
			struct rsym_table_function *ret, size_t ret_len, struct rsym_error *error)
{
	struct rsym_table_function given;
	struct rsym_function f;
	struct err err;

	if (rsym_function(&table->table, function, &f, &err))
		return give_error(error, &err);
	given = (struct rsym_table_function){
		.vaddr = f.vaddr,
		.start_line = f.start_line,
		.file = f.file,
		.has_entry = f.has_entry,
		.is_symbol = f.from_symbol,
	};
	give_members(ret, ret_len, &given, sizeof(given));
	return 0;
}

uint32_t rsym_table_aliases(const struct rsym_table *table, uint64_t entry_vaddr,
			    uint32_t *functions, uint32_t cap)
{
	return rsym_function_aliases(&table->table, entry_vaddr, functions, cap);
}

/* --- names ----------------------------------------------------------------------------------- */

DEFINE_FREEP(struct rsym_names, rsym_names_free);

int rsym_names_new(struct rsym_names **ret, const struct rsym_table *table, size_t cache_max,
		   struct rsym_error *error)
{
	_cleanup_(rsym_names_freep) struct rsym_names *names = calloc(1, sizeof(*names));
	struct err err;

	if (!names) {
		err_no_memory(&err);
		return give_error(error, &err);
	}
	buf_init(&names->made, LIMIT_TEXT_MADE);
	names->table = &table->table;
	names->reader = rsym_reader_new(&table->table, cache_max, &err);
	if (!names->reader)
		return give_error(error, &err);
	*ret = TAKE_PTR(names);
	return 0;
}

void rsym_names_free(struct rsym_names *names)
{
	if (!names)
		return;
	rsym_reader_free(names->reader);
	buf_done(&names->made);
	free(names);
}

/* Hands out a text of the reader, or its error; returns rc. */
static int give_text(int rc, const uint8_t *text, size_t len, const struct err *err,
		     const char **ret, size_t *ret_len, struct rsym_error *error)
{
	if (rc < 0)
		return give_error(error, err);
	*ret = text ? (const char *)text : "";
	*ret_len = len;
	return rc;
}

int rsym_names_function(struct rsym_names *names, uint32_t function, const char **ret,
			size_t *ret_len, struct rsym_error *error)
{
	const uint8_t *text = NULL;
	struct err err = {0};
	size_t len = 0;
	int rc = rsym_reader_name(names->reader, function, &text, &len, &err);

	return give_text(rc, text, len, &err, ret, ret_len, error);
}

int rsym_names_file(struct rsym_names *names, uint32_t file, const char **ret, size_t *ret_len,
		    struct rsym_error *error)
{
	const uint8_t *text = NULL;
	struct err err = {0};
	size_t len = 0;
	int rc = 0;

	if (file != RSYM_NONE)
		rc = rsym_reader_file(names->reader, file, &text, &len, &err);
	return give_text(rc, text, len, &err, ret, ret_len, error);
}

int rsym_names_readable(struct rsym_names *names, uint32_t function, enum rsym_names_style style,
			const char **ret, size_t *ret_len, struct rsym_error *error)
{
	const enum rsym_shown_style shown =
		style == RSYM_NAMES_FULL ? RSYM_SHOWN_FULL : RSYM_SHOWN_SHORT;
	uint32_t name = rsym_name_id(names->table, function);
	struct buf *made = &names->made;
	struct err err = {0};
	int rc = 0;

	buf_reset(made);
	if (name != RSYM_NONE)
		rc = rsym_shown(names->table, name, shown, made);
	if (rc == 0)
		return rsym_names_function(names, function, ret, ret_len, error);
	if (made->no_memory)
		rc = err_no_memory(&err);
	else if (rc < 0)
		err_set(&err, rc, "the readable name of function %u cannot be unpacked", function);
	return give_text(rc, made->p, made->len, &err, ret, ret_len, error);
}

int rsym_names_type(struct rsym_names *names, uint32_t function, const char **ret, size_t *ret_len,
		    struct rsym_error *error)
{
	const uint8_t *text = NULL;
	struct err err = {0};
	size_t len = 0;
	int rc = rsym_reader_type(names->reader, function, &text, &len, &err);

	return give_text(rc, text, len, &err, ret, ret_len, error);
}
