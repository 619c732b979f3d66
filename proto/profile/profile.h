/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_H
#define RAWSTACK_PROFILE_H
/*
 * A profile in memory. The shipper fills one from symbolized batches and writes it as pprof; the
 * tools read, merge and show it. This module does no I/O (pprof_read.h, pprof_write.h) and resolves
 * nothing.
 *
 * Everything is interned: equal rows are one row, rows are numbered from 0 in order of first sight,
 * and adding a sample that exists adds to its values. So the same calls in the same order give the
 * same profile, and its size depends on what is distinct, not on how much was sampled.
 *
 *	sample -> stack -> locations (leaf first) -> lines (innermost inlined call first)
 *	       -> labels                          -> module
 *
 * Every table is bounded (limits.h, LIMIT_PROFILE_*). An add that does not fit sets `failed`, which
 * sticks, and returns PROFILE_NONE; a later add passes a PROFILE_NONE on. So callers add what
 * belongs together and check `failed` once; profile_full() is the error then. For one thread at a
 * time.
 */
#include "err.h"
#include "file_segments.h"
#include "intern.h"
#include "limits.h"

/* Frames that all samples together may unfold to, for each location that they contain: real
 * profiles have 1 to 4 inlined calls there, and a file of 3 KB can ask for hundreds of millions. */
#define LIMIT_UNFOLDED_FACTOR LIMIT(32)

#define PROFILE_NONE UINT32_MAX

/* A text, borrowed from the profile until the next add; without a NUL. */
struct profile_text {
	const char *p;
	size_t len;
};

/* A type of value. Strings are numbers of profile_string(); 0 is the empty string. */
struct profile_value_type {
	uint32_t type, unit;
};

enum profile_module_flag {
	PROFILE_HAS_FUNCTIONS = 1 << 0,
	PROFILE_HAS_FILENAMES = 1 << 1,
	PROFILE_HAS_LINES = 1 << 2,
	PROFILE_HAS_INLINES = 1 << 3,
};

/* A binary; pprof calls it a mapping. In Rawstack's own profiles start and file_off are 0, so that
 * an address is a file offset (in the kernel: pc - _text). */
struct profile_module {
	uint64_t start, limit; /* addresses of its locations, half open */
	uint64_t file_off;     /* file offset of start */
	uint32_t path;         /* a path, or begins with PROFILE_KERNEL_PREFIX */
	uint32_t build_id;     /* lower-case hex */
	uint32_t flags;        /* enum profile_module_flag */
	/* A number of profile_segments(); 0: not known. Only spools have one, and no file of a
	 * profile keeps it. */
	uint32_t segments;
};

/* The prefix of the kernel's paths: of its text, and of "[kernel:<name>]" for a kernel module. */
#define PROFILE_KERNEL_PREFIX "[kernel"
#define PROFILE_KERNEL_TEXT   "[kernel.kallsyms]"

/* A function with lines in one file. A function whose body includes another file has two such rows,
 * and function_set.h decides that they are one. Foreign files lack the last two fields. */
struct profile_function {
	uint32_t name, system_name; /* the name for people; the linkage name */
	uint32_t file;
	uint32_t start_line;
	uint32_t decl_file; /* file of its declaration; 0: not known */
	uint32_t pad;
	uint64_t start; /* link-time address of its entry in its module; 0: not known */
};

struct profile_line {
	uint32_t function;
	uint32_t line; /* 0: not known */
};

struct profile_location {
	uint64_t address;
	uint32_t module; /* or PROFILE_NONE */
	uint16_t folded; /* 1: several functions have this code, one was chosen (ICF) */
	/* 1: the stack held address + 1, a return address, and the location has no name yet. Only
	 * spools have it, and files do not keep it. */
	uint16_t is_return;
	const struct profile_line *lines;
	size_t line_count; /* 0: it has no name */
};

struct profile_label {
	uint32_t key;
	uint32_t text; /* 0: the value is num */
	uint32_t unit; /* unit of num */
	uint32_t pad;
	int64_t num;
};

struct profile_sample {
	uint32_t stack, labels;
};

struct profile {
	bool failed;
	bool no_memory;   /* failed because memory was out, not by a limit */
	const char *full; /* the limit that was reached, if known */
	struct intern strings, module_keys, functions, locations, stacks, label_sets, samples;
	struct intern segment_lists;
	struct profile_module *modules; /* module_keys.count of them */
	size_t modules_cap;
	int64_t *values; /* value_count for each sample */
	size_t values_cap;

	/* Set by the owner before the first sample, and not changed afterwards. */
	struct profile_value_type value_types[LIMIT_PROFILE_VALUES];
	uint32_t value_count;

	/* Plain fields, set at any time. */
	uint32_t default_type; /* string: one of value_types */
	struct profile_value_type period_type;
	int64_t period;
	int64_t time_ns, duration_ns; /* start, since 1970; 0: not known */
	bool weight_unknown;          /* it is unknown what the values count: folded stacks */
	uint32_t *comments;           /* strings; profile_comment() */
	size_t comment_count, comments_cap;
};

/* Initialises p, which may be uninitialised memory. It then holds one string, "". */
void profile_init(struct profile *p);
void profile_done(struct profile *p);

/* --- filling --------------------------------------------------------------------------------- */

/* Reports the error once `failed` is set, as "<what>: <why>": ERR_LIMIT or ERR_MEMORY. */
int profile_full(const struct profile *p, struct err *err, const char *what, ...) _printf_(3, 4);

/* Sets `failed` because memory is out, and returns PROFILE_NONE. */
uint32_t profile_fail_memory(struct profile *p);

uint32_t profile_string(struct profile *p, const void *text, size_t len);
uint32_t profile_cstr(struct profile *p, const char *text);

/* Adds a type of value at the end of value_types. */
void profile_value_type(struct profile *p, const char *type, const char *unit);

/* Adds the executable segments of a binary, which turn a file offset into a link-time address where
 * a table cannot. Returns a number for profile_module.segments, or 0 if count is 0 or there is no
 * room. The rows have passed file_segments_check(). */
uint32_t profile_segments(struct profile *p, const struct file_segment *rows, size_t count);

/* Adds a list of segments of another profile. */
uint32_t profile_copy_segments(struct profile *into, const struct profile *from, uint32_t segments);

/* Returns the segments of a module, or NULL and 0; borrowed until the next profile_segments(). */
const struct file_segment *profile_module_segments(const struct profile *p, uint32_t module,
						   size_t *ret_count);

/* Adds a module. Equal start, file_off, path and build id make one module; its limit and flags
 * grow, and it keeps the first segments that are known. */
uint32_t profile_add_module(struct profile *p, const struct profile_module *m);
void profile_module_mark(struct profile *p, uint32_t module, uint32_t flags);

uint32_t profile_add_function(struct profile *p, const struct profile_function *f);

/* Adds a location and widens its module to hold the address. l->lines is borrowed for the call. */
uint32_t profile_add_location(struct profile *p, const struct profile_location *l);

/* Adds a stack of locations, leaf first. */
uint32_t profile_add_stack(struct profile *p, const uint32_t *locations, size_t count);
uint32_t profile_add_labels(struct profile *p, const struct profile_label *labels, size_t count);

/* Adds value_count values to a sample, saturating, and returns its number. */
uint32_t profile_add_sample(struct profile *p, uint32_t stack, uint32_t labels,
			    const int64_t *values);

/*
 * Add several rows at a time, for readers of large files. They do what one call after the other
 * does, in a third of the time once the tables are larger than the processor's caches
 * (intern_add_many()). Numbers go to ret_ids. Arguments do not lie in the profile's own tables.
 */
void profile_add_strings(struct profile *p, const struct intern_key *texts, size_t count,
			 uint32_t *ret_ids);
void profile_add_functions(struct profile *p, const struct profile_function *functions,
			   size_t count, uint32_t *ret_ids);
void profile_add_locations(struct profile *p, const struct profile_location *locations,
			   size_t count, uint32_t *ret_ids);
/* Adds stacks whose keys are the bytes of their locations, leaf first, at most LIMIT_PROFILE_STACK
 * each. */
void profile_add_stacks(struct profile *p, const struct intern_key *stacks, size_t count,
			uint32_t *ret_ids);
/* Adds at most PROFILE_SAMPLES_MAX samples, with value_count values each. */
#define PROFILE_SAMPLES_MAX 64
void profile_add_samples(struct profile *p, const struct profile_sample *samples,
			 const int64_t *values, size_t count);

/* Moves the start to the earlier time and adds the duration. */
void profile_add_time(struct profile *p, int64_t time_ns, int64_t duration_ns);

/* Adds a line for people that the file keeps, on losses or origin. Equal lines are kept once. */
void profile_comment(struct profile *p, const char *fmt, ...) _printf_(2, 3);
void profile_comment_string(struct profile *p, uint32_t string);

/*
 * Adds the name under which a frame without a name is shown: "<path>+0x<address>", or
 * "[0x<address>]" without a module. Such a frame keeps its place and weight everywhere.
 */
uint32_t profile_placeholder(struct profile *p, uint32_t module, uint64_t address);

/* --- reading --------------------------------------------------------------------------------- */

struct profile_text profile_text(const struct profile *p, uint32_t string);
bool profile_text_is(struct profile_text t, const char *s);
struct profile_function profile_function(const struct profile *p, uint32_t function);
struct profile_location profile_location(const struct profile *p, uint32_t location);
const uint32_t *profile_stack(const struct profile *p, uint32_t stack, size_t *ret_count);
const struct profile_label *profile_labels(const struct profile *p, uint32_t labels,
					   size_t *ret_count);
struct profile_sample profile_sample(const struct profile *p, uint32_t sample);
const int64_t *profile_values(const struct profile *p, uint32_t sample);

/* Returns ERR_LIMIT if few bytes ask for the work and text of very many frames: if the locations of
 * samples unfold to far more inlined calls than there are locations (LIMIT_UNFOLDED_FACTOR). */
int profile_check_unfolded(const struct profile *p, struct err *err) _must_check_;

/*
 * Checks one of many files so that all together pass. `before` is the sum of *ret_unfolded of the
 * files before it. *ret_unfolded is 0 unless half as much would be too much for a file.
 */
int profile_check_share(const struct profile *p, uint64_t before, uint64_t *ret_unfolded,
			struct err *err) _must_check_;

/* Returns the row of value_types with this type ("cpu"), or PROFILE_NONE. */
uint32_t profile_value_index(const struct profile *p, const char *type);

/* Returns whether a name is only a placeholder: "[reason]" or "<path>+0x<hex>", as Rawstack writes
 * them. */
bool profile_is_placeholder(struct profile_text name);
bool profile_is_kernel(const struct profile *p, uint32_t module);

/* Returns whether a location is in a binary and has no name: no lines, or a placeholder. */
bool profile_is_unnamed(const struct profile *p, const struct profile_location *l);

/* --- merging --------------------------------------------------------------------------------- */

/* Finds lines for a location of `from` that has no name (profile_is_unnamed()) and adds their
 * functions to `into`. Returns how many of max it filled. */
typedef size_t profile_lines_fn(void *ctx, const struct profile *from,
				const struct profile_location *l, struct profile *into,
				struct profile_line *lines, size_t max);

/* Returns whether a sample of `from` takes part. A NULL function takes all. */
typedef bool profile_keep_fn(void *ctx, const struct profile *from, uint32_t sample);

/*
 * Adds `from` to `into`: samples with their stacks and labels, modules even without samples, and
 * comments. The start becomes the earliest, durations add up. Value types are matched by type and
 * unit; an empty `into` takes those of `from`. Returns ERR_MISMATCH if they have none in common, or
 * ERR_LIMIT if `into` is full.
 */
int profile_merge(struct profile *into, const struct profile *from, profile_keep_fn *keep,
		  void *ctx, struct err *err) _must_check_;

/*
 * For threads that read a part of the files each. profile_init_like() makes a profile with the
 * value types of `like`; profile_join() appends its rows to `into`. If `into` was filled from the
 * files before those of `from`, the result equals, row by row, one profile filled from all of them.
 * Returns ERR_LIMIT.
 */
void profile_init_like(struct profile *p, const struct profile *like);
int profile_join(struct profile *into, const struct profile *from, struct err *err) _must_check_;

/* Does what profile_merge() does, and also names what has no name, by `name`; NULL names nothing.
 */
int profile_merge_named(struct profile *into, const struct profile *from, profile_keep_fn *keep,
			void *keep_ctx, profile_lines_fn *name, void *name_ctx,
			struct err *err) _must_check_;

#endif
