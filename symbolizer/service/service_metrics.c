/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the service as OpenMetrics text (version 1.0). */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "io.h"
#include "limits.h"
#include "number.h"
#include "service_priv.h"

static void put_family(struct buf *out, const char *name, const char *type, const char *unit,
		       const char *help)
{
	buf_printf(out, "# TYPE rawstack_%s %s\n", name, type);
	if (unit)
		buf_printf(out, "# UNIT rawstack_%s %s\n", name, unit);
	buf_printf(out, "# HELP rawstack_%s %s\n", name, help);
}

static void put_gauge(struct buf *out, const char *name, const char *unit, const char *help,
		      uint64_t value)
{
	put_family(out, name, "gauge", unit, help);
	buf_printf(out, "rawstack_%s %" PRIu64 "\n", name, value);
}

static void put_counter(struct buf *out, const char *name, const char *help, uint64_t value)
{
	put_family(out, name, "counter", NULL, help);
	buf_printf(out, "rawstack_%s_total %" PRIu64 "\n", name, value);
}

static void put_seconds(struct buf *out, const char *name, const char *type, const char *suffix,
			const char *help, uint64_t ns)
{
	put_family(out, name, type, "seconds", help);
	buf_printf(out, "rawstack_%s%s %" PRIu64 ".%09" PRIu64 "\n", name, suffix, ns / 1000000000,
		   ns % 1000000000);
}

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

static void put_process_metrics(struct buf *out)
{
	struct rusage u;
	uint64_t ns;

	put_gauge(out, "anonymous_memory_bytes", "bytes",
		  "Memory of the process that no file backs.", anonymous_bytes());
	if (getrusage(RUSAGE_SELF, &u))
		return;
	ns = ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000 +
	     ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000;
	put_seconds(out, "cpu_seconds", "counter", "_total",
		    "CPU time of the service itself, without its workers.", ns);
}

static void put_store_metrics(struct service *s, struct buf *out)
{
	struct kept_files_stat kept;
	struct store_stat stat;

	store_stat(s->store, &stat);
	kept_files_stat(s->kept, &kept);
	put_gauge(out, "store_limit_bytes", "bytes", "What the store may take of the disk.",
		  stat.max_bytes);
	put_gauge(out, "store_file_bytes", "bytes", "What its file takes.", stat.file_bytes);
	put_gauge(out, "store_table_bytes", "bytes", "Bytes of all tables.", stat.table_bytes);
	put_gauge(out, "store_tables", NULL, "Tables.", stat.ready_count);
	put_gauge(out, "store_other_tables", NULL,
		  "Tables of other formats, which another version of the service made.",
		  stat.other_count);
	put_gauge(out, "store_other_table_bytes", "bytes", "Their bytes; they make room first.",
		  stat.other_bytes);
	put_gauge(out, "missing_ids", NULL, "Build ids that were asked for and are not there.",
		  stat.missing_count);
	put_seconds(out, "store_oldest_read_seconds", "gauge", "",
		    "Age of the oldest snapshot, which keeps pages from being used again.",
		    stat.oldest_read_ns);
	put_gauge(out, "store_oldest_read_commits", NULL,
		  "Commits since the oldest snapshot of any process, a backup's among them.",
		  stat.oldest_read_commits);
	put_counter(out, "store_damaged_tables", "Tables found damaged and taken away.",
		    stat.damaged_count);
	put_counter(out, "store_scrub_rounds",
		    "Times that all tables were compared with their sums.", stat.scrub_rounds);
	put_gauge(out, "kept_files", NULL, "Uploaded files that are kept.", kept.count);
	put_gauge(out, "kept_bytes", "bytes", "Their bytes on disk.", kept.bytes);
	put_gauge(out, "kept_limit_bytes", "bytes", "What they may take.", kept.max_bytes);
}

static void put_work_metrics(struct service *s, struct buf *out)
{
	struct uploads_stat uploads;

	uploads_stat(s->uploads, &uploads);
	put_gauge(out, "uploads", NULL, "Uploads begun, and not built yet.", uploads.count);
	put_gauge(out, "uploads_building", NULL, "Of them, those queued or being built.",
		  uploads.building);
	put_gauge(out, "uploads_received_bytes", "bytes", "What they have on disk.",
		  uploads.received);
	put_counter(out, "builds", "Tables stored.", atomic_load(&s->counts.builds));
	put_counter(out, "builds_failed", "Builds that failed, of ids without a table.",
		    atomic_load(&s->counts.builds_failed));
	put_counter(out, "batches", "Batches answered.", atomic_load(&s->counts.batches));
	put_counter(out, "locations", "Locations in them.", atomic_load(&s->counts.locations));
	put_counter(out, "frames", "Frames in the answers.", atomic_load(&s->counts.frames));
	put_counter(out, "deferred", "Locations that did not fit an answer.",
		    atomic_load(&s->counts.deferred));
	put_gauge(out, "streams", NULL, "SymbolizeStream calls that are open.",
		  atomic_load(&s->stream_count));
	put_gauge(out, "stream_bytes", "bytes", "Dictionaries of all open streams.",
		  atomic_load(&s->stream_bytes));
}

static void put_transport_metrics(const struct service_outside *o, struct buf *out)
{
	put_gauge(out, "connections", NULL, "Connections that are open.", o->connections);
	put_gauge(out, "connections_limit", NULL, "How many may be; descriptors decide.",
		  o->connections_max);
	put_counter(out, "connections_ended",
		    "Connections that were silent and made place for others.",
		    o->connections_ended);
	put_gauge(out, "stuck_threads", NULL, "Threads that are at one thing for too long.",
		  o->stuck_threads);
	put_seconds(out, "stuck_seconds", "gauge", "", "How long the one is that is longest.",
		    o->stuck_ns);
	put_counter(out, "connections_flooded",
		    "Connections that ended because of too many frames that only cost.",
		    o->connections_flooded);
	put_counter(out, "connections_refused", "Connections for which there was no place.",
		    o->connections_refused);
}

void service_metrics(struct service *s, const struct service_outside *outside, struct buf *out)
{
	put_store_metrics(s, out);
	put_work_metrics(s, out);
	put_transport_metrics(outside, out);
	put_process_metrics(out);
	buf_str(out, "# EOF\n");
}
