/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PPROF_ROWS_H
#define RAWSTACK_PPROF_ROWS_H
/*
 * Rows of a pprof file into the tables of a profile: its strings, mappings, functions, locations,
 * samples, each after those it refers to. Rows are gathered, and added several at a time. Private
 * to pprof_read.c, which says in which order, and what the file is as a whole.
 */
#include "pprof_fields.h"
#include "pprof_ids.h"

#define PPROF_BATCH 32

struct pprof_rows {
	struct profile *profile;
	struct err *err;
	const uint8_t *base; /* of the message; errors say a byte of it */

	/* Read from the file's head, before its first sample. */
	uint32_t type_count;
	uint32_t value_of[LIMIT_PROFILE_VALUES]; /* type of the file for each of the profile's */

	uint32_t *strings; /* of the file's table -> of the profile's */
	size_t string_count, strings_cap;
	struct pprof_ids modules, functions, locations;

	/* Gathered, of one kind at a time. */
	size_t count;
	uint64_t ids[PPROF_BATCH];
	struct intern_key texts[PPROF_BATCH];
	struct profile_function function[PPROF_BATCH];
	struct profile_location location[PPROF_BATCH];
	struct profile_line *lines; /* of the locations, or */
	uint32_t *frames;           /* of the samples: rows of locations */
	size_t line_count, lines_cap, frame_count, frames_cap;
	size_t begin[PPROF_BATCH]; /* of the first line or frame of a row */
	uint32_t labels[PPROF_BATCH];
	int64_t values[PPROF_BATCH * LIMIT_PROFILE_VALUES];
};

/* `rows` is zeroed but for profile, err and base. */
void pprof_rows_init(struct pprof_rows *rows, size_t message_len);
void pprof_rows_done(struct pprof_rows *rows);

/* Returns ERR_DATA: what is wrong before a byte of the message. */
int pprof_bad(const struct pprof_rows *rows, const uint8_t *at, const char *what);
int pprof_full(const struct pprof_rows *rows); /* ERR_LIMIT */

/* The profile's string for an index of the file; ERR_DATA when there is none. */
int pprof_string(const struct pprof_rows *rows, const uint8_t *at, uint64_t index, uint32_t *ret);

/* One row each, as a field of the profile; pprof_*_end() behind the last of its kind. 0 or the
 * error, with which all ends. */
int pprof_add_string(struct pprof_rows *rows, struct pprof_field *f);
int pprof_add_mapping(struct pprof_rows *rows, struct pprof_field *message);
int pprof_add_function(struct pprof_rows *rows, struct pprof_field *message);
int pprof_add_location(struct pprof_rows *rows, struct pprof_field *message);
int pprof_add_sample(struct pprof_rows *rows, struct pprof_field *message);

int pprof_strings_end(struct pprof_rows *rows);
int pprof_functions_end(struct pprof_rows *rows);
int pprof_locations_end(struct pprof_rows *rows);
int pprof_samples_end(struct pprof_rows *rows);

/* pprof_field_next(), with its damage as an error. */
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
