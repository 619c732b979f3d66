/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_BUILD_H
#define RAWSTACK_TABLE_BUILD_H
/*
 * Builds a table from an untrusted file, for the service, `rawstack-gsym-build build` and `rawstack
 * resolve -e`. A separate worker process with limits on memory, CPU, file size and wall clock
 * parses the file and has access to its descriptors only; whatever it does, the caller gets a table
 * that rsym_open() accepts, or one line of error. The worker is started with posix_spawn(), so this
 * may be called after gRPC is up. Safe from any thread.
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

/* The memory and the CPU time that a worker may take for the files that it is given: a base, and so
 * much more for each byte or MiB of them. Real debug files, compressed ones included, take 1 to 5
 * bytes for each of theirs and 15 ms for each MiB; a file of 19 KB can ask for 6 GiB, and one of
 * 3 MB for minutes. */
#define LIMIT_WORKER_MEMORY_LEAST  (512 * MIB)
#define LIMIT_WORKER_MEMORY_FACTOR LIMIT(16)
#define LIMIT_WORKER_CPU_LEAST     LIMIT(20)
#define LIMIT_WORKER_CPU_PER_MIB   LIMIT(1)

struct table_companion {
	int fd; /* a regular file. Kept by the caller */
	enum table_companion_kind kind;
};

struct table_request {
	int input_fd;      /* a regular file; its offset is not used. Kept by the caller */
	int executable_fd; /* the executable that holds segments and .dynsym, or -1 */
	int output_fd;     /* an empty regular file or memfd, read and write. Kept by the caller */
	enum table_input input;
	/* kallsyms: the kernel's; ELF: kind NONE takes what the file says, and it is then compared
	 * with the executable's in this process, else by the worker. */
	struct build_id id;

	/* There may be one alternate file, one package, and LIMIT_COMPANIONS in all. Files that are
	 * damaged or do not belong to the input are ignored. */
	const struct table_companion *companions;
	size_t companion_count;
	/*
	 * If not NULL, receives the references of the input to files that were not given: first the
	 * content of .gnu_debugaltlink behind its length (32 bits; 0: not needed), then for each
	 * split unit "comp_dir NUL name NUL". Untrusted bytes, up to LIMIT_MISSING_LEN.
	 */
	struct buf *missing;
	/* Up to LIMIT_WANTED link-time addresses: the table need only answer these, and if the file
	 * has an index, units without them are not read. Count 0: a whole table. */
	const uint64_t *wanted;
	size_t wanted_count;

	/* If not NULL, the waiting thread calls it a few times a second with the stage, and the
	 * progress `done` of `all`, which is 0 when it is unknown. */
	void (*progress)(void *ctx, enum table_stage stage, uint64_t done, uint64_t all);
	void *progress_ctx;

	/* Lets other work on the machine go first, as in a service: see worker_class.h. */
	bool background;
	/* Number of threads; at most two are used, and one in the background. 0 is one. The table
	 * is the same. */
	unsigned int jobs;

	bool types;   /* signatures of functions are kept in the table */
	bool shown;   /* names as people read them are kept in the table, ready to be copied */
	bool columns; /* keep columns and discriminators, in a table half as large again */

	/* Limits; 0 takes the constant of limits.h. A build has less memory and CPU time than these
	 * for small files: LIMIT_WORKER_MEMORY_LEAST and so on. */
	uint64_t memory_max;
	uint64_t cpu_seconds_max;
	uint64_t wall_ms_max;
	uint64_t starved_ms; /* LIMIT_WORKER_STARVED_MS */
	uint64_t table_len_max;

	/* Path of the worker program; NULL searches beside /proc/self/exe, then in libexec. */
	const char *worker_path;
};

/*
 * ERR_UNSUPPORTED: not ELF, big-endian, no symbols nor DWARF. ERR_DATA: damaged. ERR_LIMIT: a limit
 * was reached (the message names it). ERR_INTERNAL: the worker crashed (the message names the
 * signal). On error the content of output_fd is undefined and *report may be half filled.
 */
int table_build(const struct table_request *req, struct build_report *report,
		struct err *err) _must_check_;

#endif
