/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_H
#define RAWSTACK_PROFILE_H
/*
 * A profile in memory: what the shipper fills from symbolized batches and writes as pprof, and what
 * the tools read, merge and show. Does no I/O (pprof_read.h, pprof_write.h) and resolves nothing.
 *
 * Everything is interned: equal rows are one row, rows are numbered from 0 in order of first sight,
 * and adding a sample that is there already adds to its values. So the same calls in the same
 * order give the same profile, and the size follows what is distinct, not what was sampled.
 *
 *	sample -> stack -> locations (leaf first) -> lines (innermost inlined call first)
 *	       -> labels                          -> module
 *
 * Every table is bounded (limits.h, LIMIT_PROFILE_*). An add that does not fit sets `failed`,
 * which sticks, and gives PROFILE_NONE; PROFILE_NONE given to a later add is passed on. So callers
 * add what belongs together and check `failed` once; profile_full() is the error then. One thread
 * at a time.
 */
#include "err.h"
#include "file_segments.h"
#include "intern.h"
#include "limits.h"

#define PROFILE_NONE UINT32_MAX

/* Borrowed from the profile until the next add; no NUL behind it. */
struct profile_text {
	const char *p;
	size_t len;
};

/* Numbers of strings are ids of profile_string(); 0 is the empty string. */
struct profile_value_type {
	uint32_t type, unit;
};

enum profile_module_flag {
	PROFILE_HAS_FUNCTIONS = 1 << 0,
	PROFILE_HAS_FILENAMES = 1 << 1,
	PROFILE_HAS_LINES = 1 << 2,
	PROFILE_HAS_INLINES = 1 << 3,
};

/* A binary; pprof calls it a mapping. Rawstack's own profiles have start and file_off 0, so that an
 * address of theirs is a file offset (in the kernel: pc - _text). */
struct profile_module {
	uint64_t start, limit; /* addresses of its locations, half open */
	uint64_t file_off;     /* of start */
	uint32_t path;         /* PROFILE_KERNEL, or a path */
	uint32_t build_id;     /* lower-case hex */
	uint32_t flags;        /* enum profile_module_flag */
	/* profile_segments(), 0: not known; only spools tell, and no file keeps it. */
	uint32_t segments;
};

/* Paths that begin so are the kernel's: its text, and "[kernel:<name>]" for a kernel module. */
#define PROFILE_KERNEL_PREFIX "[kernel"
#define PROFILE_KERNEL_TEXT   "[kernel.kallsyms]"

/* A function with lines in one file: of one whose body includes another there are two. What tells
 * that they are one is function_set.h's to use; foreign files do not say it. */
struct profile_function {
	uint32_t name, system_name; /* as shown; as the linker knows it */
	uint32_t file;
	uint32_t start_line;
	uint32_t decl_file; /* of its declaration; 0: not known */
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
	/* 1: address + 1 stood on a stack as a return address, and has no name yet; only spools
	 * tell, and no file keeps it. */
	uint16_t is_return;
	const struct profile_line *lines;
	size_t line_count; /* 0: nobody named it */
};

struct profile_label {
	uint32_t key;
	uint32_t text; /* 0: the value is num */
	uint32_t unit; /* of num */
	uint32_t pad;
	int64_t num;
};

struct profile_sample {
	uint32_t stack, labels;
};

struct profile {
	bool failed;
	bool no_memory;   /* failed for want of memory, not by a limit */
	const char *full; /* by which limit, where that is known */
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
	bool weight_unknown;          /* what it counts is not known: folded stacks */
	uint32_t *comments;           /* strings; profile_comment() */
	size_t comment_count, comments_cap;
};

/* `p` is zeroed or uninitialised memory; it holds one string, "", afterwards. */
void profile_init(struct profile *p);
void profile_done(struct profile *p);

/* --- filling --------------------------------------------------------------------------------- */

/* The error once `failed` is set, "<what>: <why>": ERR_LIMIT or ERR_MEMORY. */
int profile_full(const struct profile *p, struct err *err, const char *what, ...) _printf_(3, 4);

/* Sets `failed` for want of memory. PROFILE_NONE. */
uint32_t profile_fail_memory(struct profile *p);

uint32_t profile_string(struct profile *p, const void *text, size_t len);
uint32_t profile_cstr(struct profile *p, const char *text);

/* Adds a type of value at the end of value_types. */
void profile_value_type(struct profile *p, const char *type, const char *unit);

/* The executable segments of a binary, which turn a file offset into a link-time address where a
 * table cannot: a number for profile_module.segments; 0 for none, and when there is no room. They
 * have passed file_segments_check(). */
uint32_t profile_segments(struct profile *p, const struct file_segment *rows, size_t count);

/* The same list of another profile. */
uint32_t profile_copy_segments(struct profile *into, const struct profile *from, uint32_t segments);

/* The segments of a module, or NULL and 0; borrowed until the next profile_segments(). */
const struct file_segment *profile_module_segments(const struct profile *p, uint32_t module,
						   size_t *ret_count);

/* Equal start, file_off, path and build id are one module, whose limit and flags grow, and which
 * has the first segments that are known. */
uint32_t profile_add_module(struct profile *p, const struct profile_module *m);
void profile_module_mark(struct profile *p, uint32_t module, uint32_t flags);

uint32_t profile_add_function(struct profile *p, const struct profile_function *f);

/* `lines` is borrowed for the call. Widens its module to hold the address. */
uint32_t profile_add_location(struct profile *p, const struct profile_location *l);

/* Locations, leaf first. */
uint32_t profile_add_stack(struct profile *p, const uint32_t *locations, size_t count);
uint32_t profile_add_labels(struct profile *p, const struct profile_label *labels, size_t count);

/* Adds value_count values; sums stop at the ends of int64_t. Returns the sample's number. */
uint32_t profile_add_sample(struct profile *p, uint32_t stack, uint32_t labels,
			    const int64_t *values);

/*
 * Several at a time, for readers of large files: what one call after the other does, in a third of
 * the time once the tables are larger than the processor's caches (intern_add_many()). Numbers go
 * to ret_ids. Nothing given is of the profile's own tables.
 */
void profile_add_strings(struct profile *p, const struct intern_key *texts, size_t count,
			 uint32_t *ret_ids);
void profile_add_functions(struct profile *p, const struct profile_function *functions,
			   size_t count, uint32_t *ret_ids);
void profile_add_locations(struct profile *p, const struct profile_location *locations,
			   size_t count, uint32_t *ret_ids);
/* Keys: locations, leaf first, as bytes; LIMIT_PROFILE_STACK of them at most. */
void profile_add_stacks(struct profile *p, const struct intern_key *stacks, size_t count,
			uint32_t *ret_ids);
/* PROFILE_SAMPLES_MAX at most; value_count values of each. */
#define PROFILE_SAMPLES_MAX 64
void profile_add_samples(struct profile *p, const struct profile_sample *samples,
			 const int64_t *values, size_t count);

/* The time becomes the earliest, durations add up. */
void profile_add_time(struct profile *p, int64_t time_ns, int64_t duration_ns);

/* One line for people, kept in the file: losses, origin. Equal ones are kept once. */
void profile_comment(struct profile *p, const char *fmt, ...) _printf_(2, 3);
void profile_comment_string(struct profile *p, uint32_t string);

/*
 * The name under which a frame without a name is shown, as a string: "<path>+0x<address>", or
 * "[0x<address>]" when it has no module. It keeps its place and weight everywhere.
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

/* Returns ERR_LIMIT where few bytes ask for the work and text of very many frames: samples whose
 * locations unfold to far more inlined calls than there are locations (LIMIT_UNFOLDED_FACTOR). */
int profile_check_unfolded(const struct profile *p, struct err *err) _must_check_;

/*
 * The same for one of many files, so that all together pass: with `before`, what was returned for
 * those before it. *ret_unfolded is what it adds to that: 0, but for files of which half as much
 * would be too much.
 */
int profile_check_share(const struct profile *p, uint64_t before, uint64_t *ret_unfolded,
			struct err *err) _must_check_;

/* The row of value_types with this type ("cpu"), or PROFILE_NONE. */
uint32_t profile_value_index(const struct profile *p, const char *type);

/* Returns whether a name is not one: "[reason]" or "<path>+0x<hex>", as Rawstack writes them. */
bool profile_is_placeholder(struct profile_text name);
bool profile_is_kernel(const struct profile *p, uint32_t module);

/* Returns whether a location is a place in a binary that nobody named: without lines, or with a
 * placeholder of its own. */
bool profile_is_unnamed(const struct profile *p, const struct profile_location *l);

/* --- merging --------------------------------------------------------------------------------- */

/* Lines for a location of `from` that has no name (profile_is_unnamed()), with functions added to
 * `into`: how many of max. */
typedef size_t profile_lines_fn(void *ctx, const struct profile *from,
				const struct profile_location *l, struct profile *into,
				struct profile_line *lines, size_t max);

/* Which samples of `from` take part; NULL takes all. */
typedef bool profile_keep_fn(void *ctx, const struct profile *from, uint32_t sample);

/*
 * Adds `from` to `into`: samples with their stacks and labels, modules even without samples,
 * comments; time becomes the earliest, durations add up. Value types are matched by type and unit
 * (an empty `into` takes those of `from`); ERR_MISMATCH when they have none in common. ERR_LIMIT
 * when `into` is full.
 */
int profile_merge(struct profile *into, const struct profile *from, profile_keep_fn *keep,
		  void *ctx, struct err *err) _must_check_;

/*
 * For threads that read some files each: a profile that counts what `like` does, and afterwards
 * its rows behind those of `into`. When `into` was filled from the files before those of `from`,
 * the result is, row by row, what one profile filled from all of them would be. ERR_LIMIT.
 */
void profile_init_like(struct profile *p, const struct profile *like);
int profile_join(struct profile *into, const struct profile *from, struct err *err) _must_check_;

/* The same as profile_merge(), and names what has no name; NULL names nothing. */
int profile_merge_named(struct profile *into, const struct profile *from, profile_keep_fn *keep,
			void *keep_ctx, profile_lines_fn *name, void *name_ctx,
			struct err *err) _must_check_;

#endif
