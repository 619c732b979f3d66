/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the service as OpenMetrics text (version 1.0). */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "event.h"
#include "io.h"
#include "limits.h"
#include "number.h"
#include "service_priv.h"

/* Returns the anonymous memory. "RSS" also counts pages of the store's map, which are not the
 * process's own. */
static uint64_t anonymous_bytes(void)
{
	_cleanup_(freep) uint8_t *text = NULL;
	const char *at;
	uint64_t kib;
	size_t len;

	if (io_read_file("/proc/self/status", MIB, &text, &len, NULL))
		return 0;
	at = strstr((const char *)text, "RssAnon:");
	if (!at)
		return 0;
	at += sizeof("RssAnon:") - 1;
	at += strspn(at, " \t");
	return number_take(&at, 10, &kib) ? kib * 1024 : 0;
}

static void put_process_metrics(struct openmetrics *m)
{
	struct rusage u;
	uint64_t ns;

	openmetrics_gauge(m, "anonymous_memory_bytes", "bytes",
			  "Memory of the process that no file backs.", anonymous_bytes());
	if (getrusage(RUSAGE_SELF, &u))
		return;
	ns = ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000 +
	     ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000;
	openmetrics_counter_seconds(m, "cpu_seconds",
				    "CPU time of the service itself, without its workers.", ns);
}

static void put_store_metrics(struct service *s, struct openmetrics *m)
{
	struct kept_files_stat kept;
	struct store_stat stat;

	store_stat(s->store, &stat);
	kept_files_stat(s->kept, &kept);
	openmetrics_gauge(m, "store_limit_bytes", "bytes", "What the store may take of the disk.",
			  stat.max_bytes);
	openmetrics_gauge(m, "store_file_bytes", "bytes", "What its file takes.", stat.file_bytes);
	openmetrics_gauge(m, "store_table_bytes", "bytes", "Bytes of all tables.",
			  stat.table_bytes);
	openmetrics_gauge(m, "store_tables", NULL, "Tables.", stat.ready_count);
	openmetrics_gauge(m, "store_other_tables", NULL,
			  "Tables of other formats, which another version of the service made.",
			  stat.other_count);
	openmetrics_gauge(m, "store_other_table_bytes", "bytes",
			  "Their bytes; they make room first.", stat.other_bytes);
	openmetrics_gauge(m, "missing_ids", NULL,
			  "Build ids that were asked for and are not there.", stat.missing_count);
	openmetrics_gauge_seconds(
		m, "store_oldest_read_seconds",
		"Age of the oldest snapshot, which keeps pages from being used again.",
		stat.oldest_read_ns);
	openmetrics_gauge(
		m, "store_oldest_read_commits", NULL,
		"Commits since the oldest snapshot of any process, a backup's among them.",
		stat.oldest_read_commits);
	openmetrics_counter(m, "store_evictions", "Tables that made room for others.",
			    stat.evicted_count);
	openmetrics_counter(m, "store_damaged_tables", "Tables found damaged and taken away.",
			    stat.damaged_count);
	openmetrics_counter(m, "store_scrub_rounds",
			    "Times that all tables were compared with their sums.",
			    stat.scrub_rounds);
	openmetrics_gauge(m, "kept_files", NULL, "Uploaded files that are kept.", kept.count);
	openmetrics_gauge(m, "kept_bytes", "bytes", "Their bytes on disk.", kept.bytes);
	openmetrics_gauge(m, "kept_limit_bytes", "bytes", "What they may take.", kept.max_bytes);
}

static void put_retention_metrics(struct service *s, struct openmetrics *m)
{
	struct retention_stat stat;
	struct store_stat store;
	char labels[40];

	store_stat(s->store, &store);
	retention_stat(s->retention, &stat);
	openmetrics_counter_family(
		m, "removed_tables", NULL,
		"Tables that went without a client's asking: to make room, because "
		"they were damaged, or by a rule of --retain.");
	openmetrics_counter_row(m, "removed_tables", "reason=\"room\"", store.evicted_count);
	openmetrics_counter_row(m, "removed_tables", "reason=\"damaged\"", store.damaged_count);
	for (int i = 0; i < RETAIN_FOREVER; i++) {
		snprintf(labels, sizeof(labels), "reason=\"%s\"",
			 retain_bound_name((enum retain_bound)i));
		openmetrics_counter_row(m, "removed_tables", labels, stat.removed[i]);
	}
	openmetrics_counter(m, "retention_rounds",
			    "Times that the rules of --retain have looked at all tables.",
			    stat.rounds);
}

static void put_work_metrics(struct service *s, struct openmetrics *m)
{
	struct uploads_stat uploads;

	uploads_stat(s->uploads, &uploads);
	openmetrics_gauge(m, "uploads", NULL, "Uploads begun, and not built yet.", uploads.count);
	openmetrics_gauge(m, "uploads_building", NULL, "Of them, those queued or being built.",
			  uploads.building);
	openmetrics_gauge(m, "uploads_received_bytes", "bytes", "What they have on disk.",
			  uploads.received);
	openmetrics_counter(m, "builds", "Tables stored.", atomic_load(&s->counts.builds));
	openmetrics_counter(m, "builds_failed", "Builds that failed, of ids without a table.",
			    atomic_load(&s->counts.builds_failed));
	openmetrics_counter(m, "batches", "Batches answered.", atomic_load(&s->counts.batches));
	openmetrics_counter(m, "locations", "Locations in them.",
			    atomic_load(&s->counts.locations));
	openmetrics_counter(m, "frames", "Frames in the answers.", atomic_load(&s->counts.frames));
	openmetrics_counter(m, "deferred", "Locations that did not fit an answer.",
			    atomic_load(&s->counts.deferred));
	openmetrics_gauge(m, "streams", NULL, "SymbolizeStream calls that are open.",
			  atomic_load(&s->stream_count));
	openmetrics_gauge(m, "stream_bytes", "bytes", "Dictionaries of all open streams.",
			  atomic_load(&s->stream_bytes));
}

static void put_time_metrics(struct service *s, struct openmetrics *m)
{
	const struct uploads_times *uploads = uploads_times(s->uploads);

	openmetrics_histogram_family(m, "lookup_seconds", "Time of the lookups of one request.");
	openmetrics_histogram_rows(m, "lookup_seconds", NULL, &s->lookup_times);
	openmetrics_histogram_family(m, "upload_seconds",
				     "Time from the first Begin of a file to its Finish.");
	openmetrics_histogram_rows(m, "upload_seconds", NULL, &uploads->receiving);
	openmetrics_histogram_family(m, "build_wait_seconds",
				     "Time that a complete upload waited for its build.");
	openmetrics_histogram_rows(m, "build_wait_seconds", NULL, &uploads->waiting);
	openmetrics_histogram_family(m, "build_seconds", "Time of the build of an upload.");
	openmetrics_histogram_rows(m, "build_seconds", "result=\"stored\"", &uploads->stored);
	openmetrics_histogram_rows(m, "build_seconds", "result=\"failed\"", &uploads->failed);
}

static void put_log_metrics(struct openmetrics *m)
{
	char labels[40];

	openmetrics_counter_family(m, "log_lines_left_out", NULL,
				   "Lines that the log left out because there were too many.");
	for (int i = 0; i < EVENT_KINDS; i++) {
		snprintf(labels, sizeof(labels), "event=\"%s\"", event_kind_name(i));
		openmetrics_counter_row(m, "log_lines_left_out", labels, event_left_out(i));
	}
}

static void put_transport_metrics(const struct service_outside *o, struct openmetrics *m)
{
	openmetrics_gauge(m, "ready", NULL, "1 while /readyz says that it is ready.", o->ready);
	openmetrics_gauge(m, "connections", NULL, "Connections that are open.", o->connections);
	openmetrics_gauge(m, "connections_limit", NULL, "How many may be; descriptors decide.",
			  o->connections_max);
	openmetrics_counter(m, "connections_ended",
			    "Connections that were silent and made place for others.",
			    o->connections_ended);
	openmetrics_gauge(m, "stuck_threads", NULL, "Threads that are at one thing for too long.",
			  o->stuck_threads);
	openmetrics_gauge_seconds(m, "stuck_seconds", "How long the one is that is longest.",
				  o->stuck_ns);
	openmetrics_counter(m, "connections_flooded",
			    "Connections that ended because of too many frames that only cost.",
			    o->connections_flooded);
	openmetrics_counter(m, "connections_refused", "Connections for which there was no place.",
			    o->connections_refused);
	openmetrics_counter(m, "http_requests_answered",
			    "Requests of the HTTP port that had an answer.", o->http_answered);
	openmetrics_counter(m, "http_requests_refused",
			    "Requests of the HTTP port for pages or by methods that are not there.",
			    o->http_refused);
	openmetrics_counter(m, "http_connections_ended",
			    "Connections of the HTTP port that were too slow, or made place.",
			    o->http_ended);
}

void service_metrics(struct service *s, const struct service_outside *outside,
		     struct openmetrics *m)
{
	put_store_metrics(s, m);
	put_retention_metrics(s, m);
	put_work_metrics(s, m);
	put_time_metrics(s, m);
	put_log_metrics(m);
	put_transport_metrics(outside, m);
	put_process_metrics(m);
}
