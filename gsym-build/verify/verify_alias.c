/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the aliases: the other names at the entry of a function that is the answer there
 * (FORMAT.md, "aliases"). Aliases are
 *
 *	- functions of DWARF that are the function of no answer;
 *	- symbols that are functions or not local, except local symbols beside an exported one if
 *	  DWARF names the function, and except the function's name followed by '.' and more.
 */
#include "verify_run.h"

#include <assert.h>
#include <string.h>

#include "bisect.h"
#include "limits.h"
#include "rsym_function_alias.h"

/* A name at an entry, from the file or from the table. */
struct name_at {
	uint64_t entry;
	uint32_t name;
	bool from_symbol, internal;      /* internal: a local symbol beside an exported one */
	const struct debug_scope *scope; /* scope of a name from the file's DWARF, else NULL */
	uint32_t decl_path, decl_line;   /* declaration of a name from the table */
};

struct names_at {
	struct name_at *list;
	size_t count, cap;
};

static void names_done(struct names_at *n)
{
	free(n->list);
}

static bool add_name(struct names_at *n, const struct name_at *name)
{
	if (!GROW(n->list, &n->cap, n->count + 1, SIZE_MAX))
		return false;
	n->list[n->count++] = *name;
	return true;
}

/* Orders by entry and name. Of equal names the one from DWARF comes first, then exported
 * symbols. */
static int by_entry_and_name(const void *va, const void *vb)
{
	const struct name_at *a = va, *b = vb;

	if (a->entry != b->entry)
		return a->entry < b->entry ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->from_symbol != b->from_symbol)
		return a->from_symbol - b->from_symbol;
	return a->internal - b->internal;
}

static void sort_names(struct names_at *n)
{
	if (n->count)
		qsort(n->list, n->count, sizeof(*n->list), by_entry_and_name);
}

/* Returns the function that has this entry and is the answer there, or NULL. */
static const struct verify_entered *entered_at(const struct verify_run *run, uint64_t entry)
{
	size_t at = BISECT(run->entered_count, i, run->entered[i].entry < entry);

	return at < run->entered_count && run->entered[at].entry == entry ? &run->entered[at]
									  : NULL;
}

/* Returns whether a name is `of` followed by '.' and more. */
static bool is_copy_of(const struct verify_run *run, uint32_t name, uint32_t of)
{
	const struct intern *strings = &run->verify->source.text.strings;
	size_t len, of_len;
	const char *p = intern_get(strings, name, &len), *q = intern_get(strings, of, &of_len);

	return len > of_len && p[of_len] == '.' && memcmp(p, q, of_len) == 0;
}

static bool add_scopes(const struct verify_run *run, struct names_at *ret)
{
	const struct verify_source *f = &run->verify->source;

	for (size_t i = 0; i < f->scope_count; i++) {
		const struct debug_scope *s = &f->scopes[i];
		const struct verify_entered *is;

		if (s->parent != DEBUG_NONE || !s->has_entry || s->name == DEBUG_NONE ||
		    run->seen[i])
			continue;
		is = entered_at(run, s->entry);
		if (is && is->name != s->name &&
		    !add_name(ret,
			      &(struct name_at){.entry = s->entry, .name = s->name, .scope = s}))
			return false;
	}
	return true;
}

/* Adds the names of the symbols at one address, [first, end). */
static bool add_symbol_names(const struct verify_run *run, size_t first, size_t end,
			     const struct verify_entered *is, struct names_at *ret)
{
	const struct symbol *list = run->verify->source.symbols.list;
	bool exported = false;

	for (size_t i = first; i < end; i++)
		exported = exported || list[i].binding != SYMBOL_LOCAL;
	for (size_t i = first; i < end; i++) {
		const struct symbol *s = &list[i];
		bool internal = exported && s->binding == SYMBOL_LOCAL;

		if ((!s->is_function && s->binding == SYMBOL_LOCAL) || s->name == is->name ||
		    (internal && !is->from_symbol) || is_copy_of(run, s->name, is->name))
			continue;
		if (!add_name(ret, &(struct name_at){.entry = s->vaddr,
						     .name = s->name,
						     .from_symbol = true,
						     .internal = internal}))
			return false;
	}
	return true;
}

static bool fill_expected_names(const struct verify_run *run, struct names_at *ret)
{
	const struct symbols *s = &run->verify->source.symbols;
	bool ok = add_scopes(run, ret);

	for (size_t i = 0, end; i < s->count && ok; i = end) {
		const struct verify_entered *is = entered_at(run, s->list[i].vaddr);

		for (end = i + 1; end < s->count && s->list[end].vaddr == s->list[i].vaddr;)
			end++;
		ok = !is || add_symbol_names(run, i, end, is, ret);
	}
	sort_names(ret);
	return ok;
}

static int fill_found_names(struct verify_run *run, struct names_at *ret, struct err *err)
{
	for (uint32_t i = 0; i < run->t->alias_count; i++) {
		uint32_t function = rsym_function_alias_at(run->t, i);
		struct rsym_function f;
		struct name_at n = {0};

		TRY(rsym_function(run->t, function, &f, err));
		TRY(verify_name(run, function, &n.name, err));
		TRY(verify_path(run, f.file, &n.decl_path, err));
		n.entry = f.vaddr + run->verify->bias;
		n.from_symbol = f.from_symbol;
		n.decl_line = f.start_line;
		if (!add_name(ret, &n))
			return err_no_memory(err);
	}
	sort_names(ret);
	return 0;
}

/* Stores in *ret whether the alias in the table equals one of `count` aliases in the file. These
 * have the same entry and name and may differ in their declarations: if several units declare the
 * function, each declaration is right. */
static int is_one_of(struct verify_run *run, const struct name_at *table,
		     const struct name_at *file, size_t count, bool *ret, struct err *err)
{
	*ret = table->from_symbol == file->from_symbol;
	if (file->from_symbol || !*ret) {
		*ret = *ret && !table->decl_line && table->decl_path == DEBUG_NONE;
		return 0;
	}
	*ret = false;
	for (size_t i = 0; i < count && file[i].scope && !*ret; i++) {
		uint32_t path;

		TRY(verify_source_path(run->verify, file[i].scope->decl_file, &path, err));
		*ret = path == table->decl_path && file[i].scope->decl_line == table->decl_line;
	}
	return 0;
}

static void put_name_line(struct verify_run *run, const char *who, const struct name_at *n,
			  uint32_t path, uint32_t line)
{
	buf_printf(run->out, "  %s:", who);
	if (!n) {
		buf_str(run->out, " nothing\n");
		return;
	}
	buf_str(run->out, " ");
	verify_put_text(run, n->name);
	buf_str(run->out, " (of ");
	verify_put_text(run, path);
	buf_printf(run->out, ":%u%s)\n", line, n->from_symbol ? ", a symbol" : "");
}

/* Prints a difference. `file` or `table` may be NULL, but not both. */
static int alias_differs(struct verify_run *run, const struct name_at *file,
			 const struct name_at *table, struct err *err)
{
	uint32_t path = DEBUG_NONE;
	int rc = 0;

	assert(file || table);
	if (run->report->difference_count++ >= LIMIT_VERIFY_PRINTED)
		return 0;
	if (file && file->scope)
		rc = verify_source_path(run->verify, file->scope->decl_file, &path, err);
	buf_printf(run->out, "alias at 0x%llx:\n",
		   (unsigned long long)((file ? file : table)->entry - run->verify->bias));
	put_name_line(run, "file ", file, path, file && file->scope ? file->scope->decl_line : 0);
	put_name_line(run, "table", table, table ? table->decl_path : DEBUG_NONE,
		      table ? table->decl_line : 0);
	return rc;
}

static int compare_names_at(const struct name_at *a, const struct name_at *b)
{
	if (a->entry != b->entry)
		return a->entry < b->entry ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

static int compare_lists(struct verify_run *run, const struct names_at *file,
			 const struct names_at *table, struct err *err)
{
	size_t at = 0, have = 0;

	while (at < file->count || have < table->count) {
		const struct name_at *f = at < file->count ? &file->list[at] : NULL;
		const struct name_at *t = have < table->count ? &table->list[have] : NULL;
		int how = !f ? 1 : !t ? -1 : compare_names_at(f, t);
		size_t same = 0;
		bool equal = false;

		while (f && at + same < file->count && compare_names_at(f, f + same) == 0)
			same++;
		if (how == 0)
			TRY(is_one_of(run, t, f, same, &equal, err));
		if (!equal)
			TRY(alias_differs(run, how <= 0 ? f : NULL, how >= 0 ? t : NULL, err));
		at += how <= 0 ? same : 0;
		have += how >= 0;
		run->report->alias_count++;
	}
	return run->out->failed ? err_no_memory(err) : 0;
}

int verify_compare_aliases(struct verify_run *run, struct err *err)
{
	_cleanup_(names_done) struct names_at file = {0}, table = {0};

	if (!fill_expected_names(run, &file))
		return err_no_memory(err);
	TRY(fill_found_names(run, &table, err));
	return compare_lists(run, &file, &table, err);
}
