/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PPROF_ROWS_H
#define RAWSTACK_PPROF_ROWS_H
/*
 * Puts the rows of a pprof file into the tables of a profile: strings, mappings, functions,
 * locations and samples, each after those it refers to. Rows are gathered and added several at a
 * time. Private to pprof_read.c, which knows the order and the file as a whole.
 */
#include "pprof_fields.h"
#include "pprof_ids.h"

#define PPROF_BATCH 32

struct pprof_rows {
	struct profile *profile;
	struct err *err;
	const uint8_t *base; /* start of the message; errors name a byte of it */

	/* Set before the file's first sample. */
	uint32_t type_count;
	uint32_t value_of[LIMIT_PROFILE_VALUES]; /* the file's type for each type of the profile */

	uint32_t *strings; /* string of the file -> string of the profile */
	size_t string_count, strings_cap;
	struct pprof_ids modules, functions, locations;

	/* Gathered rows, of one kind at a time. */
	size_t count;
	uint64_t ids[PPROF_BATCH];
	struct intern_key texts[PPROF_BATCH];
	struct profile_function function[PPROF_BATCH];
	struct profile_location location[PPROF_BATCH];
	struct profile_line *lines; /* lines of gathered locations */
	uint32_t *frames;           /* frames of gathered samples, as rows of locations */
	size_t line_count, lines_cap, frame_count, frames_cap;
	size_t begin[PPROF_BATCH]; /* the first line or frame of each row */
	uint32_t labels[PPROF_BATCH];
	int64_t values[PPROF_BATCH * LIMIT_PROFILE_VALUES];
};

/* Initialises `rows`, which is zeroed but for profile, err and base. */
void pprof_rows_init(struct pprof_rows *rows, size_t message_len);
void pprof_rows_done(struct pprof_rows *rows);

/* Returns ERR_DATA with what is wrong in front of a byte of the message. */
int pprof_bad(const struct pprof_rows *rows, const uint8_t *at, const char *what);
int pprof_full(const struct pprof_rows *rows); /* ERR_LIMIT */

/* Finds the profile's string for an index of the file; ERR_DATA if there is none. */
int pprof_string(const struct pprof_rows *rows, const uint8_t *at, uint64_t index, uint32_t *ret);

/* Add one row each, as a field of the profile; call pprof_*_end() behind the last of its kind.
 * Return 0 or an error, which ends the reading. */
int pprof_add_string(struct pprof_rows *rows, struct pprof_field *f);
int pprof_add_mapping(struct pprof_rows *rows, struct pprof_field *message);
int pprof_add_function(struct pprof_rows *rows, struct pprof_field *message);
int pprof_add_location(struct pprof_rows *rows, struct pprof_field *message);
int pprof_add_sample(struct pprof_rows *rows, struct pprof_field *message);

int pprof_strings_end(struct pprof_rows *rows);
int pprof_functions_end(struct pprof_rows *rows);
int pprof_locations_end(struct pprof_rows *rows);
int pprof_samples_end(struct pprof_rows *rows);

/* Calls pprof_field_next() and reports its damage as an error. */
static inline __attribute__((always_inline)) int pprof_next(const struct pprof_rows *rows,
							    struct bytes *in, struct pprof_field *f)
{
	int rc = pprof_field_next(in, f);

	if (rc >= 0)
		return rc;
	(void)pprof_bad(rows, in->p, pprof_damage(rc));
	return ERR_DATA;
}

#endif
