/* SPDX-License-Identifier: Apache-2.0 */
#include "frame_printer.h"

#include "demangle_budget.h"
#include "intern.h"
#include "limits.h"

/* The memory of unpacked names and paths: enough for the hot parts of a large program. */
#define READER_CACHE (16 * MIB)
/* Frames and addresses of one turn of lookups. */
#define FRAMES       (4 * RSYM_FRAMES_MAX)
#define TURN         1024

struct frame_printer {
	const struct rsym *t;
	struct rsym_reader *reader;
	enum demangle_style style;
	/* Names as shown, each made once: template names take long to demangle. */
	struct buf names;
	struct shown {
		size_t off;
		uint32_t len, known;
	} * shown; /* by rsym_name_id() */
	struct rsym_frame *frames;
	/* Map names to entries, for frame_printer_find_entry(). */
	struct intern index;
	uint64_t *entries;
	size_t entries_cap;
};

void frame_printer_free(struct frame_printer *n)
{
	if (!n)
		return;
	rsym_reader_free(n->reader);
	buf_done(&n->names);
	intern_done(&n->index);
	free(n->entries);
	free(n->shown);
	free(n->frames);
	free(n);
}

struct frame_printer *frame_printer_new(const struct rsym *t, bool demangle, struct err *err)
{
	_cleanup_(frame_printer_freep) struct frame_printer *n = malloc(sizeof(*n));

	if (!n) {
		err_no_memory(err);
		return NULL;
	}
	*n = (struct frame_printer){
		.t = t,
		.style = demangle ? DEMANGLE_FULL : DEMANGLE_NONE,
		.names = BUF_INIT(LIMIT_TABLE_LEN),
		.shown = calloc((size_t)t->function_count + 1, sizeof(*n->shown)),
		.frames = malloc(FRAMES * sizeof(*n->frames)),
		.index = INTERN_INIT(UINT32_MAX - 1, LIMIT_TABLE_LEN),
	};
	n->reader = rsym_reader_new(t, READER_CACHE, err);
	if (n->reader && (!n->shown || !n->frames))
		err_no_memory(err);
	if (!n->reader || !n->shown || !n->frames)
		return NULL;
	return TAKE_PTR(n);
}

static int find_shown_name(struct frame_printer *n, uint32_t function, const struct shown **ret,
			   struct err *err)
{
	uint32_t id = rsym_name_id(n->t, function);
	const uint8_t *p;
	size_t len;

	if (id >= n->t->function_count)
		return err_set(err, ERR_DATA, "table: function %u without a name", function);
	*ret = &n->shown[id];
	if (n->shown[id].known)
		return 0;
	TRY(rsym_reader_name(n->reader, function, &p, &len, err));
	n->shown[id] = (struct shown){.off = n->names.len, .known = 1};
	if (!demangle_budget_append(n->style, p, len, &n->names))
		return err_no_memory(err);
	n->shown[id].len = (uint32_t)(n->names.len - n->shown[id].off);
	return 0;
}

static int print_named_frame(struct frame_printer *n, const struct rsym_frame *f, bool inlined,
			     struct resolve_printer *printer, struct err *err)
{
	const struct shown *name;
	const uint8_t *file = NULL;
	size_t file_len = 0;

	TRY(find_shown_name(n, f->function, &name, err));
	if (f->file != RSYM_NONE)
		TRY(rsym_reader_file(n->reader, f->file, &file, &file_len, err));
	resolve_frame(printer, &(struct resolve_frame){
				       .function = n->names.p ? n->names.p + name->off : NULL,
				       .function_len = name->len,
				       .file = file,
				       .file_len = file_len,
				       .line = f->line,
				       .inlined = inlined,
			       });
	return 0;
}

static int print_named_address(struct frame_printer *n, uint64_t address,
			       const struct rsym_frame *frames, size_t count,
			       struct resolve_printer *printer, size_t *unknown, struct err *err)
{
	int rc = 0;

	resolve_begin(printer, address, count ? "resolved" : "not_in_module");
	for (size_t i = 0; !rc && i < count; i++)
		rc = print_named_frame(n, &frames[i], i + 1 < count, printer, err);
	resolve_end(printer);
	*unknown += count == 0;
	return rc;
}

static int print_turn(struct frame_printer *n, const uint64_t *shown, const uint64_t *vaddrs,
		      size_t count, struct resolve_printer *printer, size_t *unknown,
		      struct err *err)
{
	uint32_t ends[TURN];
	int rc = 0;

	for (size_t at = 0; !rc && at < count;) {
		size_t done =
			rsym_lookup_batch(n->t, vaddrs + at, count - at, n->frames, FRAMES, ends);

		if (!done)
			return err_set(err, ERR_INTERNAL, "table: lookup fails");
		for (size_t i = 0; !rc && i < done; i++) {
			uint32_t first = i ? ends[i - 1] : 0;

			rc = print_named_address(n, shown[at + i], n->frames + first,
						 ends[i] - first, printer, unknown, err);
		}
		at += done;
	}
	return rc;
}

int frame_printer_print(struct frame_printer *n, const uint64_t *shown, const uint64_t *vaddrs,
			size_t count, struct resolve_printer *printer, size_t *unknown,
			struct err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i += TURN)
		rc = print_turn(n, shown + i, vaddrs + i, count - i < TURN ? count - i : TURN,
				printer, unknown, err);
	return rc;
}

/* The first of several functions with one name wins. */
static int index_names(struct frame_printer *n, struct err *err)
{
	for (uint32_t i = 0; i < n->t->function_count; i++) {
		struct rsym_function f;
		const uint8_t *p;
		size_t len;
		bool fresh;
		uint32_t id;

		TRY(rsym_function(n->t, i, &f, err));
		if (f.has_entry)
			TRY(rsym_reader_name(n->reader, i, &p, &len, err));
		if (!f.has_entry)
			continue;
		id = intern_add(&n->index, p, len, &fresh);
		if (id == INTERN_FULL || !GROW(n->entries, &n->entries_cap, (size_t)id + 1,
					       SIZE_MAX / sizeof(*n->entries)))
			return err_no_memory(err);
		if (fresh)
			n->entries[id] = f.vaddr;
	}
	return 0;
}

int frame_printer_find_entry(struct frame_printer *n, const void *name, size_t len,
			     uint64_t *ret_vaddr, struct err *err)
{
	uint32_t id;

	if (!n->index.count)
		TRY(index_names(n, err));
	id = intern_find(&n->index, name, len);
	if (id == INTERN_FULL)
		return 0;
	*ret_vaddr = n->entries[id];
	return 1;
}
