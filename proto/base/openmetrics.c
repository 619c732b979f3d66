/* SPDX-License-Identifier: Apache-2.0 */
#include "openmetrics.h"

#include <inttypes.h>

#define NS_PER_S UINT64_C(1000000000)

static void put_family_head(struct openmetrics *m, const char *name, const char *suffix,
			    const char *type, const char *unit, const char *help)
{
	if (!m->is_plain)
		suffix = "";
	buf_printf(m->out, "# TYPE rawstack_%s%s %s\n", name, suffix, type);
	if (unit && !m->is_plain)
		buf_printf(m->out, "# UNIT rawstack_%s %s\n", name, unit);
	buf_printf(m->out, "# HELP rawstack_%s%s %s\n", name, suffix, help);
}

static void put_row_head(struct openmetrics *m, const char *name, const char *suffix,
			 const char *labels)
{
	buf_printf(m->out, "rawstack_%s%s%s%s%s ", name, suffix, labels ? "{" : "",
		   labels ? labels : "", labels ? "}" : "");
}

static void put_row_seconds(struct openmetrics *m, uint64_t ns)
{
	buf_printf(m->out, "%" PRIu64 ".%09" PRIu64 "\n", ns / NS_PER_S, ns % NS_PER_S);
}

void openmetrics_counter_family(struct openmetrics *m, const char *name, const char *unit,
				const char *help)
{
	put_family_head(m, name, "_total", "counter", unit, help);
}

void openmetrics_gauge_family(struct openmetrics *m, const char *name, const char *unit,
			      const char *help)
{
	put_family_head(m, name, "", "gauge", unit, help);
}

void openmetrics_histogram_family(struct openmetrics *m, const char *name, const char *help)
{
	put_family_head(m, name, "", "histogram", "seconds", help);
}

void openmetrics_counter_row(struct openmetrics *m, const char *name, const char *labels,
			     uint64_t value)
{
	put_row_head(m, name, "_total", labels);
	buf_printf(m->out, "%" PRIu64 "\n", value);
}

void openmetrics_gauge_row(struct openmetrics *m, const char *name, const char *labels,
			   uint64_t value)
{
	put_row_head(m, name, "", labels);
	buf_printf(m->out, "%" PRIu64 "\n", value);
}

void openmetrics_histogram_rows(struct openmetrics *m, const char *name, const char *labels,
				const struct histogram *h)
{
	uint64_t count = 0;

	/* The sum is read first: what is added meanwhile may be in the counts and not in the sum,
	 * and never makes a mean that is too long. */
	const uint64_t sum_ns = atomic_load(&h->sum_ns);

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		count += atomic_load(&h->counts[i]);
		buf_printf(m->out, "rawstack_%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", name,
			   labels ? labels : "", labels ? "," : "",
			   i < HISTOGRAM_BOUNDS ? histogram_bound_texts[i] : "+Inf", count);
	}
	put_row_head(m, name, "_count", labels);
	buf_printf(m->out, "%" PRIu64 "\n", count);
	put_row_head(m, name, "_sum", labels);
	put_row_seconds(m, sum_ns);
}

void openmetrics_gauge(struct openmetrics *m, const char *name, const char *unit, const char *help,
		       uint64_t value)
{
	openmetrics_gauge_family(m, name, unit, help);
	openmetrics_gauge_row(m, name, NULL, value);
}

void openmetrics_counter(struct openmetrics *m, const char *name, const char *help, uint64_t value)
{
	openmetrics_counter_family(m, name, NULL, help);
	openmetrics_counter_row(m, name, NULL, value);
}

void openmetrics_gauge_seconds(struct openmetrics *m, const char *name, const char *help,
			       uint64_t ns)
{
	openmetrics_gauge_family(m, name, "seconds", help);
	put_row_head(m, name, "", NULL);
	put_row_seconds(m, ns);
}

void openmetrics_counter_seconds(struct openmetrics *m, const char *name, const char *help,
				 uint64_t ns)
{
	openmetrics_counter_family(m, name, "seconds", help);
	put_row_head(m, name, "_total", NULL);
	put_row_seconds(m, ns);
}

void openmetrics_end(struct openmetrics *m)
{
	if (!m->is_plain)
		buf_str(m->out, "# EOF\n");
}
