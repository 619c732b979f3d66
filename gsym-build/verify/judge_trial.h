/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_JUDGE_TRIAL_H
#define RAWSTACK_JUDGE_TRIAL_H
/*
 * Shared by judge.c and its siblings only: one table before the judge, and texts of the table and
 * of the file as numbers that can be compared: equal texts, equal numbers.
 */
#include "judge_priv.h"
#include "rsym.h"
#include "table_task.h"

/* A function that answers at its own entry. */
struct judge_entered {
	uint64_t entry;
	uint32_t name;
	bool from_symbol;
};

struct judge {
	struct judge_facts facts;
	uint32_t *facts_path; /* common number of a file of the facts; FACTS_NONE until asked */
	struct buf text;
	uint32_t empty; /* number of the empty text */
	uint64_t bias;  /* of what the image says, over the table */
	/* A symbol of a cold part, the last that was asked for, and where its function starts. */
	const struct symbol *last_cold;
	uint64_t last_cold_entry;
};

/* One table before the judge. */
struct judge_trial {
	struct judge *judge;
	const struct rsym *t;
	struct rsym_reader *texts;
	struct verify_report *report;
	struct buf *out;
	/* Common numbers of the table's texts, by id; FACTS_NONE until asked. */
	uint32_t *function_name, *file_path;
	uint32_t *function_type; /* likewise, of signatures; NULL: the table has none */
	bool has_spots;
	/* For aliases: functions that answer at their entry, by entry, and by scope whether it is
	 * the function of any answer. */
	struct judge_entered *entered;
	size_t entered_count, entered_cap;
	uint8_t *seen;
};

/* Strings of judge->facts.text: the name of a function of the table, the path of a file of it
 * (FACTS_NONE of RSYM_NONE), its signature (FACTS_NONE: none). ERR_DATA, ERR_MEMORY. */
int judge_name(struct judge_trial *j, uint32_t function, uint32_t *ret,
	       struct err *err) _must_check_;
int judge_path(struct judge_trial *j, uint32_t file, uint32_t *ret, struct err *err) _must_check_;
int judge_signature(struct judge_trial *j, uint32_t function, uint32_t *ret,
		    struct err *err) _must_check_;

/* The path of a file of the facts; FACTS_NONE of FACTS_NONE. ERR_MEMORY. */
int judge_facts_path(struct judge *j, uint32_t file, uint32_t *ret, struct err *err) _must_check_;

/* Appends an untrusted text to j->out, on one line; "??" for none. */
void judge_put_text(struct judge_trial *j, uint32_t string);

/*
 * The aliases of the table against those that the file has, when all answers were compared and
 * entered and seen are whole. The first differences go to j->out. ERR_DATA, ERR_MEMORY.
 */
int judge_compare_aliases(struct judge_trial *j, struct err *err) _must_check_;

#endif
