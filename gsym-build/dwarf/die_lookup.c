/* SPDX-License-Identifier: Apache-2.0 */
#include "die_lookup.h"

int die_lookup_table(struct die_lookup *l, const struct die_unit *u, const struct die_table **ret,
		     struct err *err)
{
	struct unit_encoding encoding = u->encoding;
	const struct die_section *abbrev = &u->file->abbrev;
	struct die_table *t;

	encoding.columns = l->columns;
	encoding.types = l->types;
	for (size_t i = 0; i < DIE_TABLES; i++) {
		t = &l->tables[(l->next + DIE_TABLES - 1 - i) % DIE_TABLES];
		if (t->abbrevs && l->sections[t - l->tables] == abbrev->p &&
		    t->off == u->abbrev_off &&
		    memcmp(&t->encoding, &encoding, sizeof(t->encoding)) == 0) {
			*ret = t;
			return 0;
		}
	}
	t = &l->tables[l->next];
	die_table_done(t);
	TRY(die_table_compile(t, abbrev->p, abbrev->len, u->abbrev_off, encoding, err));
	l->sections[l->next] = abbrev->p;
	l->next = (l->next + 1) % DIE_TABLES;
	*ret = t;
	return 0;
}

int die_lookup_unit(struct die_lookup *l, struct die_unit *u, const struct die_table **ret_table,
		    struct bytes *in, struct die *ret, struct err *err)
{
	uint64_t base;
	int rc;

	TRY(die_lookup_table(l, u, ret_table, err));
	*in = bytes_of(u->p + u->header_len, u->end - u->off - u->header_len);
	rc = die_next(u, *ret_table, in, ret, err);
	if (rc || !ret->abbrev)
		return rc;
	if (ret->abbrev->take == DIE_NO_PROGRAM || ret->abbrev->flags & DIE_IS_SCOPE)
		return err_set(err, ERR_DATA, "its first DIE is not that of a unit");
	u->has_bases = true;
	if (die_section_offset(ret, DIE_STR_OFFSETS_BASE, &base))
		u->str_base = base;
	u->addr_base = die_section_offset(ret, DIE_ADDR_BASE, &base) ? base : 0;
	return 0;
}

bool die_lookup_die(struct die_lookup *l, const struct die_file *f, uint64_t off,
		    struct bytes *ret_in, struct die *ret)
{
	struct die_unit *u = l->current;
	const struct die_table *t;

	if (f != u->file || off < u->off || off >= u->end)
		u = die_file_unit_at(f, off);
	if (!u || off < u->off + u->header_len)
		return false;
	if (!u->has_bases && die_lookup_unit(l, u, &t, ret_in, ret, NULL))
		return false;
	if (die_lookup_table(l, u, &t, NULL))
		return false;
	*ret_in = bytes_of(u->p + (off - u->off), u->end - off);
	return die_next(u, t, ret_in, ret, NULL) == 0 && ret->abbrev &&
	       ret->abbrev->take != DIE_NO_PROGRAM;
}

void die_lookup_close(struct die_lookup *l)
{
	for (size_t i = 0; i < DIE_TABLES; i++)
		die_table_done(&l->tables[i]);
}
