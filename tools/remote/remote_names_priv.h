/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_REMOTE_NAMES_PRIV_H
#define RAWSTACK_REMOTE_NAMES_PRIV_H
/* What remote_names.c, which knows profiles, and remote_names_ask.c, which knows messages, share.
 */
#include "build_id.h"
#include "file_segments.h"
#include "intern.h"
#include "remote.h"
#include "remote_names.h"

/* A place as it is asked for. Keys are compared as bytes: no padding. */
struct place {
	uint64_t address;
	uint32_t binary;  /* of `binaries` */
	uint32_t section; /* string of `found`, in kernel modules */
	uint32_t kind;    /* Rawstack__V1__LocationKind */
	uint32_t mode;    /* Rawstack__V1__AddressMode */
};

_Static_assert(sizeof(struct place) == 24, "key without padding");

struct binary {
	struct build_id id;            /* kind NONE: no id that a service could know */
	uint32_t row;                  /* of the request being made, or PROFILE_NONE */
	struct file_segments segments; /* that a spool tells, the first that are known */
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
	struct profile found; /* names and lines */
	uint64_t *weights;    /* of places not asked yet, by place - asked */
	size_t weights_cap;
	uint32_t *paths; /* likewise: where a host had its binary, a string of `found` */
	size_t paths_cap;
	struct arena arena;
};

static inline const struct place *place_at(const struct remote_names *n, size_t id)
{
	return intern_get(&n->places, (uint32_t)id, NULL);
}

static inline int remote_names_full(struct err *err)
{
	return err_set(err, ERR_MEMORY, "names: out of memory");
}

/*
 * Asks for the first of `count` places, as many as one request holds, and takes what is answered.
 * They are those behind n->asked that have no answer. *ids and *count are what
 * is left.
 */
int remote_names_ask(struct remote_names *n, uint32_t **ids, size_t *count, struct err *err);

#endif
