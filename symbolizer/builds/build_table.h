/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BUILD_TABLE_H
#define RAWSTACK_BUILD_TABLE_H
/*
 * One build, from a checked file to a stored table. It gathers the files that belong together, runs
 * the worker, validates the table, and stores it if it says more than the old one. A file that
 * others need, or that needs others, is kept.
 */
#include "arena.h"
#include "build_inputs.h"
#include "store.h"

/* The most that a worker may use; 0 stands for the constants of limits.h. A small input lowers it
 * further. */
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
	bool keep_failed; /* keep files that made no table, as KEPT_FAILED */
	/* Called when a table was stored, or when the id has a failed build and no table. May be
	 * NULL. */
	void (*ended)(void *ctx, const struct build_id *id, bool failed, uint64_t generation);
	void *ctx;
	pthread_mutex_t *store_lock; /* held from reading a record until its successor is stored */
	bool *deleted; /* under store_lock: the id was deleted since this build began */
	bool *lacking; /* set when the build failed because the machine lacks something now */
};

struct build_job {
	struct build_id id;
	const Rawstack__V1__BeginRequest *begin; /* NULL: a rebuild from kept files */
	int fd;                                  /* with begin */
	struct image_summary summary;            /* summary of fd, for kinds that are ELF */
};

/*
 * Builds a table and stores it. *ret, in the arena, is the report of the table that the id has now,
 * which may be the old one if the file adds nothing. Returns ERR_DATA if the file is not what was
 * declared, ERR_NOT_FOUND if no file was kept for a rebuild or the id was deleted meanwhile, or
 * ERR_UNSUPPORTED and other errors of table_build(), for which the reason stays on the id, unless
 * it has a table. An upload that ends after a delete is newer, and is stored. If the process has no
 * memory or descriptor, or no worker can be started, nothing is stored and *env->lacking is set.
 */
int build_table(const struct build_env *env, const struct build_job *job, struct arena *arena,
		Rawstack__V1__BuildReport **ret, struct err *err) _must_check_;

/* Is called instead if the worker could not identify the file. err holds the reason, which stays on
 * the id like that of a build. Returns err->code. */
int build_table_unread(const struct build_env *env, const struct build_job *job,
		       struct arena *arena, struct err *err);

/* Returns whether an error of the service itself is due to the machine and not to a file. */
bool build_table_is_lack(int code);

/* Gives up a promised build that began LIMIT_UPLOAD_TRIES times and never ended: stores that as the
 * reason on the id, durably, and logs it once, unless the id has a table. */
void build_table_give_up(const struct build_env *env, const struct build_job *job);

#endif
