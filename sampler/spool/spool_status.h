/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_STATUS_H
#define RAWSTACK_SPOOL_STATUS_H
/*
 * The state of a spool, its capturer and its shipper, from the files that they leave in the
 * directory: no process is asked, so it works when one hangs. Reads two segments at most, and what
 * was stored behind the last account (spool_account.h). Works on the file system itself.
 */
#include "buf.h"
#include "spool.h"

struct spool_status {
	bool is_written; /* a capturer holds the lock */
	bool has_data;   /* origin and newest_ns are known */
	struct spool_origin origin;
	uint64_t unix_ns, newest_ns; /* now, and of the newest sample; since 1970 */
	double rate;                 /* samples a second, over the last minute */
	/* Samples that came to the spool, stored or not: of all runs with an account since the
	 * directory was made, and of the last run. */
	uint64_t samples, run_samples;
	uint64_t losses[SPOOL_LOSS_COUNT], run_losses[SPOOL_LOSS_COUNT];
	char failing[240]; /* why nothing can be stored, or could be when the run ended; "": storing
			      works */
	struct spool_ship_ends
		ship_ends; /* of the shipper that the capturer starts, in the last run */
	uint64_t dropped;  /* samples that limits removed unsent, since the directory was made */

	uint64_t segment_count, len;       /* all of them, on the disk */
	uint64_t unsent_len;               /* bytes not acknowledged, roughly */
	uint64_t unread_count, unread_len; /* segments in a format that this version cannot read */
	uint64_t oldest_ns; /* of the first sample that is not acknowledged; 0: none */
	uint64_t ack_ns;    /* of the last acknowledgement; 0: none */

	/* The shipper tells this about itself; all is empty if it tells nothing. */
	struct {
		char state[16], server[256], why[480];
		uint64_t unix_ns, samples, batches, again, waiting, forgotten;
	} ship;
};

/* The file in which the shipper tells its status, in lines "<field> <value>". */
#define SPOOL_SHIPPER_NAME "shipper.status"

/* Returns 0, ERR_NOT_FOUND, ERR_IO, ERR_DATA, ERR_UNSUPPORTED, ... */
int spool_status_read(struct spool_status *ret, const char *dir, struct err *err);

/* Appends the status as OpenMetrics 1.0 text, "# EOF" included. */
void spool_status_metrics(const struct spool_status *s, struct buf *out);

#endif
