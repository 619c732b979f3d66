/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BUILD_TABLE_H
#define RAWSTACK_BUILD_TABLE_H
/*
 * One build, from a checked file to a stored table: gathers what belongs to the file, has the
 * worker make the table, validates it, and stores it if it says more than what is there. A file
 * that others need, or that needs others, is kept.
 */
#include "arena.h"
#include "build_inputs.h"
#include "store.h"

/* What a worker may take; 0: the constants of limits.h. Beneath it the size of its input counts. */
struct build_limits {
	uint64_t memory, cpu_seconds, wall_ms;
};

struct build_env {
	struct store *store;
	struct kept_files *kept;
	int temporary_fd; /* directory for unnamed files */
	const char *worker_path;
	struct build_limits limits;
	bool keep_all;    /* keep files also when a table lacks nothing */
	bool keep_failed; /* and those of which none could be made, as KEPT_FAILED */
	/* Called when a table was stored, or when the id has a failed build and no table. NULL:
	 * not.
	 */
	void (*ended)(void *ctx, const struct build_id *id, bool failed, uint64_t generation);
	void *ctx;
	pthread_mutex_t *store_lock; /* from reading what is there to storing more */
	bool *deleted; /* under store_lock: the id was deleted since this build began */
	bool *lacking; /* set when it failed for what the machine lacks at this moment */
};

struct build_job {
	struct build_id id;
	const Rawstack__V1__BeginRequest *begin; /* NULL: made again, from kept files */
	int fd;                                  /* with begin */
	struct image_summary summary;            /* of fd, for kinds that are ELF */
};

/*
 * *ret is in the arena: the report of the table that the id has now, which may be the old one when
 * the file adds nothing. ERR_UNSUPPORTED and others of table_build(): the reason stays on the id,
 * unless it has a table. ERR_DATA: the file is not what was declared. ERR_NOT_FOUND: nothing was
 * kept to make it from, or it was deleted meanwhile. An upload that ends after a delete is newer
 * than it, and is stored. Where the process has no memory or descriptor for it, or no worker can be
 * started, nothing is said of the id, and *env->lacking is set.
 */
int build_table(const struct build_env *env, const struct build_job *job, struct arena *arena,
		Rawstack__V1__BuildReport **ret, struct err *err) _must_check_;

/* Instead, when the worker could not even say what the file is: err holds why, and it stays on the
 * id as that of a build does. Returns err->code. */
int build_table_unread(const struct build_env *env, const struct build_job *job,
		       struct arena *arena, struct err *err);

/* Whether a code of what the service does itself speaks of the machine, and not of a file. */
bool build_table_is_lack(int code);

/* A build that was promised, and began LIMIT_UPLOAD_TRIES times, is not tried any more: leaves that
 * as the reason on the id, durably, and in the log once, unless the id has a table. */
void build_table_give_up(const struct build_env *env, const struct build_job *job);

#endif
