/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CALL_GRAPH_H
#define RAWSTACK_CALL_GRAPH_H
/*
 * The functions of a profile (function_set.h) with their callers and callees, for `peek`. Inlined
 * calls are calls. A sample counts once for a function and once for a call, however often recursion
 * repeats them.
 */
#include "function_set.h"

struct call_node {
	uint32_t name;            /* string of the profile */
	struct profile_text home; /* function_set_home(); borrowed from the profile */
	bool is_shared;           /* another function has the same name */
	int64_t self, cum;
};

/* A call. The caller is PROFILE_NONE for an outermost function, the callee for an innermost one. */
struct call_edge {
	uint32_t caller, callee; /* nodes, or PROFILE_NONE */
	int64_t weight;
};

struct call_graph {
	struct intern functions; /* function of the set -> node */
	struct intern pairs;
	struct call_node *nodes;
	struct call_edge *edges;
	uint32_t *seen_node, *seen_edge; /* the last sample that counted, plus 1 */
	size_t nodes_cap, edges_cap, seen_node_cap, seen_edge_cap;
	int64_t total;
};

int call_graph_make(struct call_graph *g, const struct profile *p, uint32_t value,
		    struct err *err) _must_check_;
void call_graph_done(struct call_graph *g);

#endif
