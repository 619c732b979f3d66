/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_REPORT_H
#define RAWSTACK_RSYM_REPORT_H
/*
 * The report of a build, which says what it could read of its input and what it could not. The
 * table keeps it, so that a user can tell why an answer is missing. No lookup reads it.
 *
 *	struct rsym_report report;
 *	struct rsym_note note;
 *
 *	if (rsym_report_read(&table, &report))
 *		while (rsym_report_next(&report, &note))
 *			printf("%s: %s\n", note.part, note.why);
 */
#include "bytes.h"
#include "rsym.h"

struct rsym_report {
	uint64_t input_len;                 /* bytes of the file */
	uint64_t unit_count, units_skipped; /* units of DWARF */
	uint64_t symbol_count;
	uint64_t inline_count; /* inlined calls with code */
	uint64_t relocations_skipped;
	uint32_t note_count;
	bool needs_alt_file; /* names lie in a dwz file that was not there */
	struct bytes notes;  /* the notes not yet returned */
};

/* A part of the input that could not be read. The texts are untrusted bytes. */
struct rsym_note {
	const char *part; /* where it is: "unit at 0x1f3", "line table of unit at 0x1f3" */
	const char *name; /* name of the unit, as its compiler gives it, or "" */
	const char *why;
};

/* Adds a note to a buffer of notes, unless that would exceed its ceiling. Returns whether it was
 * added. */
bool rsym_report_note(struct buf *notes, const char *part, const char *name, const char *why);

/* Appends the section of a report whose notes are *notes. */
void rsym_report_put(struct buf *out, const struct rsym_report *report, const struct buf *notes);

/* Reads the report, whose texts stay in the table. Returns 1, or 0 if the table has none. */
int rsym_report_read(const struct rsym *t, struct rsym_report *ret);

/* Reads the next note. Returns 1, or 0 behind the last. */
int rsym_report_next(struct rsym_report *r, struct rsym_note *ret);

/* Checks the section for rsym_open(). ERR_DATA if it is damaged. */
int rsym_report_check(const struct rsym *t, struct err *err);

#endif
