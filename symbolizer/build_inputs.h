/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BUILD_INPUTS_H
#define RAWSTACK_BUILD_INPUTS_H
/*
 * Which files take part in a build: the one that came, and those that were kept for it. Files of
 * one id come in any order, so each is held against what is there.
 */
#include "kept_files.h"
#include "rawstack/v1/binaries.pb-c.h"
#include "store.h"
#include "table_build.h"

/* What an ELF file is, by its own headers, which say more than the client did. */
enum kept_role build_role(int fd, Rawstack__V1__BinaryKind declared);

struct build_inputs {
	int input, stripped; /* for struct table_request; -1: none */
	struct table_companion companions[2];
	size_t companion_count;
	int owned[4]; /* descriptors that are closed with it */
	size_t owned_count;
};

/*
 * fd, of this role (KEPT_DEBUG or KEPT_EXECUTABLE), and what belongs to it; fd -1: kept files only.
 * ERR_NOT_FOUND when there is none. Companions that cannot be read are left out.
 */
int build_inputs_gather(struct build_inputs *in, struct kept_files *kept, const struct build_id *id,
			enum kept_role role, int fd, struct err *err) _must_check_;
/* The hashes by which the files with code among them are known, if the id is theirs. */
void build_inputs_aliases(const struct build_inputs *in, const struct build_id *id,
			  struct store_aliases *ret);

void build_inputs_done(struct build_inputs *in);

/* The file that `fd` refers to as its dwz alternate: 1 with its id, or 0. */
int build_inputs_alt(int fd, struct build_id *ret);

#endif
