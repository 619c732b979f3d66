/* SPDX-License-Identifier: Apache-2.0 */
#include "function_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The key of a function, compared as bytes. */
struct key {
	uint32_t name;
	uint32_t file;   /* PROFILE_NONE: the function belongs to a module */
	uint32_t base;   /* the first module with that base name; PROFILE_NONE: no module */
	uint32_t module; /* row, if the build has several of that name; else PROFILE_NONE */
	uint64_t start;  /* of the function, if `module` is set */
};

/* The key of a struct ones, or a pair of a function row and the module of a location. */
struct pair {
	uint32_t first, second;
};

#define SEVERAL UINT64_MAX

/* A number for each key, or SEVERAL for a key that was given two. */
struct ones {
	struct intern keys;
	uint64_t *values;
	size_t cap;
};

struct maker {
	struct function_set *s;
	struct ones lines;  /* (name, file of lines) -> function with a declaration */
	struct ones starts; /* (name, module) -> start */
	struct ones shared; /* (name, base) -> 1, where a module has several starts */
	uint32_t *bases;    /* by module: the first module with its base name */
};

static const struct intern table = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES);

static void ones_done(struct ones *o)
{
	intern_done(&o->keys);
	free(o->values);
}

static void function_set_maker_done(struct maker *m)
{
	ones_done(&m->lines);
	ones_done(&m->starts);
	ones_done(&m->shared);
	free(m->bases);
}

static bool give_value(struct ones *o, struct pair key, uint64_t value)
{
	bool fresh;
	uint32_t id = intern_add(&o->keys, &key, sizeof(key), &fresh);

	if (id == INTERN_FULL || !GROW(o->values, &o->cap, (size_t)id + 1, LIMIT_PROFILE_ENTRIES))
		return false;
	if (fresh)
		o->values[id] = value;
	else if (o->values[id] != value)
		o->values[id] = SEVERAL;
	return true;
}

/* Returns the value of a key, or SEVERAL if it has none. */
static uint64_t value_of(const struct ones *o, struct pair key)
{
	uint32_t id = intern_find(&o->keys, &key, sizeof(key));

	return id < o->cap ? o->values[id] : SEVERAL;
}

/* --- at home in a file ----------------------------------------------------------------------- */

static bool add_declared(struct maker *m)
{
	struct function_set *s = m->s;

	for (uint32_t i = 0; i < s->p->functions.count; i++) {
		const struct profile_function f = profile_function(s->p, i);
		const struct key key = {f.name, f.decl_file, PROFILE_NONE, PROFILE_NONE, 0};

		s->by_function[i] = PROFILE_NONE;
		if (!f.decl_file)
			continue;
		s->by_function[i] = intern_add(&s->keys, &key, sizeof(key), NULL);
		if (s->by_function[i] == INTERN_FULL ||
		    !give_value(&m->lines, (struct pair){f.name, f.file}, s->by_function[i]))
			return false;
	}
	return true;
}

/* Adds the functions of rows with a file; call it after all rows with a declaration were added. */
static bool add_with_file(struct maker *m)
{
	struct function_set *s = m->s;

	for (uint32_t i = 0; i < s->p->functions.count; i++) {
		const struct profile_function f = profile_function(s->p, i);
		const struct key key = {f.name, f.file, PROFILE_NONE, PROFILE_NONE, 0};
		uint64_t one;

		if (f.decl_file || f.start || !f.file)
			continue;
		s->by_function[i] = intern_find(&s->keys, &key, sizeof(key));
		one = value_of(&m->lines, (struct pair){f.name, f.file});
		if (s->by_function[i] == INTERN_FULL && one != SEVERAL)
			s->by_function[i] = (uint32_t)one;
		else if (s->by_function[i] == INTERN_FULL)
			s->by_function[i] = intern_add(&s->keys, &key, sizeof(key), NULL);
		if (s->by_function[i] == INTERN_FULL)
			return false;
	}
	return true;
}

/* --- at home in a module --------------------------------------------------------------------- */

struct profile_text function_base_name(struct profile_text path)
{
	const char *slash = path.len ? memrchr(path.p, '/', path.len) : NULL;

	if (!slash)
		return path;
	return (struct profile_text){slash + 1, path.len - (size_t)(slash + 1 - path.p)};
}

/* Fills m->bases. */
static bool find_bases(struct maker *m)
{
	_cleanup_(intern_done) struct intern names = table;
	const struct profile *p = m->s->p;
	const size_t count = p->module_keys.count;
	_cleanup_(freep) uint32_t *first = malloc((count + 1) * sizeof(*first));

	m->bases = malloc((count + 1) * sizeof(*m->bases));
	if (!first || !m->bases)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct profile_text t = function_base_name(profile_text(p, p->modules[i].path));
		bool fresh;
		uint32_t id = intern_add(&names, t.p, t.len, &fresh);

		if (id == INTERN_FULL)
			return false;
		if (fresh)
			first[id] = i;
		m->bases[i] = first[id];
	}
	return true;
}

static uint32_t base_of_module(const struct maker *m, uint32_t module)
{
	return module == PROFILE_NONE ? PROFILE_NONE : m->bases[module];
}

/* Notes that a module has a row which no file identifies, and whether symbols of that name start at
 * several addresses of the module. */
static bool note_pair(struct maker *m, uint32_t function, uint32_t module)
{
	const struct pair pair = {function, module};
	const struct profile_function f = profile_function(m->s->p, function);
	const struct pair in_module = {f.name, module};
	bool fresh;

	if (intern_add(&m->s->pairs, &pair, sizeof(pair), &fresh) == INTERN_FULL)
		return false;
	if (!fresh || !f.start)
		return true;
	if (!give_value(&m->starts, in_module, f.start))
		return false;
	return value_of(&m->starts, in_module) != SEVERAL ||
	       give_value(&m->shared, (struct pair){f.name, base_of_module(m, module)}, 1);
}

static bool note_pairs(struct maker *m)
{
	const struct profile *p = m->s->p;

	for (uint32_t i = 0; i < p->locations.count; i++) {
		const struct profile_location l = profile_location(p, i);

		for (size_t k = 0; k < l.line_count; k++)
			if (m->s->by_function[l.lines[k].function] == PROFILE_NONE &&
			    !note_pair(m, l.lines[k].function, l.module))
				return false;
	}
	return true;
}

/* Adds the functions of the noted pairs; call it after all pairs were noted, when it is known which
 * names start several times in a module. */
static bool add_pairs(struct maker *m)
{
	struct function_set *s = m->s;

	s->by_pair = malloc((s->pairs.count + 1) * sizeof(*s->by_pair));
	if (!s->by_pair)
		return false;
	for (uint32_t i = 0; i < s->pairs.count; i++) {
		struct profile_function f;
		struct pair pair;
		struct key key;

		memcpy(&pair, intern_get(&s->pairs, i, NULL), sizeof(pair));
		f = profile_function(s->p, pair.first);
		key = (struct key){f.name, PROFILE_NONE, base_of_module(m, pair.second),
				   PROFILE_NONE, 0};
		if (f.start && value_of(&m->shared, (struct pair){f.name, key.base}) == 1) {
			key.module = pair.second;
			key.start = f.start;
		}
		s->by_pair[i] = intern_add(&s->keys, &key, sizeof(key), NULL);
		if (s->by_pair[i] == INTERN_FULL)
			return false;
	}
	return true;
}

/* --- the set --------------------------------------------------------------------------------- */

int function_set_make(struct function_set *s, const struct profile *p, struct err *err)
{
	_cleanup_(function_set_maker_done) struct maker m = {.s = s,
							     .lines = {.keys = table},
							     .starts = {.keys = table},
							     .shared = {.keys = table}};

	*s = (struct function_set){.p = p, .keys = table, .pairs = table};
	s->by_function = malloc((p->functions.count + 1) * sizeof(*s->by_function));
	if (s->by_function && add_declared(&m) && add_with_file(&m) && find_bases(&m) &&
	    note_pairs(&m) && add_pairs(&m))
		return 0;
	function_set_done(s);
	return err_no_memory(err);
}

void function_set_done(struct function_set *s)
{
	intern_done(&s->keys);
	intern_done(&s->pairs);
	free(s->by_function);
	free(s->by_pair);
	*s = (struct function_set){0};
}

uint32_t function_set_of(const struct function_set *s, uint32_t function, uint32_t module)
{
	const struct pair pair = {function, module};
	uint32_t id = s->by_function[function];

	if (id != PROFILE_NONE)
		return id;
	id = intern_find(&s->pairs, &pair, sizeof(pair));
	assert(id != INTERN_FULL);
	return s->by_pair[id];
}

struct profile_text function_set_home(const struct function_set *s, uint32_t id)
{
	struct key key;

	memcpy(&key, intern_get(&s->keys, id, NULL), sizeof(key));
	if (key.file != PROFILE_NONE)
		return profile_text(s->p, key.file);
	if (key.base == PROFILE_NONE)
		return (struct profile_text){"", 0};
	return function_base_name(profile_text(s->p, s->p->modules[key.base].path));
}
