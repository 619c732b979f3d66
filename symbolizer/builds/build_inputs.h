/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BUILD_INPUTS_H
#define RAWSTACK_BUILD_INPUTS_H
/*
 * Chooses the files of a build: the uploaded one, and those kept for it. Files of one id come in
 * any order, so each is checked against those that are there.
 */
#include "kept_files.h"
#include "rawstack/v1/binaries.pb-c.h"
#include "store.h"
#include "table_build.h"
#include "table_inspect.h"

/* The role of an ELF file by its own headers, which are more reliable than what the client
 * declared. */
enum kept_role build_role(const struct image_summary *s, Rawstack__V1__BinaryKind declared);

struct build_inputs {
	int input, executable; /* for struct table_request; -1: none */
	struct image_summary input_summary, executable_summary;
	struct table_companion companions[2];
	size_t companion_count;
	int owned[4]; /* descriptors that are closed with it */
	size_t owned_count;
};

/* An uploaded file. */
struct build_input {
	enum kept_role role;                 /* KEPT_DEBUG or KEPT_EXECUTABLE */
	int fd;                              /* -1: no file was uploaded */
	const struct image_summary *summary; /* with fd */
};

/*
 * Gathers the uploaded file and the kept files that belong to it; a worker (worker_path) examines
 * those. Returns ERR_NOT_FOUND if there is none. Companions that cannot be read are left out.
 */
int build_inputs_gather(struct build_inputs *in, struct kept_files *kept, const char *worker_path,
			const struct build_id *id, const struct build_input *came,
			struct err *err) _must_check_;
/* Computes the htlhashes of the input files that hold code and have this build id. */
void build_inputs_id_aliases(const struct build_inputs *in, const struct build_id *id,
			     struct store_id_aliases *ret);

void build_inputs_done(struct build_inputs *in);

#endif
