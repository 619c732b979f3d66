/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_BUILD_H
#define RAWSTACK_TABLE_BUILD_H
/*
 * Builds a table from an untrusted file, for the service, `rawstack-gsym-build build` and `rawstack
 * resolve -e`. A separate worker process parses the file, with limits on memory, CPU, file size and
 * wall clock, and with access to its descriptors only. Whatever it does, the caller gets a table
 * that rsym_open() has accepted, so that rsym_open_trusted() may open it, or one line of error. The
 * worker is started with posix_spawn(), so this may be called after gRPC was started. Safe from any
 * thread.
 *
 *	struct table_request req = { .input_fd = in, .output_fd = out, .executable_fd = -1 };
 *	struct build_report report;
 *
 *	if (table_build(&req, &report, &err))
 *		return err.code;
 */
#include "buf.h"
#include "build_id.h"
#include "err.h"
#include "limits.h"
#include "table_task.h"

/* The memory and CPU seconds that a worker may use: a base, plus so much for each byte or MiB of
 * its files. Real debug files, also compressed ones, need 1 to 5 bytes of memory for each of their
 * bytes and 15 ms for each MiB, but a hostile file of 19 KB can need 6 GiB, and one of 3 MB
 * minutes. */
#define LIMIT_WORKER_MEMORY_LEAST  (512 * MIB)
#define LIMIT_WORKER_MEMORY_FACTOR LIMIT(16)
#define LIMIT_WORKER_CPU_LEAST     LIMIT(20)
#define LIMIT_WORKER_CPU_PER_MIB   LIMIT(1)

struct table_companion {
	int fd; /* a regular file, kept by the caller */
	enum table_companion_kind kind;
};

struct table_request {
	int input_fd;      /* a regular file, kept by the caller; its offset is not used */
	int executable_fd; /* the executable with the segments and .dynsym of a debug file, or -1 */
	int output_fd;     /* an empty regular file or memfd, opened O_RDWR, kept by the caller */
	enum table_input input;
	/* For kallsyms, the kernel's build id. For ELF, kind NONE takes the file's own, which is
	 * compared with the executable's in this process; an id given here is compared with it by
	 * the worker. */
	struct build_id id;

	/* At most one alternate file, one package, and LIMIT_COMPANIONS files in total. Files that
	 * are damaged or do not belong to the input are ignored. */
	const struct table_companion *companions;
	size_t companion_count;
	/*
	 * If not NULL, receives the references of the input to files that were not given: first the
	 * length of .gnu_debugaltlink (32 bits; 0 if it is not needed) and its content, then for
	 * each split unit "comp_dir NUL name NUL". These are untrusted bytes, up to
	 * LIMIT_MISSING_LEN.
	 */
	struct buf *missing;
	/* Up to LIMIT_WANTED link-time addresses: the table need only answer these, and if the file
	 * has an index, units without them are not read. If the count is 0, the table is
	 * complete. */
	const uint64_t *wanted;
	size_t wanted_count;

	/* If not NULL, the waiting thread calls it a few times a second with the stage and the
	 * progress, `done` of `all`; `all` is 0 if it is unknown. */
	void (*progress)(void *ctx, enum table_stage stage, uint64_t done, uint64_t all);
	void *progress_ctx;

	/* Whether other work on the machine goes first, as in a service (worker_class.h). */
	bool background;
	/* Number of threads, 0 for one. At most two are used, and only one in the background. The
	 * table does not depend on it. */
	unsigned int jobs;

	bool types;   /* keep signatures of functions in the table */
	bool shown;   /* keep demangled names in the table too, ready to be copied */
	bool columns; /* keep columns and discriminators, which makes the table larger by half */

	/* Limits; 0 takes the constant of limits.h. For small files a build has less memory and CPU
	 * time than these (LIMIT_WORKER_MEMORY_LEAST and so on). */
	uint64_t memory_max;
	uint64_t cpu_seconds_max;
	uint64_t wall_ms_max;
	uint64_t starved_ms; /* 0 takes LIMIT_WORKER_STARVED_MS */
	uint64_t table_len_max;

	/* Path of the worker program; NULL searches beside /proc/self/exe, then in libexec. */
	const char *worker_path;
};

/*
 * Returns ERR_UNSUPPORTED if the input is not ELF, is big-endian or has neither symbols nor DWARF,
 * ERR_DATA if it is damaged, ERR_LIMIT if a limit was reached (the message names it), or
 * ERR_INTERNAL if the worker crashed (the message names the signal). On error the content of
 * output_fd is undefined and *report may be incomplete.
 */
int table_build(const struct table_request *req, struct build_report *report,
		struct err *err) _must_check_;

#endif
