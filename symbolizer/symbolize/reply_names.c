/* SPDX-License-Identifier: Apache-2.0 */
#include "reply_names.h"

#include "limits.h"

/* Names and paths in one reply, or in all replies of one stream. */
#define LIMIT_REPLY_NAMES_LEN  (16 * MIB)
/* Bytes of a table's texts that one reply unpacks for the locations that are answered one by one,
 * because LIMIT_REPLY_UNPACKED left no room to unpack them in advance. */
#define LIMIT_REPLY_UNPACKED_1 (64 * MIB)

enum {
	STRING_COST = 6,    /* tag and length of a string */
	FUNCTION_COST = 10, /* two columns of up to 5 bytes */
	DETAIL_COST = 10,   /* likewise */
	START_COST = 13,    /* a column of up to 5 bytes, and an address */
	AHEAD = 16,         /* keys whose memory is fetched ahead */
};

/* Rows of each table that serves all replies of a stream: a client may ask without end. */
#define LIMIT_STREAM_ROWS  (UINT64_C(1) << 20)
/* Bytes of prepared texts. A reply holds fewer, but which ones is not known in advance. */
#define LIMIT_PREPARED_LEN (8 * MIB)

/* A function in a file. Offsets are into texts.bytes. */
struct reply_place {
	uint32_t function, file, start_file; /* ids in its table */
	uint32_t name, name_len;
	uint32_t linkage, linkage_len;
	uint32_t path, start_path; /* indexes of files, or RSYM_NONE */
	uint32_t start_line;
	uint64_t start_address;
};

struct reply_file {
	uint32_t file; /* id in its table */
	uint32_t off, len;
	uint32_t string; /* RSYM_NONE until it is in a reply */
};

void reply_names_init(struct reply_names *n)
{
	*n = (struct reply_names){
		.strings = INTERN_INIT(LIMIT_STREAM_ROWS, LIMIT_REPLY_NAMES_LEN),
		.plain_ids = ID_MAP_INIT(LIMIT_STREAM_ROWS),
		.numbers = INTERN_INIT(LIMIT_STREAM_ROWS, LIMIT_STREAM_ROWS * sizeof(uint64_t)),
		.place_ids = ID_MAP_INIT(LIMIT_STREAM_ROWS),
		.file_ids = ID_MAP_INIT(LIMIT_STREAM_ROWS),
	};
	reply_texts_init(&n->texts);
}

void reply_names_leave_table(struct reply_names *n)
{
	reply_texts_leave_table(&n->texts);
}

void reply_names_done(struct reply_names *n)
{
	reply_names_leave_table(n);
	intern_done(&n->strings);
	free(n->functions);
	id_map_done(&n->plain_ids);
	intern_done(&n->numbers);
	id_map_done(&n->place_ids);
	free(n->places);
	free(n->rows);
	id_map_done(&n->file_ids);
	free(n->files);
	reply_texts_done(&n->texts);
}

static void forget_prepared(struct reply_names *n)
{
	intern_reset(&n->numbers);
	id_map_reset(&n->place_ids);
	id_map_reset(&n->file_ids);
	n->place_count = n->file_count = 0;
	n->first_place = n->first_file = n->batch_place = n->batch_file = 0;
	buf_reset(&n->texts.bytes);
}

void reply_names_reset(struct reply_names *n)
{
	reply_names_leave_table(n);
	forget_prepared(n);
	intern_reset(&n->strings);
	id_map_reset(&n->plain_ids);
	n->function_count = n->first_string = n->first_function = 0;
}

size_t reply_names_memory(const struct reply_names *n)
{
	return n->strings.data_cap + n->strings.slot_count * sizeof(uint32_t) +
	       n->strings.entries_cap * 16 + n->functions_cap * sizeof(n->functions[0]) +
	       (n->plain_ids.slot_count + n->place_ids.slot_count + n->file_ids.slot_count) *
		       sizeof(struct id_map_slot) +
	       n->places_cap * sizeof(n->places[0]) + n->rows_cap * sizeof(n->rows[0]) +
	       n->files_cap * sizeof(n->files[0]) + reply_texts_memory(&n->texts);
}

int reply_names_begin(struct reply_names *n, enum demangle_style style, uint32_t columns,
		      size_t base, struct err *err)
{
	bool is_first;

	/* A prepared place holds its name in one style. A stream need not keep places for ever. */
	if (n->style != style || n->columns != columns ||
	    n->texts.bytes.len > LIMIT_PREPARED_LEN / 2 || n->place_count > LIMIT_STREAM_ROWS / 4)
		forget_prepared(n);
	n->style = style;
	n->columns = columns;
	n->texts.bytes.max = LIMIT_PREPARED_LEN;
	n->texts.bytes.failed = n->is_full = n->texts.is_spent = false;
	n->texts.unpack_left = LIMIT_REPLY_UNPACKED;
	n->texts.time_left_ns = REPLY_TEXTS_NS;
	n->size = base;
	if (intern_add(&n->strings, "", 0, &is_first) != 0)
		return err_no_memory(err);
	if (n->strings.data_len > LIMIT_REPLY_NAMES_LEN - LIMIT_REPLY_LEN ||
	    n->strings.count > LIMIT_STREAM_ROWS / 2 || n->function_count > LIMIT_STREAM_ROWS / 2)
		return err_set(err, ERR_LIMIT, "the tables of this stream are full: open another");
	n->batch_place = n->place_count;
	n->batch_file = n->file_count;
	n->batch_bytes = n->texts.bytes.len;
	n->first_string = is_first ? 0 : (uint32_t)n->strings.count;
	n->first_function = (uint32_t)n->function_count;
	return 0;
}

int reply_names_table(struct reply_names *n, uint64_t number, const struct rsym *t, struct err *err)
{
	bool is_same = n->texts.t && n->texts.number == number;

	reply_texts_table(&n->texts, number, t);
	if (is_same)
		return 0;
	n->table = intern_add(&n->numbers, &number, sizeof(number), NULL);
	return n->table == INTERN_FULL ? err_no_memory(err) : 0;
}

/* --- texts ----------------------------------------------------------------------------------- */

/* Fetches the names of the places from first_place on into the asks. */
static bool fetch_names(struct reply_names *n, enum name_kind kind)
{
	size_t count = n->place_count - n->first_place;
	struct name_ask *asks = reply_texts_asks(&n->texts, count);

	for (size_t i = 0; asks && i < count; i++)
		asks[i].id = n->places[n->first_place + i].function;
	return asks && reply_texts_fetch(&n->texts, kind, count);
}

static bool fetch_files(struct reply_names *n)
{
	size_t count = n->file_count - n->first_file;
	struct reply_file *files = n->files + n->first_file;
	struct name_ask *asks;

	if (!count)
		return true;
	asks = reply_texts_asks(&n->texts, count);
	for (size_t i = 0; asks && i < count; i++)
		asks[i].id = files[i].file;
	if (!asks || !reply_texts_fetch(&n->texts, NAME_FILE, count))
		return false;
	for (size_t i = 0; i < count; i++) {
		files[i].off = asks[i].off;
		files[i].len = asks[i].len;
	}
	return true;
}

/* --- places ---------------------------------------------------------------------------------- */

static uint64_t in_table(const struct reply_names *n, uint32_t id)
{
	return (uint64_t)n->table << 32 | id;
}

static bool add_reply_place(struct reply_names *n, uint32_t function, uint32_t file, uint32_t *ret)
{
	if (!GROW(n->places, &n->places_cap, n->place_count + 1, LIMIT_STREAM_ROWS) ||
	    !GROW(n->rows, &n->rows_cap, n->place_count + 1, LIMIT_STREAM_ROWS))
		return false;
	*ret = (uint32_t)n->place_count++;
	n->places[*ret] =
		(struct reply_place){.function = function, .file = file, .start_file = RSYM_NONE};
	n->rows[*ret] = RSYM_NONE;
	return true;
}

static size_t fetch_place(const struct reply_names *n, const struct rsym_frame *f)
{
	size_t hash = id_map_hash(in_table(n, f->function), f->file);

	id_map_fetch(&n->place_ids, hash);
	return hash;
}

/* Replaces the function of each frame by its place, or by RSYM_NONE. New places begin at
 * first_place. Returns false if some frames got no place. */
static bool find_places(struct reply_names *n, struct rsym_frame *frames, size_t count)
{
	size_t hashes[AHEAD];
	bool all = true;

	for (size_t i = 0; i < count && i < AHEAD; i++)
		hashes[i] = fetch_place(n, &frames[i]);
	for (size_t i = 0; i < count; i++) {
		struct rsym_frame *f = &frames[i];
		size_t hash = hashes[i % AHEAD];
		uint32_t *place;
		bool is_new;

		if (i + AHEAD < count)
			hashes[i % AHEAD] = fetch_place(n, f + AHEAD);
		place = id_map_add(&n->place_ids, hash, in_table(n, f->function), f->file, &is_new);
		if (place && is_new && !add_reply_place(n, f->function, f->file, place))
			*place = RSYM_NONE;
		f->function = place ? *place : RSYM_NONE;
		all = all && f->function != RSYM_NONE;
	}
	return all;
}

/* Adds a file of the present table to files; new ones begin at first_file. */
static bool find_reply_file(struct reply_names *n, uint32_t id, uint32_t *ret)
{
	uint64_t key;
	uint32_t *file;
	bool is_new;

	*ret = RSYM_NONE;
	if (id == RSYM_NONE)
		return true;
	key = in_table(n, id);
	file = id_map_add(&n->file_ids, id_map_hash(key, 0), key, 0, &is_new);
	if (!file ||
	    (is_new && !GROW(n->files, &n->files_cap, n->file_count + 1, LIMIT_STREAM_ROWS)))
		return false;
	if (is_new) {
		*file = (uint32_t)n->file_count++;
		n->files[*file] = (struct reply_file){.file = id, .string = RSYM_NONE};
	}
	*ret = *file;
	return true;
}

/* Finds the files of each new place. */
static bool find_files(struct reply_names *n)
{
	for (size_t i = n->first_place; i < n->place_count; i++) {
		struct reply_place *p = &n->places[i];

		if (!find_reply_file(n, p->file, &p->path) ||
		    !find_reply_file(n, p->start_file, &p->start_path))
			return false;
	}
	return true;
}

/* Finds where the function of each new place begins, by its table. */
static void find_starts(struct reply_names *n)
{
	struct rsym_function info;

	for (size_t i = n->first_place; n->columns && i < n->place_count; i++) {
		struct reply_place *p = &n->places[i];

		if (rsym_function(n->texts.t, p->function, &info, NULL))
			continue;
		p->start_line = info.start_line;
		p->start_address = info.has_entry ? info.vaddr : 0;
		if (n->columns & REPLY_STARTS)
			p->start_file = info.file;
	}
}

static bool fill_places(struct reply_names *n)
{
	size_t count = n->place_count - n->first_place;
	struct reply_place *places = n->places + n->first_place;

	find_starts(n);
	if (!find_files(n) || !fetch_files(n))
		return false;
	if (!fetch_names(n, (enum name_kind)n->style))
		return false;
	for (size_t i = 0; i < count; i++) {
		places[i].name = n->texts.asks[i].off;
		places[i].name_len = n->texts.asks[i].len;
	}
	if (!(n->columns & REPLY_DETAILS))
		return true;
	if (!fetch_names(n, NAME_LINKAGE))
		return false;
	for (size_t i = 0; i < count; i++) {
		places[i].linkage = n->texts.asks[i].off;
		places[i].linkage_len = n->texts.asks[i].len;
	}
	return true;
}

static bool clear_functions(struct rsym_frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++)
		frames[i].function = RSYM_NONE;
	return !count;
}

bool reply_names_prepare(struct reply_names *n, struct rsym_frame *frames, size_t count)
{
	size_t len = n->texts.bytes.len;
	bool all;

	if (n->is_full)
		return clear_functions(frames, count);
	all = find_places(n, frames, count);
	if (n->first_place == n->place_count)
		return all;
	if (fill_places(n)) {
		n->first_place = n->place_count;
		n->first_file = n->file_count;
		return all;
	}
	/* Some of the new places have no text, so none of them is used. */
	for (size_t i = 0; i < count; i++)
		if (frames[i].function != RSYM_NONE && frames[i].function >= n->first_place)
			frames[i].function = RSYM_NONE;
	n->is_full = true;
	n->texts.bytes.len = len;
	n->place_count = n->first_place;
	n->file_count = n->first_file;
	/* The maps hold places and files that are gone. Places given out before stay valid. */
	id_map_reset(&n->place_ids);
	id_map_reset(&n->file_ids);
	return false;
}

/* --- the reply ------------------------------------------------------------------------------- */

static uint32_t add_hashed(struct reply_names *n, uint32_t hash, const void *p, size_t len)
{
	bool is_new;
	uint32_t id;

	if (len + STRING_COST > LIMIT_REPLY_LEN - n->size)
		return intern_find(&n->strings, p, len);
	id = intern_add_hashed(&n->strings, hash, p, len, &is_new);
	if (id != INTERN_FULL && is_new)
		n->size += len + STRING_COST;
	return id;
}

static uint32_t add_reply_string(struct reply_names *n, const void *p, size_t len)
{
	return add_hashed(n, intern_hash(p, len), p, len);
}

static uint32_t path_of_reply(struct reply_names *n, uint32_t path)
{
	struct reply_file *f;

	if (path == RSYM_NONE)
		return 0;
	f = &n->files[path];
	if (f->string == RSYM_NONE)
		f->string = add_reply_string(n, n->texts.bytes.p + f->off, f->len);
	return f->string;
}

/* Returns the bytes of a row of functions without its texts. */
static size_t row_cost(const struct reply_names *n)
{
	return FUNCTION_COST + (n->columns & REPLY_DETAILS ? DETAIL_COST : 0) +
	       (n->columns & REPLY_STARTS ? START_COST : 0);
}

static uint32_t add_reply_function(struct reply_names *n, const struct reply_function *f)
{
	if (!reply_names_weigh(n, row_cost(n)) ||
	    !GROW(n->functions, &n->functions_cap, n->function_count + 1, LIMIT_STREAM_ROWS))
		return RSYM_NONE;
	n->functions[n->function_count] = *f;
	return (uint32_t)n->function_count++;
}

static uint32_t hash_of_name(const struct reply_names *n, const struct reply_place *p)
{
	return intern_hash(n->texts.bytes.p + p->name, p->name_len);
}

static uint32_t add_reply_row(struct reply_names *n, uint32_t place, uint32_t hash)
{
	struct reply_place *p = &n->places[place];
	struct reply_function f = {
		.name = add_hashed(n, hash, n->texts.bytes.p + p->name, p->name_len),
		.file = path_of_reply(n, p->path),
		.start_file = path_of_reply(n, p->start_path),
		.start_line = p->start_line,
		.start_address = p->start_address,
	};

	if (n->columns & REPLY_DETAILS)
		f.linkage_name = add_reply_string(n, n->texts.bytes.p + p->linkage, p->linkage_len);
	if (f.name != RSYM_NONE && f.file != RSYM_NONE && f.linkage_name != RSYM_NONE &&
	    f.start_file != RSYM_NONE)
		n->rows[place] = add_reply_function(n, &f);
	return n->rows[place];
}

uint32_t reply_names_add_row(struct reply_names *n, uint32_t place)
{
	return add_reply_row(n, place, hash_of_name(n, &n->places[place]));
}

static void add_rows(struct reply_names *n)
{
	uint32_t hashes[AHEAD];

	for (size_t i = n->batch_place; i < n->place_count + AHEAD; i++) {
		uint32_t *hash = &hashes[i % AHEAD];
		size_t due = i - AHEAD;

		if (i >= n->batch_place + AHEAD && n->rows[due] == RSYM_NONE)
			add_reply_row(n, (uint32_t)due, *hash);
		if (i >= n->place_count)
			continue;
		*hash = hash_of_name(n, &n->places[i]);
		intern_fetch(&n->strings, *hash);
	}
}

void reply_names_commit(struct reply_names *n, size_t more)
{
	size_t count = n->place_count - n->batch_place, files = n->file_count - n->batch_file;
	size_t weight = n->size + more + n->texts.bytes.len - n->batch_bytes;

	weight += (count + files) * STRING_COST + count * row_cost(n);
	if (n->columns & REPLY_DETAILS)
		weight += count * STRING_COST;
	if (weight <= LIMIT_REPLY_LEN)
		add_rows(n);
	n->texts.bytes.max =
		LIMIT_PREPARED_LEN + 2 * (LIMIT_REPLY_LEN + LIMIT_NAME_LEN + LIMIT_DEMANGLE_OUT);
	n->texts.bytes.failed = n->is_full = n->texts.is_spent = false;
	n->texts.unpack_left = LIMIT_REPLY_UNPACKED_1;
	n->texts.time_left_ns = REPLY_TEXTS_1_NS;
}

uint32_t reply_names_plain(struct reply_names *n, const void *name, size_t len)
{
	struct reply_function f = {.name = add_reply_string(n, name, len)};
	uint32_t *row;
	bool is_new;

	if (f.name == RSYM_NONE)
		return RSYM_NONE;
	row = id_map_add(&n->plain_ids, id_map_hash(f.name, 0), f.name, 0, &is_new);
	if (row && is_new)
		*row = RSYM_NONE;
	if (row && *row == RSYM_NONE)
		*row = add_reply_function(n, &f);
	return row ? *row : RSYM_NONE;
}
