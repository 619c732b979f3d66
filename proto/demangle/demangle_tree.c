/* SPDX-License-Identifier: Apache-2.0 */
#include <libiberty/demangle.h>
#include <string.h>

#include "demangle_bound.h"

/*
 * Parses a name as libiberty does and measures what it would print. Nodes are shared where the name
 * repeats something, so each is visited once, and a few nodes can stand for 2^n. The nodes are in
 * one array, twice as many as the name has bytes.
 */
struct tree {
	struct demangle_component *nodes;
	uint32_t *weights; /* nodes below, shared ones counted each time; 0: not seen yet */
	uint32_t depth;
	bool is_too_deep;
	struct demangle_shape *shape;
};

/* Levels of a parsed name. A hostile name nests without end, and libiberty prints no deeper. */
#define LIMIT_DEMANGLED_DEPTH 2048

static uint32_t tree_weigh(struct tree *t, struct demangle_component *c);

static uint32_t weight_sum(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* Returns the child nodes. A node that is a leaf, or has other members, has none. */
static void tree_children(struct demangle_component *c, struct demangle_component *ret[2])
{
	ret[0] = ret[1] = NULL;
	switch (c->type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_UNNAMED_TYPE:
		return;
	case DEMANGLE_COMPONENT_FIXED_TYPE:
		ret[0] = c->u.s_fixed.length;
		return;
	case DEMANGLE_COMPONENT_CTOR:
		ret[0] = c->u.s_ctor.name;
		return;
	case DEMANGLE_COMPONENT_DTOR:
		ret[0] = c->u.s_dtor.name;
		return;
	case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
		ret[0] = c->u.s_extended_operator.name;
		return;
	case DEMANGLE_COMPONENT_LAMBDA:
	case DEMANGLE_COMPONENT_DEFAULT_ARG:
		ret[0] = c->u.s_unary_num.sub;
		return;
	default:
		ret[0] = c->u.s_binary.left;
		ret[1] = c->u.s_binary.right;
	}
}

static bool is_operator(const struct demangle_component *c, const char *code)
{
	/* The struct behind op is libiberty's own; its first member is the code. */
	return c && c->type == DEMANGLE_COMPONENT_OPERATOR &&
	       strncmp(*(const char *const *)(const void *)c->u.s_operator.op, code,
		       strlen(code)) == 0;
}

/* Returns whether a node is "sizeof...(pack)". */
static bool is_pack_length(const struct demangle_component *c)
{
	return c->type == DEMANGLE_COMPONENT_UNARY &&
	       (is_operator(c->u.s_binary.left, "sZ") || is_operator(c->u.s_binary.left, "sP"));
}

static bool is_pack_in_pack(const struct demangle_component *c)
{
	const struct demangle_component *pack = c->u.s_binary.left;

	if (!pack || pack->type != DEMANGLE_COMPONENT_TEMPLATE_ARGLIST)
		return false;
	for (; pack; pack = pack->u.s_binary.right)
		if (pack->u.s_binary.left &&
		    pack->u.s_binary.left->type == DEMANGLE_COMPONENT_TEMPLATE_ARGLIST)
			return true;
	return false;
}

/* Returns whether a lambda has several own parameters: libiberty then takes names around the lambda
 * for them. */
static bool is_wide_head(const struct demangle_component *lambda)
{
	const struct demangle_component *head = lambda->u.s_unary_num.sub;

	return head && head->type == DEMANGLE_COMPONENT_TEMPLATE_HEAD && head->u.s_binary.left &&
	       head->u.s_binary.left->u.s_binary.right;
}

static bool is_parameter(const struct demangle_component *c)
{
	return c && c->type == DEMANGLE_COMPONENT_TEMPLATE_PARAM;
}

static void tree_note(struct tree *t, const struct demangle_component *c)
{
	struct demangle_shape *s = t->shape;

	switch (c->type) {
	case DEMANGLE_COMPONENT_TEMPLATE:
		s->templates++;
		return;
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
		s->parameters++;
		return;
	case DEMANGLE_COMPONENT_REFERENCE:
	case DEMANGLE_COMPONENT_RVALUE_REFERENCE:
		s->references += is_parameter(c->u.s_binary.left);
		return;
	case DEMANGLE_COMPONENT_TYPED_NAME:
	case DEMANGLE_COMPONENT_CONVERSION:
		s->scopes++;
		return;
	case DEMANGLE_COMPONENT_LAMBDA:
		s->scopes++;
		s->has_lambda = true;
		s->has_wide_lambda_head |= is_wide_head(c);
		return;
	case DEMANGLE_COMPONENT_TEMPLATE_ARGLIST:
		s->has_silent_lists |= is_pack_in_pack(c);
		return;
	case DEMANGLE_COMPONENT_UNARY:
		s->has_pack_length |= is_pack_length(c);
		return;
	case DEMANGLE_COMPONENT_BINARY:
	case DEMANGLE_COMPONENT_TRINARY:
		s->has_silent_lists |= is_operator(c->u.s_binary.left, "f");
		return;
	default:
		return;
	}
}

static uint32_t tree_weigh_children(struct tree *t, struct demangle_component *c)
{
	struct demangle_component *children[2];
	uint32_t weight;

	tree_note(t, c);
	tree_children(c, children);
	weight = weight_sum(tree_weigh(t, children[0]), tree_weigh(t, children[1]));
	/* The search for the pack of a pattern visits all nodes of the pattern. */
	if (c->type == DEMANGLE_COMPONENT_PACK_EXPANSION || is_pack_length(c))
		t->shape->pack_work += weight;
	return weight_sum(weight, 1);
}

static uint32_t tree_weigh(struct tree *t, struct demangle_component *c)
{
	uint32_t *weight;

	if (!c || t->is_too_deep)
		return 0;
	weight = &t->weights[c - t->nodes];
	if (*weight)
		return *weight;
	if (++t->depth > LIMIT_DEMANGLED_DEPTH)
		t->is_too_deep = true;
	else
		*weight = tree_weigh_children(t, c);
	t->depth--;
	return *weight;
}

bool demangle_shape_read(const char *name, int options, struct demangle_shape *s)
{
	struct tree t = {.shape = s};
	void *memory = NULL;
	struct demangle_component *root = cplus_demangle_v3_components(name, options, &memory);

	if (!root)
		return false;
	t.nodes = memory;
	t.weights = calloc(2 * strlen(name), sizeof(t.weights[0]));
	if (t.weights)
		tree_weigh(&t, root);
	/* A tree that was not visited completely may have any shape. */
	if (!t.weights || t.is_too_deep)
		s->pack_work = UINT64_MAX;
	free(t.weights);
	free(memory);
	return true;
}
