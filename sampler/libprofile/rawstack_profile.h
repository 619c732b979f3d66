/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBRAWSTACK_PROFILE_H
#define LIBRAWSTACK_PROFILE_H
/*
 * librawstack-profile: sampled profiles in memory. Reads pprof, perf.data, the text of `perf
 * script`, folded stacks, and spools of rawstack-sampler(1) (spool(5)); writes pprof, folded
 * stacks, speedscope, Firefox Profiler, `perf script`, JSON lines and OTLP; and between them lets a
 * program look at every sample or add its own.
 *
 *	sample -> locations (leaf first) -> frames (innermost inlined call first)
 *	       -> labels                 -> module (a binary and its build id)
 *
 *	struct rawstack_profile *p = rawstack_profile_new();
 *
 *	if (rawstack_profile_read_file(p, "cpu.pb.gz", &error))
 *		errx(1, "%s", error.message);
 *	rawstack_profile_write(p, RAWSTACK_PROFILE_FOLDED, 0, put, stdout, &error);
 *
 * Everything is numbered from 0 and kept once: equal rows are one row, and a sample that is added
 * twice is one sample with the sum of its values. The library opens only the files it is asked to
 * read, prints nothing and starts no thread.
 *
 * Files are not trusted: memory and output are bounded, and a damaged file is an error.
 *
 * Errors: functions that return int return 0, and on failure one of
 * enum rawstack_profile_error_code, which is negative. `error` may be NULL. Adding never fails at
 * once: after an add that did not fit every later one is refused, and rawstack_profile_check(),
 * like writing, says why.
 *
 * Threads: a profile belongs to one thread at a time. While files are read a handler of SIGBUS is
 * installed, which passes on what is not about these files: a file that is truncated meanwhile is
 * an error and does not end the process.
 *
 * Stability: functions, structures and numbers here keep their meaning within soname 0 of the
 * library. Structures that the library fills may grow at their end; their callers pass the size
 * that they were compiled with.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Instead of the number of a row: there is none. */
#define RAWSTACK_PROFILE_NONE UINT32_MAX

enum rawstack_profile_error_code {
	RAWSTACK_PROFILE_ERROR_USAGE = -1,       /* an argument is wrong */
	RAWSTACK_PROFILE_ERROR_DATA = -2,        /* no profile, or a damaged one */
	RAWSTACK_PROFILE_ERROR_UNSUPPORTED = -3, /* a profile of a kind that is not read */
	RAWSTACK_PROFILE_ERROR_LIMIT = -4,       /* it is larger than this library takes */
	RAWSTACK_PROFILE_ERROR_NOT_FOUND = -5,   /* there is no such file */
	RAWSTACK_PROFILE_ERROR_IO = -7,          /* the system refuses to read it */
	RAWSTACK_PROFILE_ERROR_MEMORY = -8,      /* memory is out */
	RAWSTACK_PROFILE_ERROR_DENIED = -10,     /* the system does not permit it */
	RAWSTACK_PROFILE_ERROR_MISMATCH = -11,   /* no type of value in common with the profile */
	RAWSTACK_PROFILE_ERROR_CANCELLED = -12,  /* the caller's function stopped it */
};

/* One line of text without a newline; bytes of strangers in it are made printable. */
struct rawstack_profile_error {
	int code;
	char message[480];
};

struct rawstack_profile;

/* Returns an empty profile, to be freed by the caller; NULL if memory is out. */
struct rawstack_profile *rawstack_profile_new(void);
void rawstack_profile_free(struct rawstack_profile *p);

/* --- files ----------------------------------------------------------------------------------- */

/*
 * Adds a file of any format that is read (its first bytes tell which), or the whole of a spool,
 * whose path is that of its directory: samples of a spool are addresses without names. Values are
 * matched by type and unit, an empty profile takes those of the file. After an error the profile
 * may hold a part of the file.
 */
int rawstack_profile_read_file(struct rawstack_profile *p, const char *path,
			       struct rawstack_profile_error *error);

/* Adds a pprof file, gzip or plain, that is in memory. */
int rawstack_profile_read_pprof(struct rawstack_profile *p, const void *bytes, size_t len,
				struct rawstack_profile_error *error);

enum rawstack_profile_format {
	RAWSTACK_PROFILE_PPROF = 1,
	RAWSTACK_PROFILE_FOLDED = 2,
	RAWSTACK_PROFILE_SPEEDSCOPE = 3,
	RAWSTACK_PROFILE_FIREFOX = 4,
	RAWSTACK_PROFILE_PERF_SCRIPT = 5,
	RAWSTACK_PROFILE_JSON_LINES = 6, /* all that is known, one object for each sample */
	RAWSTACK_PROFILE_OTLP = 7,       /* still in development: its bytes change */
};

/* Takes the next len bytes of a file that is written. Returns 0, or anything else to stop. */
typedef int rawstack_profile_put_fn(void *ctx, const void *bytes, size_t len);

/*
 * Writes the profile piece by piece. `value` is the type of value (a number below value_count) in
 * formats that have one: folded stacks, speedscope and the Firefox Profiler. Equal profiles give
 * equal bytes.
 */
int rawstack_profile_write(struct rawstack_profile *p, enum rawstack_profile_format format,
			   uint32_t value, rawstack_profile_put_fn *put, void *ctx,
			   struct rawstack_profile_error *error);

/* --- looking --------------------------------------------------------------------------------- */

/* Bytes without a NUL, which may hold anything; borrowed from the profile until something is added
 * to it or it is freed. */
struct rawstack_profile_text {
	const char *p;
	size_t len;
};

struct rawstack_profile_info {
	int64_t time_ns;     /* start, since 1970; 0: unknown */
	int64_t duration_ns; /* 0: unknown */
	int64_t period;      /* between samples, in period_unit; 0: unknown */
	struct rawstack_profile_text period_type, period_unit;
	uint32_t value_count, module_count, location_count, sample_count, comment_count;
	uint32_t reserved;
};

/* In the functions of this part ret_len is sizeof(*ret); members that this library does not know
 * become 0. Those with a number return 1, or 0 if nothing has that number. */
void rawstack_profile_info(const struct rawstack_profile *p, struct rawstack_profile_info *ret,
			   size_t ret_len);

/* A type of value: "cpu" and "nanoseconds". */
int rawstack_profile_value(const struct rawstack_profile *p, uint32_t value,
			   struct rawstack_profile_text *ret_type,
			   struct rawstack_profile_text *ret_unit);

/* A line for people, on losses or origin. */
int rawstack_profile_comment(const struct rawstack_profile *p, uint32_t comment,
			     struct rawstack_profile_text *ret);

struct rawstack_profile_module {
	uint64_t start, limit; /* addresses of its locations, half open */
	uint64_t file_offset;  /* offset of start in the file */
	struct rawstack_profile_text path;
	struct rawstack_profile_text build_id; /* lower-case hex, or empty */
	uint32_t is_kernel;                    /* 1: the kernel, or one of its modules */
	uint32_t reserved;
};

int rawstack_profile_module(const struct rawstack_profile *p, uint32_t module,
			    struct rawstack_profile_module *ret, size_t ret_len);

struct rawstack_profile_location {
	uint64_t address;
	uint32_t module;      /* or RAWSTACK_PROFILE_NONE */
	uint32_t frame_count; /* 0: it has no name */
	uint32_t is_unnamed;  /* 1: it is in a module, and has no name but a placeholder */
	uint32_t is_return; /* 1: spools: look up the byte before; its names are those of a call */
};

int rawstack_profile_location(const struct rawstack_profile *p, uint32_t location,
			      struct rawstack_profile_location *ret, size_t ret_len);

struct rawstack_profile_frame {
	struct rawstack_profile_text function;    /* as people read it */
	struct rawstack_profile_text system_name; /* its linkage name, or empty */
	struct rawstack_profile_text file;        /* or empty */
	uint32_t line;                            /* 0: unknown */
	uint32_t start_line;                      /* of the function; 0: unknown */
};

/* The frame-th frame of a location, 0 being the innermost inlined call. */
int rawstack_profile_frame(const struct rawstack_profile *p, uint32_t location, uint32_t frame,
			   struct rawstack_profile_frame *ret, size_t ret_len);

struct rawstack_profile_sample {
	const uint32_t *locations; /* leaf first; borrowed as texts are */
	size_t location_count;
	const int64_t *values; /* value_count of them */
	size_t label_count;
};

int rawstack_profile_sample(const struct rawstack_profile *p, uint32_t sample,
			    struct rawstack_profile_sample *ret, size_t ret_len);

struct rawstack_profile_label {
	struct rawstack_profile_text key;
	struct rawstack_profile_text text; /* or empty: the value is number, in unit */
	struct rawstack_profile_text unit;
	int64_t number;
};

int rawstack_profile_label(const struct rawstack_profile *p, uint32_t sample, uint32_t label,
			   struct rawstack_profile_label *ret, size_t ret_len);

/* --- adding ---------------------------------------------------------------------------------- */

/* Makes a text of len bytes; what is added copies it. */
static inline struct rawstack_profile_text rawstack_profile_text(const char *p, size_t len)
{
	struct rawstack_profile_text text = {p, len};

	return text;
}

/* Returns 0, or why an add was refused. */
int rawstack_profile_check(const struct rawstack_profile *p, struct rawstack_profile_error *error);

/* Adds a type of value, before the first sample. */
void rawstack_profile_add_value(struct rawstack_profile *p, struct rawstack_profile_text type,
				struct rawstack_profile_text unit);

/* Sets time, duration and period. */
void rawstack_profile_set_times(struct rawstack_profile *p, int64_t time_ns, int64_t duration_ns,
				int64_t period, struct rawstack_profile_text period_type,
				struct rawstack_profile_text period_unit);

void rawstack_profile_add_comment(struct rawstack_profile *p, struct rawstack_profile_text text);

/* Add a row and return its number, or RAWSTACK_PROFILE_NONE (see rawstack_profile_check()). Only
 * start, file_offset, path and build_id of a module count; frame_count of a location is `count`. */
uint32_t rawstack_profile_add_module(struct rawstack_profile *p,
				     const struct rawstack_profile_module *module);
uint32_t rawstack_profile_add_location(struct rawstack_profile *p, uint32_t module,
				       uint64_t address,
				       const struct rawstack_profile_frame *frames, size_t count);

/* Adds `values`, value_count of them, to the sample of these locations, leaf first, and labels. */
uint32_t rawstack_profile_add_sample(struct rawstack_profile *p, const uint32_t *locations,
				     size_t location_count,
				     const struct rawstack_profile_label *labels,
				     size_t label_count, const int64_t *values);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
