/* SPDX-License-Identifier: Apache-2.0 */
#include "flame_tree.h"

#include <stdlib.h>
#include <string.h>

static uint32_t add_tree_node(struct flame_tree *t, uint32_t parent, uint32_t frame)
{
	struct flame_node *node;

	if (!GROW(t->nodes, &t->nodes_cap, t->node_count + 1, LIMIT_PROFILE_ENTRIES))
		return PROFILE_NONE;
	node = &t->nodes[t->node_count];
	*node = (struct flame_node){
		.parent = parent,
		.first_child = PROFILE_NONE,
		.next_sibling = PROFILE_NONE,
		.frame = frame,
	};
	if (parent != PROFILE_NONE) {
		node->next_sibling = t->nodes[parent].first_child;
		t->nodes[parent].first_child = (uint32_t)t->node_count;
	}
	return (uint32_t)t->node_count++;
}

/* Takes the majority vote of Boyer and Moore: a line with more than half of the weight wins, in one
 * pass and without a table per node. */
static void vote_line(struct flame_node *node, uint32_t file, uint32_t line, int64_t weight)
{
	if (line == node->line && file == node->file) {
		add_capped(&node->line_weight, weight);
	} else if (weight > node->line_weight) {
		node->file = file;
		node->line = line;
		node->line_weight = weight - node->line_weight;
	} else {
		node->line_weight -= weight;
	}
}

/* Moves *at to its child for this frame. Returns false when the tree is full. */
static bool descend_to(struct flame_tree *t, uint32_t *at, const struct flame_frame *frame,
		       uint32_t file, uint32_t line, int64_t weight)
{
	uint32_t id = intern_add(&t->frames, frame, sizeof(*frame), NULL);
	uint32_t key[2] = {*at, id}, child;
	bool fresh;

	if (id == INTERN_FULL)
		return false;
	child = intern_add(&t->children, key, sizeof(key), &fresh);
	if (child == INTERN_FULL || (fresh && add_tree_node(t, *at, id) == PROFILE_NONE))
		return false;
	*at = child + 1; /* nodes are made in the order of `children`, after the root */
	add_capped(&t->nodes[*at].weight, weight);
	vote_line(&t->nodes[*at], file, line, weight);
	return true;
}

/* Returns the frame of a location without lines, which has the name of its module or none. */
static struct flame_frame frame_without_line(const struct flame_tree *t, uint32_t module)
{
	uint32_t kind = FLAME_UNNAMED;

	if (profile_is_kernel(t->p, module))
		kind |= FLAME_KERNEL;
	return (struct flame_frame){
		.name = module == PROFILE_NONE ? 0 : t->p->modules[module].path,
		.function = PROFILE_NONE,
		.module = module,
		.kind = kind,
	};
}

static bool add_location(struct flame_tree *t, uint32_t *at, uint32_t location, int64_t weight)
{
	struct profile_location l = profile_location(t->p, location);
	struct flame_frame frame = frame_without_line(t, l.module);
	uint32_t kernel = frame.kind & FLAME_KERNEL;

	if (!l.line_count)
		return descend_to(t, at, &frame, 0, 0, weight);
	for (size_t i = l.line_count; i-- > 0;) {
		struct profile_function f = profile_function(t->p, l.lines[i].function);

		frame = (struct flame_frame){
			f.name, function_set_of(&t->functions, l.lines[i].function, l.module),
			l.module, kernel};
		if (i + 1 < l.line_count)
			frame.kind |= FLAME_INLINED;
		if (profile_is_placeholder(profile_text(t->p, f.name)))
			frame.kind |= FLAME_UNNAMED;
		if (!descend_to(t, at, &frame, f.file, l.lines[i].line, weight))
			return false;
	}
	return true;
}

static uint32_t thread_of_labels(const struct profile *p, uint32_t set)
{
	const struct profile_label *labels;
	struct profile_text key;
	size_t count;

	labels = profile_labels(p, set, &count);
	for (size_t i = 0; i < count; i++) {
		key = profile_text(p, labels[i].key);
		if (labels[i].text && key.len == 6 && memcmp(key.p, "thread", 6) == 0)
			return labels[i].text;
	}
	return 0;
}

static bool add_sample(struct flame_tree *t, uint32_t sample, int64_t weight)
{
	struct profile_sample s = profile_sample(t->p, sample);
	struct flame_frame thread = {
		.function = PROFILE_NONE, .module = PROFILE_NONE, .kind = FLAME_THREAD};
	const uint32_t *locations;
	uint32_t at = 0;
	size_t count;

	if (weight <= 0)
		return true;
	add_capped(&t->nodes[0].weight, weight);
	thread.name = thread_of_labels(t->p, s.labels);
	if (thread.name && !descend_to(t, &at, &thread, 0, 0, weight))
		return false;
	locations = profile_stack(t->p, s.stack, &count);
	while (count-- > 0)
		if (!add_location(t, &at, locations[count], weight))
			return false;
	return true;
}

int flame_tree_make(struct flame_tree *t, const struct profile *p, uint32_t value, struct err *err)
{
	static const struct intern table = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES);
	bool ok, no_memory;

	*t = (struct flame_tree){.p = p, .frames = table, .children = table};
	if (function_set_make(&t->functions, p, err))
		return err->code;
	ok = add_tree_node(t, PROFILE_NONE, PROFILE_NONE) == 0;
	for (uint32_t i = 0; ok && i < p->samples.count; i++)
		ok = add_sample(t, i, profile_values(p, i)[value]);
	if (ok)
		return 0;
	/* Each frame and each child has a node, so the limit of nodes is met before any other. */
	no_memory = t->node_count < LIMIT_PROFILE_ENTRIES;
	flame_tree_done(t);
	return err_full(err, no_memory, "flame graph: more than %llu nodes",
			(unsigned long long)LIMIT_PROFILE_ENTRIES);
}

void flame_tree_done(struct flame_tree *t)
{
	function_set_done(&t->functions);
	intern_done(&t->frames);
	intern_done(&t->children);
	free(t->nodes);
	t->nodes = NULL;
	t->node_count = t->nodes_cap = 0;
}

struct flame_frame flame_tree_frame(const struct flame_tree *t, uint32_t frame)
{
	struct flame_frame f;

	memcpy(&f, intern_get(&t->frames, frame, NULL), sizeof(f));
	return f;
}

/* --- what is shown --------------------------------------------------------------------------- */

static int by_falling_weight(const void *x, const void *y)
{
	const int64_t *a = x, *b = y;

	return *a < *b ? 1 : *a > *b ? -1 : 0;
}

/* A parent weighs at least what its child does, so a cutoff by weight never hides the parent of
 * what it shows. Ties at the cutoff are all hidden: the result does not depend on their order. */
static int choose_cutoff(struct flame_tree *t, size_t node_max, struct err *err)
{
	_cleanup_(freep) int64_t *weights = NULL;

	t->cutoff = 0;
	t->pruned_count = 0;
	if (t->node_count <= node_max)
		return 0;
	weights = malloc(t->node_count * sizeof(*weights));
	if (!weights)
		return err_no_memory(err);
	for (size_t i = 0; i < t->node_count; i++)
		weights[i] = t->nodes[i].weight;
	qsort(weights, t->node_count, sizeof(*weights), by_falling_weight);
	t->cutoff = weights[node_max] == INT64_MAX ? INT64_MAX : weights[node_max] + 1;
	for (size_t i = 0; i < t->node_count; i++)
		t->pruned_count += t->nodes[i].weight < t->cutoff;
	return 0;
}

struct sibling {
	int64_t weight;
	uint32_t frame, node;
};

static int by_weight_then_frame(const void *x, const void *y)
{
	const struct sibling *a = x, *b = y;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

int flame_tree_arrange(struct flame_tree *t, size_t node_max, struct err *err)
{
	_cleanup_(freep) struct sibling *siblings = NULL;
	size_t cap = 0;
	int rc = choose_cutoff(t, node_max, err);

	for (size_t i = 0; !rc && i < t->node_count; i++) {
		uint32_t *link = &t->nodes[i].first_child;
		size_t count = 0;

		for (uint32_t c = *link; c != PROFILE_NONE; c = t->nodes[c].next_sibling) {
			if (!GROW(siblings, &cap, count + 1, LIMIT_PROFILE_ENTRIES))
				return err_no_memory(err);
			siblings[count++] =
				(struct sibling){t->nodes[c].weight, t->nodes[c].frame, c};
		}
		if (count < 2)
			continue;
		qsort(siblings, count, sizeof(*siblings), by_weight_then_frame);
		for (size_t k = 0; k < count; k++) {
			*link = siblings[k].node;
			link = &t->nodes[*link].next_sibling;
		}
		*link = PROFILE_NONE;
	}
	return rc;
}
