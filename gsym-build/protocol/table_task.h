/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_TASK_H
#define RAWSTACK_TABLE_TASK_H
/* The types of a build or verification and of its report that are shared by the caller of the
 * worker (table_build.h), the protocol, and the worker. */
#include "build_id.h"

enum table_input {
	TABLE_INPUT_AUTO = 0, /* ELF, or kallsyms text when it looks like it */
	TABLE_INPUT_ELF = 1,
	TABLE_INPUT_KALLSYMS = 2, /* `id` names the kernel */
};

enum table_stage {
	TABLE_STAGE_OPEN = 0,  /* sections and symbols */
	TABLE_STAGE_DWARF = 1, /* debug information, in bytes */
	TABLE_STAGE_PACK = 2,  /* answers are chosen, and the table is written */
};

/* A file that the input refers to. */
enum table_companion_kind {
	TABLE_COMPANION_ALT = 0, /* dwz alternate file: its identity is the caller's to check */
	TABLE_COMPANION_DWP = 1, /* a package of split units */
	TABLE_COMPANION_DWO = 2, /* one file of them */
};

/* Raised when the same file gives a better table, so that stores build their tables anew. */
#define TABLE_BUILDER_VERSION 2

/* Says what a build could read and what it made. Lengths are in bytes. */
struct build_report {
	struct build_id id;
	uint64_t unit_count, units_skipped;
	/* Bytes of .debug_info, and of those units of it that were read: a part when addresses were
	 * wanted. */
	uint64_t info_len, info_read;
	uint64_t function_count, range_count, inline_count;
	uint64_t symbol_count, file_count;
	uint64_t input_len;
	uint64_t table_len;
	uint64_t cpu_ns, wall_ns, peak_memory; /* of the worker; its caller measures wall_ns */
	bool has_dwarf, has_segments, needs_alt_file;
	uint64_t relocations_skipped;
	char relocation_skipped[128]; /* where the first is, and why; or "" */
	char skipped[256];            /* why units or other parts were skipped: the first
				       * reason, or "" */
};

/* Says what a verification compared. */
struct verify_report {
	uint64_t range_count; /* of the table, each compared from end to end */
	uint64_t place_count; /* pieces between two changes of the table or of the file */
	uint64_t alias_count; /* of the table and of the file, each once */
	uint64_t difference_count;
	uint64_t unit_count, units_skipped; /* of the plain reader */
	uint64_t lines_refused; /* line tables that libdwarf does not read: their lines are
				 * compared with those of our own decoder, which proves little */
	uint64_t cpu_ns, peak_memory;
};

#endif
