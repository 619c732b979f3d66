/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_OPENMETRICS_H
#define RAWSTACK_OPENMETRICS_H
/*
 * Writes figures as OpenMetrics text (version 1.0), or as the older text format of Prometheus
 * (0.0.4), in which the family of a counter has the name of its rows and a text has no end mark.
 * Names come without the prefix "rawstack_"; labels are complete ("method=\"Begin\"") or NULL, and
 * their values are the program's own words, which need no escapes. For one thread at a time.
 */
#include "buf.h"
#include "histogram.h"

struct openmetrics {
	struct buf *out;
	bool is_plain; /* text format 0.0.4 */
};

/* Begin a family. Its rows follow. unit may be NULL. */
void openmetrics_counter_family(struct openmetrics *m, const char *name, const char *unit,
				const char *help);
void openmetrics_gauge_family(struct openmetrics *m, const char *name, const char *unit,
			      const char *help);
void openmetrics_histogram_family(struct openmetrics *m, const char *name, const char *help);

/* One row of the family; the name of a counter's row ends in _total, which is added. */
void openmetrics_counter_row(struct openmetrics *m, const char *name, const char *labels,
			     uint64_t value);
void openmetrics_gauge_row(struct openmetrics *m, const char *name, const char *labels,
			   uint64_t value);
/* All rows of one histogram, whose family name ends in _seconds. */
void openmetrics_histogram_rows(struct openmetrics *m, const char *name, const char *labels,
				const struct histogram *h);

/* A family of one row. The values of the last two are in nanoseconds, and written in seconds. */
void openmetrics_gauge(struct openmetrics *m, const char *name, const char *unit, const char *help,
		       uint64_t value);
void openmetrics_counter(struct openmetrics *m, const char *name, const char *help, uint64_t value);
void openmetrics_gauge_seconds(struct openmetrics *m, const char *name, const char *help,
			       uint64_t ns);
void openmetrics_counter_seconds(struct openmetrics *m, const char *name, const char *help,
				 uint64_t ns);

/* Ends the text. */
void openmetrics_end(struct openmetrics *m);

#endif
