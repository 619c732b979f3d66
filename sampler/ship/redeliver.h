/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_REDELIVER_H
#define RAWSTACK_REDELIVER_H
/*
 * Lists the batches that were delivered without some names, because the service had no table yet,
 * and the build ids that they wait for. The list is kept in the file `again` of the spool, so that
 * it survives the shipper. A batch can be delivered again while the spool still holds its segment.
 * If the file is lost, names are lost, but never samples. A list is for one thread.
 *
 * The file is text, and lines are appended to it:
 *
 *	id <hex>					ids are numbered from 0
 *	batch <segment> <place> <samples> <id> <id>...	the batch waits for these ids
 *	done <segment> <place>				the batch no longer waits
 *
 * A last line without its end is not read. Ids that no batch waits for any more are left out when
 * the file is read and when it is written anew.
 */
#include "build_id.h"
#include "intern.h"
#include "io.h"
#include "limits.h"
#include "spool.h"

/* Most batches that wait for names: those of a day and a half, at one batch in ten seconds. */
#define LIMIT_REDELIVER LIMIT(16384)

struct redeliver_batch {
	uint64_t segment, place;
	uint32_t samples;
	bool is_due;         /* one of its ids came */
	uint64_t put_off_ns; /* not due before this time (monotonic) */
	uint32_t id_count;
	uint32_t *ids; /* numbers in `ids` of struct redeliver */
};

struct redeliver {
	const struct io *io;
	int dir_fd;
	struct intern ids; /* bytes of build ids */
	uint32_t *uses;    /* for each id, how many batches wait for it */
	size_t used_count; /* ids that a batch waits for */
	struct redeliver_batch *batches;
	size_t count, cap, due;
	uint64_t file_len;
	bool must_rewrite;  /* the file has other numbers for ids, or its content is unknown */
	uint64_t forgotten; /* batches that too many others pushed out, since it was opened */
};

/* Reads the file if there is one, and skips damaged lines. Returns 0, ERR_IO or ERR_MEMORY. */
int redeliver_open(struct redeliver *a, const char *spool, const struct io *io, struct err *err);
void redeliver_close(struct redeliver *a);

/* Notes that a batch lacks the modules marked in missing[], in place of what was noted before; a
 * batch without marked modules is forgotten. Above LIMIT_REDELIVER batches or LIMIT_MISSING_IDS ids
 * the oldest batches are forgotten and counted. Returns 0 or an error. */
int redeliver_note(struct redeliver *a, const struct spool_batch *batch, const bool *missing,
		   struct err *err);

/* Makes the batches due that lack the table of this id, because it arrived. */
void redeliver_ready(struct redeliver *a, const void *id, size_t len);

/* Returns the oldest batch that is due, which is valid until the next call, or NULL if none is. */
const struct redeliver_batch *redeliver_due(struct redeliver *a);

/* Returns whether another delivery, which lacks these modules, would lack one that the batch at the
 * sink has, because a table that was there is gone. */
bool redeliver_is_worse(const struct redeliver *a, const struct redeliver_batch *noted,
			const struct spool_batch *batch, const bool *missing);

/* Makes a batch not due for `ns`, although one of its ids is there. */
void redeliver_put_off(struct redeliver *a, uint64_t segment, uint64_t place, uint64_t ns);

/* Forgets a batch that cannot or need not be delivered again. Returns 0, or an error if the file
 * cannot be written. */
int redeliver_forget(struct redeliver *a, uint64_t segment, uint64_t place, struct err *err);

/* Returns whether any batch waits for the id of this number. Numbers are valid until the next
 * redeliver_note(). */
bool redeliver_waits_for(const struct redeliver *a, uint32_t id);

#endif
