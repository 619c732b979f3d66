/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_REMOTE_NAMES_PRIV_H
#define RAWSTACK_REMOTE_NAMES_PRIV_H
/* Shared by remote_names.c, which knows profiles, and remote_names_ask.c, which knows messages. */
#include "build_id.h"
#include "file_segments.h"
#include "intern.h"
#include "remote.h"
#include "remote_names.h"

/* A place to ask for. It is a key that is compared as bytes, so it has no padding. */
struct place {
	uint64_t address;
	uint32_t binary;  /* index of `binaries` */
	uint32_t section; /* for kernel modules: string of `found` */
	uint32_t kind;    /* Rawstack__V1__LocationKind */
	uint32_t mode;    /* Rawstack__V1__AddressMode */
};

_Static_assert(sizeof(struct place) == 24, "key without padding");

struct binary {
	struct build_id id;            /* kind NONE: an id that no service could know */
	uint32_t row;                  /* row of the present request, or PROFILE_NONE */
	struct file_segments segments; /* from a spool, the first that are known */
	const char *status;
	char *reason;
};

struct remote_names {
	struct name_source source;
	struct rpc_client *client;
	struct intern binary_ids; /* build ids as profiles have them -> binaries */
	struct binary *binaries;
	size_t binaries_cap;
	struct intern places;
	uint32_t *answers; /* for each place: location of `found`, PROFILE_NONE: no name */
	size_t answers_cap, asked;
	struct profile found; /* the answers: names and lines */
	uint64_t *weights;    /* of places not asked for yet, by place - asked */
	size_t weights_cap;
	uint32_t *paths; /* likewise: the binary's path on a host, a string of `found` */
	size_t paths_cap;
	struct arena arena;
};

static inline const struct place *place_at(const struct remote_names *n, size_t id)
{
	return intern_get(&n->places, (uint32_t)id, NULL);
}

/*
 * Asks for the first of `count` places, as many as fit one request, and takes the answers. The
 * places are those behind n->asked that have no answer. *ids and *count become the rest.
 */
int remote_names_ask(struct remote_names *n, uint32_t **ids, size_t *count, struct err *err);

#endif
