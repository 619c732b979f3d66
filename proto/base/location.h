/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LOCATION_H
#define RAWSTACK_LOCATION_H
/*
 * One frame of a raw stack, before anybody knows its name. The spool, the contract
 * (rawstack/v1/symbolizer.proto has the same numbers) and the profile model share it.
 *
 * There are three kinds of address, which are never mixed: pc (in a process), file_off (in an ELF
 * file) and vaddr (link time, in an ELF file). The kind of a location says which of them its
 * address is.
 */
#include <stdint.h>

enum location_kind {
	LOCATION_NONE = 0,
	LOCATION_FILE_OFF = 1,      /* module, address: file_off in it */
	LOCATION_KERNEL_TEXT = 2,   /* module: the kernel, address: pc - _text */
	LOCATION_KERNEL_MODULE = 3, /* module, name: its section, address: offset there */
	LOCATION_HOST_NAMED = 4,    /* name, as the host knows it; reason: enum host_source */
	LOCATION_UNRESOLVED = 5,    /* address: pc; reason: enum unresolved_reason */
};

/* Says whether the address is that of the interrupted instruction, or a return address: that of the
 * instruction after a call. A service looks up one byte before a return address, and echoes the
 * address as it was given. */
enum location_mode {
	LOCATION_EXACT = 0,
	LOCATION_RETURN = 1
};

enum host_source {
	HOST_SOURCE_NONE = 0,
	HOST_SOURCE_PERF_MAP = 1, /* /tmp/perf-PID.map of a JIT */
	HOST_SOURCE_BPF = 2,      /* a BPF program or trampoline in the kernel */
	HOST_SOURCE_VDSO = 3,
	HOST_SOURCE_KALLSYMS = 4,
	HOST_SOURCE_PSEUDO = 5, /* not code: "[no user stack: read fault]" and the like */
};

enum unresolved_reason {
	UNRESOLVED_NONE = 0,
	UNRESOLVED_NO_MAPPING = 1, /* in no mapping known at that time */
	UNRESOLVED_ANONYMOUS = 2,  /* in memory without a file: a JIT without a map */
	UNRESOLVED_NO_ID = 3,      /* the file has no build id and could not be hashed */
	UNRESOLVED_STALE_EXEC = 4, /* sampled inside execve, with registers of the old image */
	UNRESOLVED_KERNEL = 5,     /* a kernel address outside its text and modules */
	UNRESOLVED_PROCESS_GONE = 6,
	UNRESOLVED_READ_FAULT = 7,
};

/* The index of a module or name that a location does not have. */
#define LOCATION_NO_INDEX UINT32_MAX

struct location {
	uint8_t kind;   /* enum location_kind */
	uint8_t mode;   /* enum location_mode */
	uint8_t reason; /* enum host_source or enum unresolved_reason, by kind */
	uint8_t pad;
	uint32_t module; /* index of the module, or LOCATION_NO_INDEX */
	uint64_t address;
	uint32_t name; /* index of the string, or LOCATION_NO_INDEX */
	uint32_t pad2;
};

_Static_assert(sizeof(struct location) == 24, "a key of dictionaries: no hidden padding");

#endif
