/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_MAPPINGS_H
#define RAWSTACK_MAPPINGS_H
/*
 * Where a process has executable memory, and of which file: from pc to (module, file_off). Tables
 * are shared between a process and what it forked until one of them maps something. One thread.
 */
#include "build_id.h"
#include "file_id.h"

enum module_kind {
	MODULE_FILE, /* path, and an id if it has one */
	MODULE_VDSO,
	MODULE_ANONYMOUS,
};

/* Whether the kernel told the build id of a file. Reading the file for it is another matter. */
enum module_id_state {
	MODULE_ID_KNOWN,
	MODULE_ID_UNASKED,
	MODULE_ID_ASKED,
	MODULE_ID_FAILED, /* to be asked again after retry_ns */
};

/* One file as it was mapped; equal ones are one object. Counted references. Only the id comes
 * later. */
struct module {
	unsigned int refs;
	enum module_kind kind;
	struct build_id id;
	enum module_id_state id_state; /* struct file_ids drives it */
	uint64_t retry_ns;
	struct file_key file; /* zeros when the id was told */
	uint64_t found_ns;    /* is_id_found: when */
	struct modules *owner;
	struct module *next;
	uint32_t hash;
	bool is_id_found; /* in the file, not told */
	/* What the normaliser remembers: the row of this module in a segment of the spool. */
	uint64_t spool_segment;
	uint32_t spool_module;
	size_t path_len;
	char path[]; /* untrusted bytes, NUL-terminated */
};

struct modules {
	struct module *buckets[4096];
	struct module *of_id[256]; /* by the id's first byte: the last file with one, or NULL */
	size_t count;
	size_t len;      /* bytes that they and all rows of mappings take */
	uint64_t now_ns; /* about; whoever owns it moves it on */
};

/* Tells the kind of a mapping from its path. */
enum module_kind module_kind_of(const char *path, size_t path_len);

void modules_init(struct modules *ms);
void modules_done(struct modules *ms); /* after the last reference is gone */

/*
 * The module of a mapping, as the kernel writes its path: "[vdso]" and what is no file are told
 * apart, " (deleted)" is cut off. Without an id, files are told apart by `file`, which may be NULL;
 * an id that was found in one is believed of further mappings for MODULE_FOUND_KEEP_NS, for a file
 * may be written over in place. A reference for the caller; NULL without memory.
 */
#define MODULE_FOUND_KEEP_NS UINT64_C(2000000000)

struct module *module_get(struct modules *ms, const struct build_id *id,
			  const struct file_key *file, const char *path, size_t path_len);

/*
 * A module of that id when nobody told its path: with that of another process which has the same
 * file, if that is remembered, else with one that no file has. A reference for the caller; NULL
 * without memory.
 */
#define MODULE_PATH_UNKNOWN "//unknown"
struct module *module_of_id(struct modules *ms, const struct build_id *id);

/* Whether module_get() would give that one for a file without an id. */
bool module_is_file(const struct module *m, const struct file_key *file, const char *path,
		    size_t path_len);

/* Sets the id of a module that had none, as found in its file. */
void module_set_id(struct module *m, const struct build_id *id);
struct module *module_ref(struct module *m);
void module_unref(struct module *m);

struct mapping {
	uint64_t start, end; /* pc */
	uint64_t file_off;   /* of start */
	struct module *module;
	bool is_asked;     /* the kernel, for the id of this one: it has told what it knows */
	bool is_used;      /* an address of a sample lay in it */
	uint64_t since_ns; /* it was there from then on, or longer */
	uint64_t told_ns;  /* the kernel told at a tick that this file is there; 0: it did not */
};

struct mappings {
	unsigned int refs;
	uint64_t version;   /* equal only in tables that hold the same */
	bool has_anonymous; /* memory of code without a file, now or before */
	size_t count, cap;
	struct mapping *rows; /* ascending, disjoint; each with a reference to its module */
};

/* Returns the file offset of pc. */
static inline uint64_t mapping_file_off(const struct mapping *m, uint64_t pc)
{
	return pc - m->start + m->file_off;
}

struct mappings *mappings_new(void); /* one reference; NULL without memory */
struct mappings *mappings_ref(struct mappings *m);
void mappings_unref(struct mappings *m);

/*
 * Adds a mapping; where it overlaps older ones it wins, for nobody is told of munmap(2). Takes its
 * own reference of the module. *m becomes a copy first when it is shared. False, unchanged, above
 * LIMIT_PROC_MAPPINGS or without memory.
 */
bool mappings_add(struct mappings **m, const struct mapping *row);

/*
 * Replaces `from` with `to` in every table that shares this one: `to` is the same file with its
 * build id. When `from` had another id, the table gets a new version.
 */
void mappings_identify(struct mappings *m, struct module *from, struct module *to);

/* Marks `module` as asked for, in every mapping. */
void mappings_set_asked(struct mappings *m, const struct module *module);

/* Marks a row of m as used. */
void mappings_set_used(struct mappings *m, const struct mapping *row);

/*
 * When rows of a table were there for the first time, as far as that is known; mappings_add()
 * leaves it to who calls. Those that have no time get since_ns.
 */
void mappings_set_since(struct mappings *m, uint64_t since_ns);

/* Tells that something was mapped there at that time: rows that overlap it are no older. */
void mappings_set_younger(struct mappings *m, uint64_t start, uint64_t end, uint64_t since_ns);

/* Rows of m that are in `from` as well, at the same place of the same file, are as old as there if
 * they were there at until_ns; and the kernel told of them what it told there. */
void mappings_keep_age(struct mappings *m, const struct mappings *from, uint64_t until_ns);

/* The kernel told at a tick at told_ns that the file of a row of *m lies there. *m becomes a copy
 * first when it is shared. */
void mappings_set_told(struct mappings **m, const struct mapping *row, uint64_t told_ns);

/*
 * A number for what m has but code without a file, as it was read and before ids of files are
 * known: where which part of which file lies. Tables that hold the same have the same number;
 * others have another one, but for chance.
 */
uint64_t mappings_digest(const struct mappings *m);

/* Gives m a new version, so that frames placed by it are looked up again. */
void mappings_touch(struct mappings *m);

/* The mapping that holds pc, or NULL. Borrowed until the next mappings_add(). */
const struct mapping *mappings_find(const struct mappings *m, uint64_t pc);

#endif
