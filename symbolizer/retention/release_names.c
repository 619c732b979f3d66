/* SPDX-License-Identifier: Apache-2.0 */
#include "release_names.h"

#include <string.h>

#include "intern.h"
#include "limits.h"

/* Versions of all names of a round, of 16 bytes each: 10 versions of 6,500 names. */
#define LIMIT_RELEASE_CELLS LIMIT(65536)

struct release {
	uint64_t version; /* a hash */
	uint64_t newest_ns;
};

/* The versions of the names whose hash ends in `part`, as far as `bits` bits. */
struct release_round {
	struct intern names;   /* hashes of names */
	struct release *cells; /* `versions` for each name */
	uint32_t *counts;      /* of them, those in use */
	unsigned int bits;
	uint64_t part;
};

struct release_names {
	size_t versions, names_max;
	struct release_round judged, collected;
};

static void round_done(struct release_round *r)
{
	intern_done(&r->names);
	free(r->cells);
	free(r->counts);
}

static bool round_init(struct release_round *r, const struct release_names *n)
{
	r->names = (struct intern)INTERN_INIT(n->names_max, n->names_max * sizeof(uint64_t));
	r->cells = calloc(n->names_max * n->versions, sizeof(*r->cells));
	r->counts = calloc(n->names_max, sizeof(*r->counts));
	return r->cells && r->counts;
}

struct release_names *release_names_new(uint64_t versions)
{
	struct release_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->versions = versions;
	n->names_max = LIMIT_RELEASE_CELLS / versions;
	if (!round_init(&n->judged, n) || !round_init(&n->collected, n)) {
		release_names_free(n);
		return NULL;
	}
	return n;
}

void release_names_free(struct release_names *n)
{
	if (!n)
		return;
	round_done(&n->judged);
	round_done(&n->collected);
	free(n);
}

static bool is_in_part(const struct release_round *r, uint64_t name)
{
	return (name & ((UINT64_C(1) << r->bits) - 1)) == r->part;
}

/* Halves the names that a round looks at, until there is room. A name that goes has its turn in
 * another round. */
static void split_round(const struct release_names *n, struct release_round *r)
{
	struct intern kept = INTERN_INIT(n->names_max, n->names_max * sizeof(uint64_t));

	r->bits++;
	for (uint32_t i = 0; i < r->names.count; i++) {
		uint64_t name;
		uint32_t to;
		size_t len;

		memcpy(&name, intern_get(&r->names, i, &len), sizeof(name));
		if (!is_in_part(r, name))
			continue;
		to = intern_add(&kept, &name, sizeof(name), NULL);
		if (to == INTERN_FULL)
			break; /* memory is out: the names behind it have their versions unjudged */
		memmove(r->cells + to * n->versions, r->cells + i * n->versions,
			n->versions * sizeof(*r->cells));
		r->counts[to] = r->counts[i];
	}
	intern_done(&r->names);
	r->names = kept;
}

/* Returns the number of a name, or INTERN_FULL if this round does not look at it. */
static uint32_t place_name(const struct release_names *n, struct release_round *r, uint64_t name)
{
	bool is_new;
	uint32_t i;

	while (r->names.count >= n->names_max && r->bits < 63 && is_in_part(r, name) &&
	       intern_find(&r->names, &name, sizeof(name)) == INTERN_FULL)
		split_round(n, r);
	if (!is_in_part(r, name))
		return INTERN_FULL;
	i = intern_add(&r->names, &name, sizeof(name), &is_new);
	if (i != INTERN_FULL && is_new)
		r->counts[i] = 0;
	return i;
}

static struct release *find_oldest(struct release *cells, size_t count)
{
	struct release *oldest = cells;

	for (size_t i = 1; i < count; i++)
		if (cells[i].newest_ns < oldest->newest_ns)
			oldest = &cells[i];
	return oldest;
}

static struct release *find_version(struct release *cells, size_t count, uint64_t version)
{
	for (size_t i = 0; i < count; i++)
		if (cells[i].version == version)
			return &cells[i];
	return NULL;
}

void release_names_note(struct release_names *n, const struct release_key *key,
			uint64_t uploaded_ns)
{
	const uint64_t version = intern_digest(key->version, key->version_len);
	struct release_round *r = &n->collected;
	const uint32_t i = place_name(n, r, intern_digest(key->name, key->name_len));
	struct release *cells, *at;

	if (i == INTERN_FULL)
		return;
	cells = r->cells + i * n->versions;
	at = find_version(cells, r->counts[i], version);
	if (!at && r->counts[i] < n->versions) {
		cells[r->counts[i]++] = (struct release){version, uploaded_ns};
		return;
	}
	if (!at)
		at = find_oldest(cells, r->counts[i]);
	if (uploaded_ns > at->newest_ns)
		*at = (struct release){version, uploaded_ns};
}

bool release_names_is_old(const struct release_names *n, const struct release_key *key,
			  uint64_t uploaded_ns)
{
	const struct release_round *r = &n->judged;
	const uint64_t name = intern_digest(key->name, key->name_len);
	const uint32_t i = intern_find(&r->names, &name, sizeof(name));
	struct release *cells;

	if (i == INTERN_FULL || r->counts[i] < n->versions)
		return false;
	cells = r->cells + i * n->versions;
	return !find_version(cells, n->versions, intern_digest(key->version, key->version_len)) &&
	       uploaded_ns < find_oldest(cells, n->versions)->newest_ns;
}

void release_names_turn(struct release_names *n, bool is_complete)
{
	struct release_round *const r = &n->collected;
	const struct release_round was = n->judged;
	unsigned int bits = r->bits;
	uint64_t part = r->part;

	if (is_complete) {
		n->judged = *r;
		*r = was;
		part = (part + 1) & ((UINT64_C(1) << bits) - 1);
		if (!part && bits)
			bits--; /* there may be fewer names by now */
	}
	intern_reset(&r->names);
	r->bits = bits;
	r->part = part & ((UINT64_C(1) << bits) - 1);
}
