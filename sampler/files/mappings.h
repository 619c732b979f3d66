/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_MAPPINGS_H
#define RAWSTACK_MAPPINGS_H
/*
 * The executable mappings of a process, which lead from a pc to a file and an offset in it. A
 * process and its forked children share a table until one of them maps something. One thread uses
 * it.
 */
#include "build_id.h"
#include "file_id.h"

enum module_kind {
	MODULE_FILE, /* path, and an id if it has one */
	MODULE_VDSO,
	MODULE_ANONYMOUS,
};

/* The state of a module's build id. If the kernel told none, the helper is asked to read it from
 * the file. */
enum module_id_state {
	MODULE_ID_KNOWN,
	MODULE_ID_UNASKED,
	MODULE_ID_ASKED,
	MODULE_ID_FAILED, /* to be asked again after retry_ns */
};

/* One file as it was mapped; equal ones are one object with counted references. Only the id may
 * come later. */
struct module {
	unsigned int refs;
	enum module_kind kind;
	struct build_id id;
	enum module_id_state id_state; /* struct file_ids drives it */
	uint64_t retry_ns;
	struct file_key file; /* zeros when the id was told */
	uint64_t found_ns;    /* when the id was found, if is_id_found */
	struct modules *owner;
	struct module *next;
	uint32_t hash;
	bool is_id_found; /* the id was found in the file, not told by the kernel */
	/* For the normaliser: the row of this module in a segment of the spool. */
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
	uint64_t now_ns; /* roughly; the owner keeps it up to date */
};

/* Tells the kind of a mapping from its path. */
enum module_kind module_kind_of(const char *path, size_t path_len);

void modules_init(struct modules *ms);
void modules_done(struct modules *ms); /* after the last reference is gone */

/*
 * Returns the module of a mapping, with a reference for the caller, or NULL when out of memory. The
 * path is as the kernel writes it: it tells "[vdso]" and memory without a file from files, and "
 * (deleted)" is cut off. Without an id, `file`, which may be NULL, tells files apart. An id that
 * was found in a file is believed of its further mappings for MODULE_FOUND_KEEP_NS only, because a
 * file may be overwritten in place.
 */
#define MODULE_FOUND_KEEP_NS UINT64_C(2000000000)

struct module *module_get(struct modules *ms, const struct build_id *id,
			  const struct file_key *file, const char *path, size_t path_len);

/*
 * Returns a module with that id when nobody told its path, with a reference for the caller, or NULL
 * when out of memory. The path is that of the same file in another process, if it is remembered,
 * else MODULE_PATH_UNKNOWN, which no file has.
 */
#define MODULE_PATH_UNKNOWN "//unknown"
struct module *module_of_id(struct modules *ms, const struct build_id *id);

/* Returns whether module_get() would return m for this file without an id. */
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
	bool is_asked;     /* the kernel was asked for its id, and told what it knows */
	bool is_used;      /* an address of a sample lay in it */
	uint64_t since_ns; /* it has been there since then at the latest */
	uint64_t told_ns;  /* when a tick last told that this file is there; 0: never */
};

struct mappings {
	unsigned int refs;
	uint64_t version;   /* equal only in tables that hold the same */
	bool has_anonymous; /* there is or was code without a file */
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
 * Adds a mapping, which replaces older ones where it overlaps them, because no record tells of
 * munmap(2). Takes its own reference to the module. If *m is shared, it becomes a copy first.
 * Returns false, with the rows unchanged, above LIMIT_PROC_MAPPINGS or when out of memory.
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
 * Sets since_ns of the rows that have none, which mappings_add() leaves to its caller.
 */
void mappings_set_since(struct mappings *m, uint64_t since_ns);

/* Notes that something was mapped from start to end at since_ns: rows that overlap it are no older.
 */
void mappings_set_younger(struct mappings *m, uint64_t start, uint64_t end, uint64_t since_ns);

/* Copies told_ns to the rows of m that `from` has at the same place of the same file, and also
 * since_ns if they were there at until_ns. */
void mappings_keep_age(struct mappings *m, const struct mappings *from, uint64_t until_ns);

/* Notes that the kernel told at a tick at told_ns that the file of a row of *m lies there. If *m is
 * shared, it becomes a copy first. */
void mappings_set_told(struct mappings **m, const struct mapping *row, uint64_t told_ns);

/*
 * Returns a digest of which part of which file m has where, without code that has no file. Call it
 * for a table as it was read, before ids of files are known. Tables that hold the same have the
 * same digest; others have another one, except by chance.
 */
uint64_t mappings_digest(const struct mappings *m);

/* Gives m a new version, so that frames placed by it are looked up again. */
void mappings_touch(struct mappings *m);

/* Returns the mapping that holds pc, or NULL. It is borrowed until the next mappings_add(). */
const struct mapping *mappings_find(const struct mappings *m, uint64_t pc);

#endif
