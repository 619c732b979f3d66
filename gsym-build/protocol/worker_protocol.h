/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_WORKER_PROTOCOL_H
#define RAWSTACK_WORKER_PROTOCOL_H
/*
 * The protocol between table_build() and the worker, and table_verify() and the verifier, all of
 * the same build of Rawstack: one fixed struct in each direction over a pipe. Neither program is
 * trusted: the caller checks every field.
 */
#include <stdatomic.h>

#include "image_summary.h"
#include "limits.h"
#include "table_task.h"

/* Descriptors of either program; 0 to 2 are /dev/null. */
enum worker_fd {
	WORKER_FD_REQUEST = 3,
	WORKER_FD_REPLY = 4,
	WORKER_FD_INPUT = 5,
	WORKER_FD_OUTPUT = 6,
	WORKER_FD_EXECUTABLE = 7, /* closed when there is none */
	WORKER_FD_TABLE = 8,      /* to be verified; closed when there is none */
	WORKER_FD_MISSING =
		9, /* receives the missing references of the input; closed when not wanted */
	WORKER_FD_PROGRESS = 10, /* a struct table_progress; closed when nobody looks */
	WORKER_FD_WANTED = 11,   /* the addresses, 64 bits each; closed when all are wanted */
	WORKER_FD_COMPANIONS = 12,
	WORKER_FD_COUNT = WORKER_FD_COMPANIONS + (int)LIMIT_COMPANIONS,
};

/* Changes with the size of either struct; change it by hand for other changes. */
#define WORKER_MAGIC                                                      \
	((uint32_t)(0x7277733du ^ (sizeof(struct worker_request) << 12) ^ \
		    sizeof(struct worker_reply)))

enum worker_task {
	WORKER_BUILD = 0,   /* makes a table of the input and writes it to the output */
	WORKER_VERIFY = 1,  /* compares WORKER_FD_TABLE with the input and writes differences to
			     * the output; only the verifier does it */
	WORKER_INSPECT = 2, /* summarises the input, an ELF file; there is no output */
	WORKER_CHECK = 3,   /* validates the input, a table; there is no output */
};

struct worker_request {
	uint32_t magic;
	uint32_t task;  /* enum worker_task */
	uint32_t input; /* enum table_input */
	uint64_t memory_max, cpu_seconds_max, table_len_max;
	struct build_id id;
	bool has_executable;
	bool wants_missing, wants_progress, columns, types, shown;
	uint32_t class; /* enum worker_class */
	bool in_two;    /* build with two threads */
	uint32_t companion_count;
	uint8_t companion_kinds[LIMIT_COMPANIONS]; /* enum table_companion_kind */
	uint32_t wanted_count;
};

/* Memory that the caller and the worker share while the worker runs. The caller does not
 * trust it. */
struct table_progress {
	_Atomic uint32_t stage; /* enum table_stage */
	_Atomic uint64_t done, all;
};

struct worker_reply {
	uint32_t magic;
	int32_t code; /* enum err_code */
	char message[ERR_MESSAGE_MAX];
	struct build_report report;
	struct verify_report verified;
	struct image_summary summary;
};

/* The exit status of a program that does not understand the request. */
enum {
	WORKER_EXIT_STRANGER = 2
};

/* A request fits into an empty pipe, however short pipes are. */
_Static_assert(sizeof(struct worker_request) <= 4096, "at most a page");

/* A reply is one write: the reader never sees a part of it (pipe(7)). */
_Static_assert(sizeof(struct worker_reply) <= 4096, "at most PIPE_BUF");

#endif
