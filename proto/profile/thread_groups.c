/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_groups.h"

#include <string.h>

struct key {
	int64_t pid, tid;
	uint32_t name, pad;
};

static struct key thread_key_of(const struct profile *p, uint32_t sample)
{
	struct key k = {.pid = -1, .tid = -1};
	const struct profile_label *labels;
	size_t count;

	labels = profile_labels(p, profile_sample(p, sample).labels, &count);
	for (size_t i = 0; i < count; i++) {
		struct profile_text t = profile_text(p, labels[i].key);

		if (t.len == 6 && memcmp(t.p, "thread", 6) == 0)
			k.name = labels[i].text;
		else if (t.len == 3 && memcmp(t.p, "pid", 3) == 0)
			k.pid = labels[i].num;
		else if (t.len == 3 && memcmp(t.p, "tid", 3) == 0)
			k.tid = labels[i].num;
	}
	return k;
}

void thread_groups_done(struct thread_groups *g)
{
	free(g->groups);
	free(g->samples);
	*g = (struct thread_groups){0};
}

/* Fills groups from keys; `of` is the group of each sample. */
static bool arrange_threads(struct thread_groups *g, const struct profile *p,
			    const struct intern *keys, const uint32_t *of)
{
	uint32_t *next;

	g->count = keys->count;
	g->groups = calloc(g->count + 1, sizeof(*g->groups));
	g->samples = malloc((p->samples.count + 1) * sizeof(*g->samples));
	if (!g->groups || !g->samples)
		return false;
	for (size_t i = 0; i < p->samples.count; i++)
		g->groups[of[i]].count++;
	next = g->samples;
	for (uint32_t i = 0; i < g->count; i++) {
		size_t len;
		const struct key *k = intern_get(keys, i, &len);

		g->groups[i].name = profile_text(p, k->name);
		g->groups[i].pid = k->pid;
		g->groups[i].tid = k->tid;
		g->groups[i].samples = next;
		next += g->groups[i].count;
		g->groups[i].count = 0;
	}
	for (uint32_t i = 0; i < p->samples.count; i++) {
		struct thread_group *group = &g->groups[of[i]];

		g->samples[(size_t)(group->samples - g->samples) + group->count++] = i;
	}
	return true;
}

int thread_groups_make(struct thread_groups *g, const struct profile *p, struct err *err)
{
	struct intern keys = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES);
	_cleanup_(freep) uint32_t *of = malloc((p->samples.count + 1) * sizeof(*of));
	bool ok = of != NULL;

	*g = (struct thread_groups){0};
	for (uint32_t i = 0; ok && i < p->samples.count; i++) {
		struct key k = thread_key_of(p, i);

		of[i] = intern_add(&keys, &k, sizeof(k), NULL);
		ok = of[i] != INTERN_FULL;
	}
	ok = ok && arrange_threads(g, p, &keys, of);
	intern_done(&keys);
	if (ok)
		return 0;
	thread_groups_done(g);
	return err_no_memory(err);
}
