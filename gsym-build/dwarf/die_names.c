/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves names along DW_AT_specification and DW_AT_abstract_origin: the first linkage name in the
 * chain wins, else the first plain name. Chains may leave the unit; a hop limit ends cycles. Only
 * scopes with code are resolved, and each origin once: for nine inlined calls in ten it is in the
 * cache.
 */
#include "die_priv.h"
#include "limits.h"

struct scope_name die_scope_name(struct die_scan *s, const struct die *d)
{
	struct scope_name n = {
		.linkage_name = die_string(s, d, DIE_LINKAGE_NAME),
		.name = die_string(s, d, DIE_NAME),
		.off = d->off,
	};

	if (!die_reference(s, d, DIE_SPECIFICATION, &n.file, &n.origin) &&
	    !die_reference(s, d, DIE_ORIGIN, &n.file, &n.origin))
		n.origin = 0;
	if (!s->alt &&
	    (die_form_is_alt(d->v.form[DIE_LINKAGE_NAME]) || die_form_is_alt(d->v.form[DIE_NAME]) ||
	     die_form_is_alt(d->v.form[DIE_SPECIFICATION]) ||
	     die_form_is_alt(d->v.form[DIE_ORIGIN])))
		s->report->needs_alt_file = true;
	return n;
}

/* Finds the unit that holds an offset: the current one, or any unit of a file whose units are
 * listed. */
static struct die_unit *unit_at(struct die_scan *s, const struct die_file *f, uint64_t off)
{
	size_t low = 0, count = f->unit_count;

	if (f == s->unit.file && off >= s->unit.off && off < s->unit.end)
		return &s->unit;
	while (count) {
		size_t half = count / 2;

		if (f->units[low + half].end <= off) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low < f->unit_count && f->units[low].off <= off ? &f->units[low] : NULL;
}

bool die_at(struct die_scan *s, const struct die_file *f, uint64_t off, struct bytes *ret_in,
	    struct die *ret)
{
	struct die_unit *u = unit_at(s, f, off);
	const struct die_table *t;

	if (!u || off < u->off + u->header_len)
		return false;
	if (!u->has_bases && die_unit_open(s, u, &t, ret_in, ret, NULL))
		return false;
	if (die_table_of(s, u, &t, NULL))
		return false;
	*ret_in = bytes_of(u->p + (off - u->off), u->end - off);
	return die_next(u, t, ret_in, ret, NULL) == 0 && ret->abbrev &&
	       ret->abbrev->take != DIE_NO_PROGRAM;
}

static int follow_origins(struct die_scan *s, const struct die_file *f, uint64_t off,
			  struct origin_name *ret, struct err *err)
{
	const char *linkage_name = NULL, *name = NULL;
	struct bytes in;
	struct die d;
	int rc;

	*ret = (struct origin_name){0};
	for (uint64_t hops = 0; off && hops < LIMIT_ORIGIN_HOPS && !linkage_name; hops++) {
		struct scope_name n;
		uint64_t line, file;

		if (!die_at(s, f, off, &in, &d))
			break;
		n = die_scope_name(s, &d);
		linkage_name = n.linkage_name;
		if (!name)
			name = n.name;
		if (!ret->decl_line) {
			ret->decl_line = die_number(&d, DIE_DECL_LINE, &line) ? (uint32_t)line : 0;
			/* A file number is valid only in the unit of its DIE. */
			if (d.unit == &s->unit && die_number(&d, DIE_DECL_FILE, &file)) {
				ret->has_decl_file = true;
				ret->decl_file =
					line_table_file(&s->lines, file, s->comp_dir, s->text);
			}
		}
		off = n.origin;
		f = n.file;
	}
	ret->is_linkage = linkage_name != NULL;
	rc = die_text_id(&s->file.strings, linkage_name ? linkage_name : name, &ret->name, err);
	return rc < 0 ? rc : 0;
}

static int read_name_at(struct die_scan *s, struct die_file *f, uint64_t off,
			struct origin_name *ret, struct err *err)
{
	uint64_t hash = off * UINT64_C(0x9e3779b97f4a7c15);
	struct origin_memo *m = &s->origins[hash >> (64 - s->origins_bits)];

	if (m->stamp != s->origins_stamp || m->off != off || m->file != f) {
		int rc = follow_origins(s, f, off, ret, err);

		if (rc)
			return rc;
		*m = (struct origin_memo){
			.file = f, .off = off, .stamp = s->origins_stamp, .name = *ret};
	}
	*ret = m->name;
	return 0;
}

static int resolve_scope(struct die_scan *s, const struct scope_name *n, struct debug_scope *scope,
			 struct err *err)
{
	struct origin_name o = {.name = DEBUG_NONE};
	const char *own;
	int rc = n->origin ? read_name_at(s, n->file, n->origin, &o, err) : 0;

	if (rc)
		return rc;
	own = n->linkage_name ? n->linkage_name : o.is_linkage ? NULL : n->name;
	scope->name = o.name;
	if (own)
		rc = die_text_id(&s->file.strings, own, &scope->name, err);
	if (!scope->decl_line) {
		scope->decl_line = o.decl_line;
		if (o.has_decl_file)
			scope->decl_file = o.decl_file;
	}
	return rc < 0 ? rc : 0;
}

int die_names_resolve(struct die_scan *s, struct err *err)
{
	int rc = 0;

	s->origins_stamp++;
	/* There are no more origins than scopes, so a small unit needs only a small part of the
	 * cache. */
	s->origins_bits = 4;
	while (s->origins_bits < DIE_ORIGINS_BITS && 2 * s->scope_count >> s->origins_bits)
		s->origins_bits++;
	for (size_t i = 0; i < s->scope_count && !rc; i++)
		rc = resolve_scope(s, &s->names[i], &s->scopes[i], err);
	return rc;
}
