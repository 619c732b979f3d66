/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FLAME_TREE_H
#define RAWSTACK_FLAME_TREE_H
/*
 * The call tree of a profile, outermost caller first, as the flame graph shows it. A frame is a
 * function (function_set.h) in a module, inlined or not. The same frame under the same caller is
 * one node. Threads, if labels name them, are the first level. Nothing recurses, because the input
 * decides the depth.
 */
#include "function_set.h"

enum flame_kind {
	FLAME_INLINED = 1 << 0,
	FLAME_KERNEL = 1 << 1,
	FLAME_UNNAMED = 1 << 2,
	FLAME_THREAD = 1 << 3,
	FLAME_REST = 1 << 4, /* all nodes that are too small to show, as one */
};

struct flame_frame {
	uint32_t name;     /* string of the profile */
	uint32_t function; /* of the set; PROFILE_NONE: no function */
	uint32_t module;   /* of the profile, or PROFILE_NONE */
	uint32_t kind;     /* enum flame_kind */
};

struct flame_node {
	uint32_t parent, first_child, next_sibling; /* nodes; the root is 0, PROFILE_NONE: none */
	uint32_t frame;                             /* the root's is PROFILE_NONE */
	uint32_t file, line; /* string of the profile, and line, of the line with most of the
				weight; 0: not known */
	int64_t line_weight; /* used while building */
	int64_t weight;      /* of the samples in the node and below it; never negative */
};

struct flame_tree {
	const struct profile *p;
	struct function_set functions;
	struct intern frames;   /* struct flame_frame */
	struct intern children; /* (parent, frame) -> node - 1 */
	struct flame_node *nodes;
	size_t node_count, nodes_cap;
	int64_t cutoff;      /* lighter nodes are not shown */
	size_t pruned_count; /* number of such nodes */
};

/* Makes the tree. `value` is a row of value_types. Negative values, of a difference, count as 0.
 * Returns ERR_LIMIT if the tree exceeds memory or limits. `p` must outlive the tree. */
int flame_tree_make(struct flame_tree *t, const struct profile *p, uint32_t value,
		    struct err *err) _must_check_;
/* Releases the tree, which may be all zeros. */
void flame_tree_done(struct flame_tree *t);

/* Sets the cutoff so that at most node_max nodes are shown, then orders siblings by falling weight,
 * and equal ones by frame, in order of first sight. */
int flame_tree_arrange(struct flame_tree *t, size_t node_max, struct err *err) _must_check_;

struct flame_frame flame_tree_frame(const struct flame_tree *t, uint32_t frame);

#endif
