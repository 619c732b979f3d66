/* SPDX-License-Identifier: Apache-2.0 */
#include "demangle_bound.h"

#include <string.h>

/*
 * LIMIT_DEMANGLE_OUT, the most bytes of text, bounds all steps that print something. What remains
 * are steps that print nothing and double the work: these are counted. Pairs of letters are counted
 * wherever they occur, in identifiers too, so that no reading of the name has more of them. Where
 * that is too coarse the parsed name decides, which takes time linear in its length.
 */
enum {
	/* C++: in a conversion operator each parameter that has arguments is parsed twice. */
	LIMIT_CONVERSION_ARGUMENTS = 8,
	SCOPE_WORK_FREE = 1024,
	SCOPE_WORK_PER_BYTE = 512,
	LIMIT_STACK_WORK = 1 << 14, /* 64 bytes each */
	LIMIT_PACK_WORK = 1 << 12,
	LIMIT_DOUBLINGS = 40,
	/* D: each reading that fails doubles the work on the rest of the name, and back references
	 * repeat. In real names 2^retries is at most 8 times the length. Early retries read most of
	 * the name again: with these, names of two runtime libraries take at most 126 steps for
	 * each byte, of 12 ns each. */
	LIMIT_D_RETRIES = 12,
	D_WORK_FREE = 64,
	D_WORK_PER_BYTE = 8,
	D_STEPS_PER_BYTE = 128,
	LIMIT_D_REFERENCES = 16,
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_of(char c, const char *set)
{
	return c && strchr(set, c);
}

/* --- C++ ------------------------------------------------------------------------------------- */

/* Upper bounds for the number of parts of a name, counted by its letters. */
struct letters {
	uint32_t conversions, conversion_arguments;
	uint32_t substitutions, parameters, packs, folds, argument_packs;
	uint32_t scopes, lists, references;
	uint32_t lambdas, lambda_heads, pack_lengths;
	bool has_old_scope; /* libiberty's parser for trees leaves open how it is read */
};

static bool is_substitution(const char *p)
{
	while (is_digit(*++p) || is_upper(*p))
		;
	return *p == '_';
}

static bool is_argument_with_arguments(const char *p)
{
	while (is_digit(*++p))
		;
	return p[0] == '_' && p[1] == 'I';
}

/* Returns whether p is "sr" followed by a name without a type in front. The suffix ".isra" of gcc
 * is no such scope. */
static bool is_old_scope(const char *name, const char *p)
{
	if (p[1] != 'r' || !(is_digit(p[2]) || is_lower(p[2]) || is_of(p[2], "CUL")))
		return false;
	return p < name + 2 || strncmp(p - 2, ".isra.", 6) != 0;
}

static void letters_count(struct letters *l, const char *name)
{
	for (const char *p = name; *p; p++) {
		char next = p[1];

		switch (*p) {
		case 'c':
			l->conversions += next == 'v';
			break;
		case 'f':
			l->folds += is_of(next, "lrLR");
			break;
		case 'D':
			l->packs += next == 'p';
			break;
		case 's':
			l->packs += is_of(next, "pZP");
			l->pack_lengths += is_of(next, "ZP");
			l->has_old_scope |= is_old_scope(name, p);
			break;
		case 'I':
			l->lists++;
			break;
		case 'J':
			l->lists++;
			l->argument_packs++;
			break;
		case 'R':
		case 'O':
			l->references += is_of(next, "TS");
			break;
		case 'S':
			l->substitutions += is_substitution(p);
			break;
		case 'T':
			l->parameters++;
			l->conversion_arguments += is_argument_with_arguments(p);
			break;
		case 'U':
			l->lambdas += next == 'l';
			l->lambda_heads += next == 'l' && p[2] == 'T' && is_of(p[3], "yntp");
			break;
		case 'Z':
			l->scopes++;
			break;
		default:
			break;
		}
	}
}

/* Returns whether parameters^scopes is too much: the arguments of each scope may refer to all
 * scopes around it. */
static bool is_deep(uint32_t parameters, uint32_t scopes, size_t len)
{
	uint64_t work = 1, most = SCOPE_WORK_FREE + SCOPE_WORK_PER_BYTE * len;

	for (uint32_t i = 0; i < scopes && work <= most; i++)
		work *= parameters + 1;
	return work > most;
}

static bool is_shape_bounded(const struct demangle_shape *s, size_t len)
{
	return !(s->has_lambda && s->has_pack_length) && !s->has_wide_lambda_head &&
	       !(s->has_silent_lists && is_deep(s->parameters, s->scopes, len)) &&
	       (uint64_t)s->templates * s->references <= LIMIT_STACK_WORK &&
	       s->pack_work <= LIMIT_PACK_WORK;
}

static bool is_cxx_bounded(const char *name, int options)
{
	struct letters l = {0};
	struct demangle_shape shape = {0};
	size_t len = strlen(name);
	uint32_t doublings;
	bool is_plain;

	letters_count(&l, name);
	if (l.conversions && l.conversion_arguments > LIMIT_CONVERSION_ARGUMENTS)
		return false;
	doublings = l.substitutions < LIMIT_DOUBLINGS ? l.substitutions : LIMIT_DOUBLINGS;
	is_plain = !(l.lambdas && l.pack_lengths) && !l.lambda_heads &&
		   !((l.folds || l.argument_packs > 1) &&
		     is_deep(l.parameters, 1 + l.scopes + l.lambdas + l.conversions, len)) &&
		   (uint64_t)l.lists * l.references <= LIMIT_STACK_WORK &&
		   (l.packs * (uint64_t)len) << doublings <= LIMIT_PACK_WORK;
	if (is_plain)
		return true;
	/* Text that is not a mangled name is never printed, so it costs nothing. */
	return !l.has_old_scope &&
	       (!demangle_shape_read(name, options, &shape) || is_shape_bounded(&shape, len));
}

/* --- D --------------------------------------------------------------------------------------- */

/* Returns whether the type of a function may begin here. */
static bool is_call(char c)
{
	return is_of(c, "FUWVRYM");
}

/* Returns whether an identifier whose length ends before p may end before the letter of a
 * function's type. Any digits in front may be its length. */
static bool is_call_behind(const char *name, const char *p, const char *end)
{
	uint64_t len = 0, scale = 1;

	for (const char *d = p; d > name && is_digit(d[-1]) && scale <= UINT32_MAX; d--) {
		len += (uint64_t)(d[-1] - '0') * scale;
		scale *= 10;
		if (len < (uint64_t)(end - p) && is_call(p[len]))
			return true;
	}
	return false;
}

/* Returns whether a call stands behind a back reference, or behind the end of a template. */
static bool is_call_behind_letters(const char *p)
{
	if (*p == 'Z')
		return is_call(p[1]);
	while (is_upper(*++p))
		;
	return is_lower(*p) && is_call(p[1]);
}

static bool is_d_bounded(const char *name)
{
	size_t len = strlen(name);
	const char *end = name + len;
	uint32_t retries = 0, references = 0;
	uint64_t steps = 0;

	for (const char *p = name; p < end && retries <= LIMIT_D_RETRIES; p++) {
		references += *p == 'Q';
		if (*p == 'Q' || *p == 'Z')
			retries += is_call_behind_letters(p);
		/* A symbol as an argument is tried with each number of digits as its length. */
		retries += *p == 'S' && is_digit(p[1]) && is_digit(p[2]) ? 2 : 0;
		if (p > name && is_digit(p[-1]) && !is_digit(*p))
			retries += is_call_behind(name, p, end);
		steps += UINT64_C(1) << retries;
	}
	return references <= LIMIT_D_REFERENCES && retries <= LIMIT_D_RETRIES &&
	       UINT64_C(1) << retries <= D_WORK_FREE + D_WORK_PER_BYTE * len &&
	       steps <= D_STEPS_PER_BYTE * len;
}

bool demangle_is_bounded(const char *name, int options)
{
	switch (name[1]) {
	case 'R':
		return demangle_rust_is_bounded(name);
	case 'D':
		return is_d_bounded(name);
	default:
		return is_cxx_bounded(name, options);
	}
}
