/* SPDX-License-Identifier: Apache-2.0 */
#include "busy.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct busy *list;

void busy_add(struct busy *b, const char *name)
{
	*b = (struct busy){.name = name};
	pthread_mutex_lock(&lock);
	b->next = list;
	list = b;
	pthread_mutex_unlock(&lock);
}

void busy_remove(struct busy *b)
{
	struct busy **at = &list;

	pthread_mutex_lock(&lock);
	while (*at && *at != b)
		at = &(*at)->next;
	if (*at)
		*at = b->next;
	pthread_mutex_unlock(&lock);
}

/* Returns how long the thread has been at its present work; 0 if it waits. */
static uint64_t busy_for(const struct busy *b, uint64_t now)
{
	uint64_t since = atomic_load_explicit(&b->since_ns, memory_order_acquire);

	return since && now > since ? now - since : 0;
}

static bool is_whole_group_stuck(const char *name, uint64_t patience_ns, uint64_t now)
{
	for (const struct busy *b = list; b; b = b->next)
		if (!strcmp(b->name, name) && busy_for(b, now) < patience_ns)
			return false;
	return true;
}

static bool is_first_of_group(const struct busy *of)
{
	for (const struct busy *b = list; b != of; b = b->next)
		if (!strcmp(b->name, of->name))
			return false;
	return true;
}

void busy_look(uint64_t patience_ns, void (*tell)(const char *name, const char *what, uint64_t ns),
	       struct busy_stuck *ret)
{
	uint64_t now = io_mono_ns();

	*ret = (struct busy_stuck){0};
	pthread_mutex_lock(&lock);
	for (struct busy *b = list; b; b = b->next) {
		const char *what = atomic_load_explicit(&b->what, memory_order_relaxed);
		uint64_t ns = busy_for(b, now), since = atomic_load(&b->since_ns);

		if (is_first_of_group(b))
			ret->groups += is_whole_group_stuck(b->name, patience_ns, now);
		if (ns < patience_ns)
			continue;
		ret->threads++;
		ret->longest_ns = ns > ret->longest_ns ? ns : ret->longest_ns;
		if (tell && since && atomic_exchange(&b->told_ns, since) != since)
			tell(b->name, what ? what : "?", ns);
	}
	pthread_mutex_unlock(&lock);
}
