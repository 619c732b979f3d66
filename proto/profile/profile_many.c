/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "profile.h"
#include "profile_priv.h"

/* Keys that are made at a time, on the stack. */
#define KEYS 64

static void add_keys(struct profile *p, struct intern *table, const struct intern_key *keys,
		     size_t count, uint32_t *ret_ids)
{
	if (p->failed) {
		memset(ret_ids, 0xff, count * sizeof(*ret_ids));
		return;
	}
	intern_add_many(table, keys, count, ret_ids);
	for (size_t i = 0; i < count; i++)
		if (ret_ids[i] == INTERN_FULL) {
			p->no_memory |= table->no_memory;
			p->failed = true;
		}
}

void profile_add_strings(struct profile *p, const struct intern_key *texts, size_t count,
			 uint32_t *ret_ids)
{
	for (size_t i = 0; i < count; i++)
		if (texts[i].len > LIMIT_PROFILE_STRING)
			profile_fail(p, PROFILE_LONG_NAME);
	add_keys(p, &p->strings, texts, count, ret_ids);
}

void profile_add_functions(struct profile *p, const struct profile_function *functions,
			   size_t count, uint32_t *ret_ids)
{
	struct intern_key keys[KEYS];

	while (count) {
		size_t n = count < KEYS ? count : KEYS;

		for (size_t i = 0; i < n; i++)
			keys[i] = (struct intern_key){&functions[i], sizeof(functions[i])};
		add_keys(p, &p->functions, keys, n, ret_ids);
		functions += n;
		ret_ids += n;
		count -= n;
	}
}

/* Encodes as many locations as fit `space`, which is large enough for one unless it is very deep.
 * Returns their number. */
static size_t location_keys(const struct profile_location *locations, size_t count, uint64_t *space,
			    size_t space_len, struct intern_key *keys)
{
	uint8_t *at = (uint8_t *)space;
	size_t n;

	for (n = 0; n < count && n < KEYS; n++) {
		size_t len = profile_location_len(&locations[n]);

		if (len > space_len)
			break;
		profile_location_key(&locations[n], at);
		keys[n] = (struct intern_key){at, len};
		at += len;
		space_len -= len;
	}
	return n;
}

void profile_add_locations(struct profile *p, const struct profile_location *locations,
			   size_t count, uint32_t *ret_ids)
{
	uint64_t space[512];
	struct intern_key keys[KEYS];

	while (count) {
		size_t n = location_keys(locations, count, space, sizeof(space), keys);

		if (n) {
			for (size_t i = 0; i < n; i++)
				profile_module_widen(p, &locations[i]);
			add_keys(p, &p->locations, keys, n, ret_ids);
		} else {
			ret_ids[0] = profile_add_location(p, &locations[0]);
			n = 1;
		}
		locations += n;
		ret_ids += n;
		count -= n;
	}
}

void profile_add_stacks(struct profile *p, const struct intern_key *stacks, size_t count,
			uint32_t *ret_ids)
{
	for (size_t i = 0; i < count; i++)
		if (stacks[i].len > LIMIT_PROFILE_STACK * sizeof(uint32_t))
			profile_fail(p, PROFILE_DEEP_STACK);
	add_keys(p, &p->stacks, stacks, count, ret_ids);
}

void profile_add_samples(struct profile *p, const struct profile_sample *samples,
			 const int64_t *values, size_t count)
{
	struct intern_key keys[PROFILE_SAMPLES_MAX];
	uint32_t ids[PROFILE_SAMPLES_MAX];
	size_t known = p->samples.count, n = p->value_count;

	assert(count <= PROFILE_SAMPLES_MAX);
	if (!count)
		return;
	for (size_t i = 0; i < count; i++) {
		if (samples[i].stack == PROFILE_NONE || samples[i].labels == PROFILE_NONE)
			p->failed = true;
		keys[i] = (struct intern_key){&samples[i], sizeof(samples[i])};
	}
	add_keys(p, &p->samples, keys, count, ids);
	for (size_t i = 0; n && !p->failed && i < count; i++)
		if (ids[i] < known)
			__builtin_prefetch(&p->values[ids[i] * n]);
	for (size_t i = 0; !p->failed && i < count; i++) {
		profile_put_values(p, ids[i], ids[i] == known, values + i * n);
		known += ids[i] == known;
	}
}
