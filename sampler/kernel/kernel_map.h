/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_KERNEL_MAP_H
#define RAWSTACK_KERNEL_MAP_H
/*
 * The running kernel's text: its build id (/sys/kernel/notes), where it lies and what stands
 * outside it (/proc/kallsyms: BPF programs, and modules that kernel_modules.h cannot place).
 * Addresses are zero there without CAP_SYSLOG, and then no kernel address can be placed. One thread
 * uses it.
 */
#include "build_id.h"
#include "err.h"
#include "kernel_modules.h"

enum kernel_place_kind {
	KERNEL_PLACE_UNKNOWN,
	KERNEL_PLACE_TEXT,   /* off: pc - _text */
	KERNEL_PLACE_MODULE, /* module */
	KERNEL_PLACE_NAMED,  /* name; is_bpf */
};

struct kernel_place {
	enum kernel_place_kind kind;
	uint64_t off;
	const char *name; /* borrowed until the next kernel_map_find() */
	bool is_bpf;
	struct kernel_module_place module;
};

struct kernel_map {
	struct build_id id; /* kind NONE: unknown */
	uint64_t text, etext;
	struct kernel_modules modules;
	struct kernel_symbol *symbols; /* outside the text, ascending */
	size_t count, cap;
	uint64_t read_ns;   /* when kallsyms was read; 0: not yet */
	uint64_t reread_ns; /* how old that must be to be read again */
};

/*
 * text and etext are the addresses of the symbols _text and _etext; 0: they are read from kallsyms,
 * which otherwise is read when an address outside the text is met. Returns 0, or negative when
 * something cannot be read, which err names; *ret then works with what there is.
 */
int kernel_map_init(struct kernel_map *ret, uint64_t text, uint64_t etext, uint64_t now_ns,
		    struct err *err);
void kernel_map_done(struct kernel_map *k);

/* Returns the place of pc. Reads kallsyms when pc is unknown and the last reading is long ago,
 * because BPF programs come and go. */
struct kernel_place kernel_map_find(struct kernel_map *k, uint64_t pc, uint64_t now_ns);

#endif
