/* SPDX-License-Identifier: Apache-2.0 */
#include "demangle.h"
#include "limits.h"
#include "resolve.h"

/* Unpacked names and paths that are kept: those of the hot parts of a large program. */
#define READER_CACHE (16 * MIB)
/* Frames of one turn of lookups. */
#define FRAMES       (4 * RSYM_FRAMES_MAX)
#define TURN         1024

struct lookup {
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
};

static void lookup_done(struct lookup *l)
{
	rsym_reader_free(l->reader);
	buf_done(&l->names);
	free(l->shown);
	free(l->frames);
}

static int lookup_init(struct lookup *l, const struct rsym *t, const struct resolve_query *q,
		       struct err *err)
{
	*l = (struct lookup){
		.t = t,
		.style = q->demangle == RESOLVE_DEMANGLED ? DEMANGLE_FULL : DEMANGLE_NONE,
		.names = BUF_INIT(LIMIT_TABLE_LEN),
		.shown = calloc(t->function_count + 1, sizeof(*l->shown)),
		.frames = malloc(FRAMES * sizeof(*l->frames)),
	};
	if (!l->shown || !l->frames)
		return err_set(err, ERR_MEMORY, "resolve: out of memory");
	l->reader = rsym_reader_new(t, READER_CACHE, err);
	return l->reader ? 0 : err->code;
}

static int shown_name(struct lookup *l, uint32_t function, const struct shown **ret,
		      struct err *err)
{
	uint32_t id = rsym_name_id(l->t, function);
	const uint8_t *p;
	size_t len;
	int rc;

	if (id >= l->t->function_count)
		return err_set(err, ERR_DATA, "table: function %u without a name", function);
	*ret = &l->shown[id];
	if (l->shown[id].known)
		return 0;
	rc = rsym_reader_name(l->reader, function, &p, &len, err);
	if (rc)
		return rc;
	l->shown[id] = (struct shown){.off = l->names.len, .known = 1};
	if (!demangle_append(l->style, p, len, &l->names))
		return err_set(err, ERR_MEMORY, "resolve: out of memory");
	l->shown[id].len = (uint32_t)(l->names.len - l->shown[id].off);
	return 0;
}

static int print_frame(struct lookup *l, const struct rsym_frame *f, bool inlined,
		       struct resolve_printer *printer, struct err *err)
{
	const struct shown *name;
	const uint8_t *file = NULL;
	size_t file_len = 0;
	int rc = shown_name(l, f->function, &name, err);

	if (!rc && f->file != RSYM_NONE)
		rc = rsym_reader_file(l->reader, f->file, &file, &file_len, err);
	if (rc)
		return rc;
	resolve_frame(printer, &(struct resolve_frame){
				       .function = l->names.p ? l->names.p + name->off : NULL,
				       .function_len = name->len,
				       .file = file,
				       .file_len = file_len,
				       .line = f->line,
				       .inlined = inlined,
			       });
	return 0;
}

static int print_address(struct lookup *l, uint64_t address, const struct rsym_frame *frames,
			 size_t count, struct resolve_printer *printer, size_t *unknown,
			 struct err *err)
{
	int rc = 0;

	resolve_begin(printer, address, count ? "resolved" : "not_in_module");
	for (size_t i = 0; !rc && i < count; i++)
		rc = print_frame(l, &frames[i], i + 1 < count, printer, err);
	resolve_end(printer);
	*unknown += count == 0;
	return rc;
}

static uint64_t looked_up(const struct rsym *t, uint64_t address, const struct resolve_query *q)
{
	/* What is in no segment is in no function either. */
	if (q->file_off && rsym_vaddr_of_file_off(t, address, &address) != 1)
		return UINT64_MAX;
	return address - (q->return_address && address);
}

static int print_turn(struct lookup *l, const uint64_t *addresses, size_t count,
		      const struct resolve_query *q, struct resolve_printer *printer,
		      size_t *unknown, struct err *err)
{
	uint64_t vaddrs[TURN];
	uint32_t ends[TURN];
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		vaddrs[i] = looked_up(l->t, addresses[i], q);
	for (size_t at = 0; !rc && at < count;) {
		size_t n =
			rsym_lookup_batch(l->t, vaddrs + at, count - at, l->frames, FRAMES, ends);

		if (!n)
			return err_set(err, ERR_INTERNAL, "table: lookup fails");
		for (size_t i = 0; !rc && i < n; i++) {
			uint32_t first = i ? ends[i - 1] : 0;

			rc = print_address(l, addresses[at + i], l->frames + first, ends[i] - first,
					   printer, unknown, err);
		}
		at += n;
	}
	return rc;
}

/* The addresses as the table has them; NULL: only the table itself can say. */
static int need(struct local_table *t, const struct resolve_query *q, struct err *err)
{
	_cleanup_(freep) uint64_t *vaddrs = NULL;

	if (q->file_off)
		return local_table_need(t, NULL, 0, err);
	vaddrs = malloc((q->count + 1) * sizeof(*vaddrs));
	if (!vaddrs)
		return err_set(err, ERR_MEMORY, "resolve: out of memory");
	for (size_t i = 0; i < q->count; i++)
		vaddrs[i] = q->addresses[i] - (q->return_address && q->addresses[i]);
	return local_table_need(t, vaddrs, q->count, err);
}

int resolve_local(struct local_table *t, const struct resolve_query *q,
		  struct resolve_printer *printer, size_t *unknown, struct err *err)
{
	_cleanup_(lookup_done) struct lookup l = {0};
	int rc = need(t, q, err);

	if (!rc)
		rc = lookup_init(&l, &t->rsym, q, err);
	for (size_t i = 0; !rc && i < q->count; i += TURN)
		rc = print_turn(&l, q->addresses + i, q->count - i < TURN ? q->count - i : TURN, q,
				printer, unknown, err);
	return rc;
}
