/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_stat.h"

#include <stdio.h>

/* gRPC has no function for the names of its statuses. */
static const char *const status_names[RPC_STATUSES] = {
	"OK",
	"CANCELLED",
	"UNKNOWN",
	"INVALID_ARGUMENT",
	"DEADLINE_EXCEEDED",
	"NOT_FOUND",
	"ALREADY_EXISTS",
	"PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED",
	"FAILED_PRECONDITION",
	"ABORTED",
	"OUT_OF_RANGE",
	"UNIMPLEMENTED",
	"INTERNAL",
	"UNAVAILABLE",
	"DATA_LOSS",
	"UNAUTHENTICATED",
};

static const char *const refusal_names[RPC_REFUSALS] = {
	[RPC_REFUSED_CALLS] = "calls",       [RPC_REFUSED_METHOD] = "method",
	[RPC_REFUSED_IDENTITY] = "identity", [RPC_REFUSED_ROLE] = "role",
	[RPC_REFUSED_QUEUE] = "queue",       [RPC_REFUSED_TURN] = "turn",
	[RPC_REFUSED_QUOTA] = "quota",       [RPC_REFUSED_REQUEST] = "request",
	[RPC_REFUSED_SILENT] = "silent",
};

const char *rpc_status_name(grpc_status_code status)
{
	return status >= 0 && status < RPC_STATUSES ? status_names[status] : "UNKNOWN";
}

void rpc_stat_add(struct rpc_stat *s, const struct rpc_method *methods, size_t count)
{
	for (size_t i = 0; i < count && s->row_count < RPC_STAT_METHODS; i++)
		s->rows[s->row_count++].method = &methods[i];
}

struct rpc_stat_row *rpc_stat_row(struct rpc_stat *s, const struct rpc_method *method)
{
	for (size_t i = 0; method && i < s->row_count; i++)
		if (s->rows[i].method == method)
			return &s->rows[i];
	return &s->other;
}

void rpc_stat_count(struct rpc_stat_row *row, grpc_status_code status, uint64_t begin_ns)
{
	if (status < 0 || status >= RPC_STATUSES)
		status = GRPC_STATUS_UNKNOWN;
	atomic_fetch_add_explicit(&row->statuses[status], 1, memory_order_relaxed);
	histogram_add_since(&row->seconds, begin_ns);
}

void rpc_stat_refuse(struct rpc_stat *s, enum rpc_refused why)
{
	atomic_fetch_add_explicit(&s->refusals[why], 1, memory_order_relaxed);
}

/* Returns the row at i: those of the methods, then that of all others. */
static struct rpc_stat_row *stat_row_at(struct rpc_stat *s, size_t i, const char **ret_name)
{
	struct rpc_stat_row *row = i < s->row_count ? &s->rows[i] : &s->other;

	*ret_name = row->method ? row->method->path + 1 : "other";
	return row;
}

void rpc_stat_write(struct rpc_stat *s, struct openmetrics *m)
{
	struct rpc_stat_row *row;
	const char *name;
	char labels[160];

	/* Every status has a row from the start, so that the first error of a kind is an increase.
	 */
	openmetrics_counter_family(m, "requests", NULL, "Calls that ended, by method and status.");
	for (size_t i = 0; i <= s->row_count; i++)
		for (int status = 0; status < RPC_STATUSES; status++) {
			row = stat_row_at(s, i, &name);
			snprintf(labels, sizeof(labels), "method=\"%s\",status=\"%s\"", name,
				 status_names[status]);
			openmetrics_counter_row(m, "requests", labels,
						atomic_load(&row->statuses[status]));
		}
	openmetrics_histogram_family(m, "request_seconds",
				     "Time of calls from their beginning to their end.");
	for (size_t i = 0; i <= s->row_count; i++) {
		row = stat_row_at(s, i, &name);
		snprintf(labels, sizeof(labels), "method=\"%s\"", name);
		openmetrics_histogram_rows(m, "request_seconds", labels, &row->seconds);
	}
	openmetrics_histogram_family(m, "queue_seconds", "Time that requests waited for a worker.");
	openmetrics_histogram_rows(m, "queue_seconds", NULL, &s->waits);
	openmetrics_counter_family(m, "refusals", NULL,
				   "Calls that the transport refused or ended, by reason.");
	for (int i = 0; i < RPC_REFUSALS; i++) {
		snprintf(labels, sizeof(labels), "reason=\"%s\"", refusal_names[i]);
		openmetrics_counter_row(m, "refusals", labels, atomic_load(&s->refusals[i]));
	}
}
