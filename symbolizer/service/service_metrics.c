/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the service as OpenMetrics text (version 1.0). */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "io.h"
#include "limits.h"
#include "service_priv.h"

static void family(struct buf *out, const char *name, const char *type, const char *unit,
		   const char *help)
{
	buf_printf(out, "# TYPE rawstack_%s %s\n", name, type);
	if (unit)
		buf_printf(out, "# UNIT rawstack_%s %s\n", name, unit);
	buf_printf(out, "# HELP rawstack_%s %s\n", name, help);
}

static void gauge(struct buf *out, const char *name, const char *unit, const char *help,
		  uint64_t value)
{
	family(out, name, "gauge", unit, help);
	buf_printf(out, "rawstack_%s %" PRIu64 "\n", name, value);
}

static void counter(struct buf *out, const char *name, const char *help, uint64_t value)
{
	family(out, name, "counter", NULL, help);
	buf_printf(out, "rawstack_%s_total %" PRIu64 "\n", name, value);
}

static void seconds(struct buf *out, const char *name, const char *type, const char *suffix,
		    const char *help, uint64_t ns)
{
	family(out, name, type, "seconds", help);
	buf_printf(out, "rawstack_%s%s %" PRIu64 ".%09" PRIu64 "\n", name, suffix, ns / 1000000000,
		   ns % 1000000000);
}

/* Anonymous memory: pages of the store's map are not the process's own, though "RSS" counts them.
 */
static uint64_t anonymous_bytes(void)
{
	_cleanup_(freep) uint8_t *text = NULL;
	const char *at;
	size_t len;

	if (io_read_file("/proc/self/status", MIB, &text, &len, NULL))
		return 0;
	at = strstr((const char *)text, "RssAnon:");
	return at ? strtoull(at + sizeof("RssAnon:") - 1, NULL, 10) * 1024 : 0;
}

static void process(struct buf *out)
{
	struct rusage u;
	uint64_t ns;

	gauge(out, "anonymous_memory_bytes", "bytes", "Memory of the process that no file backs.",
	      anonymous_bytes());
	if (getrusage(RUSAGE_SELF, &u))
		return;
	ns = ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000 +
	     ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000;
	seconds(out, "cpu_seconds", "counter", "_total",
		"CPU time of the service itself, without its workers.", ns);
}

static void store(struct service *s, struct buf *out)
{
	struct kept_files_stat kept;
	struct store_stat stat;

	store_stat(s->store, &stat);
	kept_files_stat(s->kept, &kept);
	gauge(out, "store_limit_bytes", "bytes", "What the store may take of the disk.",
	      stat.max_bytes);
	gauge(out, "store_file_bytes", "bytes", "What its file takes.", stat.file_bytes);
	gauge(out, "store_table_bytes", "bytes", "Bytes of all tables.", stat.table_bytes);
	gauge(out, "store_tables", NULL, "Tables.", stat.ready_count);
	gauge(out, "store_other_tables", NULL,
	      "Tables of other formats, which another version of the service made.",
	      stat.other_count);
	gauge(out, "store_other_table_bytes", "bytes", "Their bytes; they make room first.",
	      stat.other_bytes);
	gauge(out, "missing_ids", NULL, "Build ids that were asked for and are not there.",
	      stat.missing_count);
	seconds(out, "store_oldest_read_seconds", "gauge", "",
		"Age of the oldest snapshot, which keeps pages from being used again.",
		stat.oldest_read_ns);
	gauge(out, "store_oldest_read_commits", NULL,
	      "Commits since the oldest snapshot of any process, a backup's among them.",
	      stat.oldest_read_commits);
	counter(out, "store_damaged_tables", "Tables found damaged and taken away.",
		stat.damaged_count);
	counter(out, "store_scrub_rounds", "Times that all tables were compared with their sums.",
		stat.scrub_rounds);
	gauge(out, "kept_files", NULL, "Uploaded files that are kept.", kept.count);
	gauge(out, "kept_bytes", "bytes", "Their bytes on disk.", kept.bytes);
	gauge(out, "kept_limit_bytes", "bytes", "What they may take.", kept.max_bytes);
}

static void work(struct service *s, struct buf *out)
{
	struct uploads_stat uploads;

	uploads_stat(s->uploads, &uploads);
	gauge(out, "uploads", NULL, "Uploads begun, and not built yet.", uploads.count);
	gauge(out, "uploads_building", NULL, "Of them, those queued or being built.",
	      uploads.building);
	gauge(out, "uploads_received_bytes", "bytes", "What they have on disk.", uploads.received);
	counter(out, "builds", "Tables stored.", atomic_load(&s->counts.builds));
	counter(out, "builds_failed", "Builds that failed, of ids without a table.",
		atomic_load(&s->counts.builds_failed));
	counter(out, "batches", "Batches answered.", atomic_load(&s->counts.batches));
	counter(out, "locations", "Locations in them.", atomic_load(&s->counts.locations));
	counter(out, "frames", "Frames in the answers.", atomic_load(&s->counts.frames));
	counter(out, "deferred", "Locations that did not fit an answer.",
		atomic_load(&s->counts.deferred));
	gauge(out, "streams", NULL, "SymbolizeStream calls that are open.",
	      atomic_load(&s->stream_count));
	gauge(out, "stream_bytes", "bytes", "Dictionaries of all open streams.",
	      atomic_load(&s->stream_bytes));
}

static void transport(const struct service_outside *o, struct buf *out)
{
	gauge(out, "connections", NULL, "Connections that are open.", o->connections);
	gauge(out, "connections_limit", NULL, "How many may be; descriptors decide.",
	      o->connections_max);
	counter(out, "connections_ended", "Connections that were silent and made place for others.",
		o->connections_ended);
	gauge(out, "stuck_threads", NULL, "Threads that are at one thing for too long.",
	      o->stuck_threads);
	seconds(out, "stuck_seconds", "gauge", "", "How long the one is that is longest.",
		o->stuck_ns);
	counter(out, "connections_flooded",
		"Connections that ended because of too many frames that only cost.",
		o->connections_flooded);
	counter(out, "connections_refused", "Connections for which there was no place.",
		o->connections_refused);
}

void service_metrics(struct service *s, const struct service_outside *outside, struct buf *out)
{
	store(s, out);
	work(s, out);
	transport(outside, out);
	process(out);
	buf_str(out, "# EOF\n");
}
