/* SPDX-License-Identifier: Apache-2.0 */
#include "demangle_bound.h"

#include <string.h>

/*
 * Walks a v0 name as libiberty will, back references included, and counts the steps. A back
 * reference may point into the middle of anything, so only a walk shows what is there. In skipped
 * parts (the path of an impl, the crate of the instance) back references are not followed, but
 * lifetimes are counted, whose number is written with base-62 digits.
 */
enum {
	/* Steps for each byte of the name, and for any name. Long real names take up to 14 for each
	 * byte. */
	STEPS_PER_BYTE = 32,
	STEPS_FREE = 1024,
	LIMIT_RUST_DEPTH = 1024, /* libiberty's own limit */
	PUNYCODE_MOVES = 32,     /* letters that are moved in the time of one step */
};

struct walk {
	const char *name;
	size_t at, len;
	uint64_t steps_left;
	uint32_t depth;
	bool skips, failed;
};

static bool walk_path(struct walk *w);
static bool walk_type(struct walk *w);
static bool walk_const(struct walk *w);
static bool walk_open_trait(struct walk *w);

static bool walk_fail(struct walk *w)
{
	w->failed = true;
	return false;
}

static bool walk_pay(struct walk *w, uint64_t steps)
{
	if (w->failed || steps > w->steps_left)
		return walk_fail(w);
	w->steps_left -= steps;
	return true;
}

static char walk_next(struct walk *w)
{
	if (w->at >= w->len || !walk_pay(w, 1)) {
		walk_fail(w);
		return 0;
	}
	return w->name[w->at++];
}

static bool walk_eats(struct walk *w, char c)
{
	if (w->at >= w->len || w->name[w->at] != c)
		return false;
	w->at++;
	return true;
}

/* Walks a list: calls `one` until the closing E. */
static bool walk_list(struct walk *w, bool (*one)(struct walk *))
{
	while (!walk_eats(w, 'E'))
		if (!walk_pay(w, 1) || !one(w))
			return false;
	return true;
}

/* Reads a number. It saturates where libiberty's wraps around; both are too large. */
static uint64_t walk_base_62(struct walk *w)
{
	uint64_t n = 0;

	if (walk_eats(w, '_'))
		return 0;
	while (!walk_eats(w, '_')) {
		char c = walk_next(w);
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'z' ? c - 'a' + 10
			    : c >= 'A' && c <= 'Z' ? c - 'A' + 36
						   : -1;

		if (digit < 0) {
			walk_fail(w);
			return 0;
		}
		n = n > UINT32_MAX ? n : n * 62 + (uint64_t)digit;
	}
	return n + 1;
}

static bool walk_disambiguator(struct walk *w)
{
	if (walk_eats(w, 's'))
		walk_base_62(w);
	return !w->failed;
}

static bool walk_identifier(struct walk *w)
{
	bool is_punycode = walk_eats(w, 'u');
	size_t len;
	char c;

	c = walk_next(w);
	if (c < '0' || c > '9')
		return walk_fail(w);
	len = (size_t)(c - '0');
	while (len && w->at < w->len && w->name[w->at] >= '0' && w->name[w->at] <= '9' &&
	       len <= w->len)
		len = len * 10 + (size_t)(walk_next(w) - '0');
	walk_eats(w, '_');
	if (len > w->len - w->at)
		return walk_fail(w);
	w->at += len;
	/* Inserting a letter moves all letters behind it. */
	return walk_pay(w, is_punycode ? len + len * len / PUNYCODE_MOVES : len);
}

/* Walks `one` at the place to which a back reference points. */
static bool walk_reference(struct walk *w, bool (*one)(struct walk *))
{
	uint64_t to = walk_base_62(w);
	size_t back = w->at;

	if (w->failed || w->skips)
		return !w->failed;
	if (to >= w->len)
		return walk_fail(w);
	w->at = (size_t)to;
	one(w);
	w->at = back;
	return !w->failed;
}

static bool walk_binder(struct walk *w)
{
	/* Each lifetime counts, whether it is shown or not. */
	return !walk_eats(w, 'G') || walk_pay(w, walk_base_62(w) + 1);
}

static bool walk_hex(struct walk *w)
{
	while (!walk_eats(w, '_'))
		if (!walk_next(w))
			return false;
	return true;
}

static bool walk_const_inside(struct walk *w)
{
	char c = walk_next(w);

	if (c == 'B')
		return walk_reference(w, walk_const);
	if (c == 'p')
		return true;
	if (c && strchr("aslxni", c))
		walk_eats(w, 'n');
	return c && strchr("htmyojaslxnibc", c) ? walk_hex(w) : walk_fail(w);
}

static bool walk_nested(struct walk *w, bool (*one)(struct walk *))
{
	bool ok = ++w->depth <= LIMIT_RUST_DEPTH ? one(w) : walk_fail(w);

	w->depth--;
	return ok && !w->failed;
}

static bool walk_const(struct walk *w)
{
	return walk_nested(w, walk_const_inside);
}

static bool walk_argument(struct walk *w)
{
	if (walk_eats(w, 'L')) {
		walk_base_62(w);
		return !w->failed;
	}
	return walk_eats(w, 'K') ? walk_const(w) : walk_type(w);
}

static bool walk_skipped_path(struct walk *w)
{
	bool skips = w->skips;

	w->skips = true;
	walk_path(w);
	w->skips = skips;
	return !w->failed;
}

static bool walk_path_inside(struct walk *w)
{
	switch (walk_next(w)) {
	case 'C':
		return walk_disambiguator(w) && walk_identifier(w);
	case 'N':
		return walk_next(w) && walk_path(w) && walk_disambiguator(w) && walk_identifier(w);
	case 'M':
		return walk_disambiguator(w) && walk_skipped_path(w) && walk_type(w);
	case 'X':
		return walk_disambiguator(w) && walk_skipped_path(w) && walk_type(w) &&
		       walk_path(w);
	case 'Y':
		return walk_type(w) && walk_path(w);
	case 'I':
		return walk_path(w) && walk_list(w, walk_argument);
	case 'B':
		return walk_reference(w, walk_path);
	default:
		return walk_fail(w);
	}
}

static bool walk_path(struct walk *w)
{
	return walk_nested(w, walk_path_inside);
}

static bool walk_function(struct walk *w)
{
	if (!walk_binder(w))
		return false;
	walk_eats(w, 'U');
	if (walk_eats(w, 'K') && !walk_eats(w, 'C') && !walk_identifier(w))
		return false;
	return walk_list(w, walk_type) && (walk_eats(w, 'u') || walk_type(w));
}

/* Walks a trait whose list of arguments stays open; a back reference may lead to one. */
static bool walk_open_trait_inside(struct walk *w)
{
	if (walk_eats(w, 'B'))
		return walk_reference(w, walk_open_trait);
	if (walk_eats(w, 'I'))
		return walk_path(w) && walk_list(w, walk_argument);
	return walk_path(w);
}

static bool walk_open_trait(struct walk *w)
{
	return walk_nested(w, walk_open_trait_inside);
}

static bool walk_trait(struct walk *w)
{
	if (!walk_open_trait(w))
		return false;
	while (walk_eats(w, 'p'))
		if (!walk_identifier(w) || !walk_type(w))
			return false;
	return true;
}

static bool walk_traits(struct walk *w)
{
	if (!walk_binder(w) || !walk_list(w, walk_trait) || !walk_eats(w, 'L'))
		return false;
	walk_base_62(w);
	return !w->failed;
}

static bool walk_type_inside(struct walk *w)
{
	char c = walk_next(w);

	if (c && strchr("bceuaslxnihtmyojfdzpv", c))
		return true;
	switch (c) {
	case 'R':
	case 'Q':
		if (walk_eats(w, 'L'))
			walk_base_62(w);
		return walk_type(w);
	case 'P':
	case 'O':
	case 'S':
		return walk_type(w);
	case 'A':
		return walk_type(w) && walk_const(w);
	case 'T':
		return walk_list(w, walk_type);
	case 'F':
		return walk_function(w);
	case 'D':
		return walk_traits(w);
	case 'B':
		return walk_reference(w, walk_type);
	default:
		if (w->at)
			w->at--;
		return walk_path(w);
	}
}

static bool walk_type(struct walk *w)
{
	return walk_nested(w, walk_type_inside);
}

bool demangle_rust_is_bounded(const char *name)
{
	/* Skips the "_R", and a suffix behind a dot, which is no part of the name. */
	struct walk w = {.name = name + 2, .len = strcspn(name + 2, ".")};

	w.steps_left = STEPS_FREE + STEPS_PER_BYTE * w.len;
	if (!walk_path(&w))
		return false;
	if (w.at < w.len && !walk_skipped_path(&w))
		return false;
	return w.at == w.len;
}
