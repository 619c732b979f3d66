/* SPDX-License-Identifier: Apache-2.0 */
#include "call_graph.h"

#include <stdlib.h>

struct pair {
	uint32_t caller, callee;
};

struct maker {
	struct call_graph *g;
	struct function_set set;
};

static void call_graph_maker_done(struct maker *m)
{
	function_set_done(&m->set);
}

void call_graph_done(struct call_graph *g)
{
	intern_done(&g->functions);
	intern_done(&g->pairs);
	free(g->nodes);
	free(g->edges);
	free(g->seen_node);
	free(g->seen_edge);
	*g = (struct call_graph){0};
}

static uint32_t node_of_line(struct maker *m, const struct profile_location *l, size_t line)
{
	struct call_graph *g = m->g;
	const uint32_t function = function_set_of(&m->set, l->lines[line].function, l->module);
	bool fresh;
	uint32_t id = intern_add(&g->functions, &function, sizeof(function), &fresh);

	if (id == INTERN_FULL ||
	    !GROW(g->nodes, &g->nodes_cap, (size_t)id + 1, LIMIT_PROFILE_ENTRIES) ||
	    !GROW(g->seen_node, &g->seen_node_cap, (size_t)id + 1, LIMIT_PROFILE_ENTRIES))
		return PROFILE_NONE;
	if (fresh) {
		g->nodes[id] = (struct call_node){
			.name = profile_function(m->set.p, l->lines[line].function).name,
			.home = function_set_home(&m->set, function),
		};
		g->seen_node[id] = 0;
	}
	return id;
}

static bool count_edge(struct call_graph *g, uint32_t sample, uint32_t caller, uint32_t callee,
		       int64_t weight)
{
	struct pair key = {caller, callee};
	bool fresh;
	uint32_t id = intern_add(&g->pairs, &key, sizeof(key), &fresh);

	if (id == INTERN_FULL ||
	    !GROW(g->edges, &g->edges_cap, (size_t)id + 1, LIMIT_PROFILE_ENTRIES) ||
	    !GROW(g->seen_edge, &g->seen_edge_cap, (size_t)id + 1, LIMIT_PROFILE_ENTRIES))
		return false;
	if (fresh) {
		g->edges[id] = (struct call_edge){caller, callee, 0};
		g->seen_edge[id] = 0;
	}
	if (g->seen_edge[id] != sample + 1)
		add_capped(&g->edges[id].weight, weight);
	g->seen_edge[id] = sample + 1;
	return true;
}

/* Counts a frame that calls *callee, and stores it there as the callee of the next frame. */
static bool count_graph_frame(struct call_graph *g, uint32_t sample, uint32_t node,
			      uint32_t *callee, int64_t weight)
{
	if (node == PROFILE_NONE)
		return false;
	if (*callee == PROFILE_NONE)
		add_capped(&g->nodes[node].self, weight);
	if (g->seen_node[node] != sample + 1)
		add_capped(&g->nodes[node].cum, weight);
	g->seen_node[node] = sample + 1;
	if (!count_edge(g, sample, node, *callee, weight))
		return false;
	*callee = node;
	return true;
}

static bool count_graph_sample(struct maker *m, uint32_t sample, int64_t weight)
{
	struct call_graph *g = m->g;
	const struct profile *p = m->set.p;
	const uint32_t *locations;
	uint32_t callee = PROFILE_NONE;
	size_t count;

	locations = profile_stack(p, profile_sample(p, sample).stack, &count);
	add_capped(&g->total, weight);
	for (size_t i = 0; i < count; i++) {
		struct profile_location l = profile_location(p, locations[i]);

		for (size_t k = 0; k < l.line_count; k++)
			if (!count_graph_frame(g, sample, node_of_line(m, &l, k), &callee, weight))
				return false;
	}
	return callee == PROFILE_NONE || count_edge(g, sample, PROFILE_NONE, callee, weight);
}

/* Marks the nodes whose name another node has too. */
static bool mark_shared(struct call_graph *g)
{
	_cleanup_(intern_done) struct intern names =
		INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES);
	_cleanup_(freep) uint32_t *first = malloc((g->functions.count + 1) * sizeof(*first));

	for (uint32_t i = 0; first && i < g->functions.count; i++) {
		bool fresh;
		uint32_t id = intern_add(&names, &g->nodes[i].name, sizeof(uint32_t), &fresh);

		if (id == INTERN_FULL)
			return false;
		if (fresh)
			first[id] = i;
		else
			g->nodes[i].is_shared = g->nodes[first[id]].is_shared = true;
	}
	return first != NULL;
}

int call_graph_make(struct call_graph *g, const struct profile *p, uint32_t value, struct err *err)
{
	static const struct intern table = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES);
	_cleanup_(call_graph_maker_done) struct maker m = {.g = g};
	bool ok = true, no_memory;

	*g = (struct call_graph){.functions = table, .pairs = table};
	if (function_set_make(&m.set, p, err))
		return err->code;
	for (uint32_t i = 0; ok && i < p->samples.count; i++)
		ok = count_graph_sample(&m, i, profile_values(p, i)[value]);
	if (ok && mark_shared(g))
		return 0;
	no_memory = g->functions.count < LIMIT_PROFILE_ENTRIES &&
		    g->pairs.count < LIMIT_PROFILE_ENTRIES;
	call_graph_done(g);
	return err_full(err, no_memory, "call graph: more than %llu functions or calls",
			(unsigned long long)LIMIT_PROFILE_ENTRIES);
}
