/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-sampler status: reports how capture, spool and shipping are, from the spool alone. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "json.h"
#include "options.h"
#include "sampler_command.h"
#include "spool_status.h"
#include "stdout_end.h"

struct status {
	enum {
		FORM_TEXT,
		FORM_JSON,
		FORM_METRICS
	} form;
	const char *output;
};

static const struct option_row rows[] = {
	OPTION_SET(0, "json", struct status, form, FORM_JSON, "one object"),
	OPTION_SET(0, "openmetrics", struct status, form, FORM_METRICS,
		   "OpenMetrics text, as a collector of text files takes it"),
	OPTION_TEXT(0, "output", "FILE", struct status, output,
		    "into a file, replaced as a whole, instead of standard output"),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack-sampler status",
	.synopsis = "[--json | --openmetrics] [--output FILE] DIR",
	.about =
		"Says how capture, spool and shipping are, from what they leave in the spool DIR; "
		"nobody is asked, so it works whatever hangs.\n"
		"\n"
		"Losses are those of all runs since the directory was made, and of the last one; "
		"samples that could not be stored are among them:\n"
		"  missed         ticks of the clock that did not come: the machine was too busy\n"
		"  ring_full      samples that came faster than they were read\n"
		"  stack_fault    samples without a stack: its memory could not be read\n"
		"  throttled      times that the kernel held an event back, which came too often\n"
		"  spool_error    samples that could not be written: a full disk, say\n"
		"  spool_dropped  samples that limits of the spool removed before they were "
		"shipped\n"
		"\n"
		"No samples are lost with these; the first two are frames:\n"
		"  unresolved     frames without a module: in no known mapping, or in a file "
		"without\n"
		"                 an id\n"
		"  unreadable     those of them in files that could not be read\n"
		"  perf_lost      records of mappings that came faster than they were read: frames "
		"of\n"
		"                 files that were mapped in those moments may have no module\n"
		"In JSON they stand in fields of their own, and, as ever, in \"losses\".",
	.rows = rows,
	.operands_min = 1,
	.operands_max = 1,
	.operands_wanted = "one DIR is needed",
};

static uint64_t age_of(const struct spool_status *s, uint64_t ns)
{
	return ns && s->unix_ns > ns ? s->unix_ns - ns : 0;
}

/* Appends the losses that are not 0, or "none". */
static void put_losses(const uint64_t losses[static SPOOL_LOSS_COUNT], struct buf *out)
{
	const char *between = "";

	for (int i = 0; i < SPOOL_LOSS_COUNT; i++) {
		if (!losses[i] || !spool_loss_is_of_samples((enum spool_loss)i))
			continue;
		buf_printf(out, "%s%s %" PRIu64, between, spool_loss_name((enum spool_loss)i),
			   losses[i]);
		between = ", ";
	}
	if (!*between)
		buf_str(out, "none");
}

static void put_frame_losses(const uint64_t losses[static SPOOL_LOSS_COUNT], struct buf *out)
{
	buf_printf(out, "%" PRIu64 " without a module", losses[SPOOL_LOSS_UNRESOLVED]);
	if (losses[SPOOL_LOSS_UNREADABLE])
		buf_printf(out, ", %" PRIu64 " of them in files that could not be read",
			   losses[SPOOL_LOSS_UNREADABLE]);
}

/* Returns whether the losses differ, because the same losses are not printed twice. */
static bool losses_differ(const uint64_t a[static SPOOL_LOSS_COUNT],
			  const uint64_t b[static SPOOL_LOSS_COUNT])
{
	for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
		if (a[i] != b[i] && spool_loss_is_of_samples((enum spool_loss)i))
			return true;
	return false;
}

/* Appends a text such as "status 1" or "signal 9". */
static void put_exit_status(int status, struct buf *out)
{
	buf_printf(out, "%s %d", WIFSIGNALED(status) ? "signal" : "status",
		   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void put_ship_ends(const struct spool_status *s, struct buf *out)
{
	buf_printf(out,
		   "\n          ended by itself %" PRIu64
		   " times in the sampler's last run, %.0f s ago with ",
		   s->ship_ends.count, (double)age_of(s, s->ship_ends.unix_ns) / 1e9);
	put_exit_status(s->ship_ends.status, out);
}

static void put_spool_text(const struct spool_status *s, struct buf *out)
{
	buf_printf(out, "\nspool     %" PRIu64 " segments, %.1f MiB\n", s->segment_count,
		   (double)s->len / (double)MIB);
	if (s->unread_count)
		buf_printf(out,
			   "          %" PRIu64
			   " of them, %.1f MiB, have a format that this version "
			   "does not read: they are not shipped\n",
			   s->unread_count, (double)s->unread_len / (double)MIB);
	if (s->oldest_ns)
		buf_printf(out, "backlog   %.1f MiB, the oldest sample is %.1f s old\n",
			   (double)s->unsent_len / (double)MIB,
			   (double)age_of(s, s->oldest_ns) / 1e9);
	else
		buf_str(out, "backlog   none\n");
}

static void put_losses_text(const struct spool_status *s, struct buf *out)
{
	buf_str(out, "losses    ");
	put_losses(s->losses, out);
	if (losses_differ(s->losses, s->run_losses)) {
		buf_str(out, "\n          of the last run: ");
		put_losses(s->run_losses, out);
	}
	if (s->samples)
		buf_printf(out, "\n          of %" PRIu64 " samples, %" PRIu64 " in the last run",
			   s->samples, s->run_samples);
	if (s->losses[SPOOL_LOSS_PERF_LOST])
		buf_printf(out,
			   "\nmappings  %" PRIu64 " records of mappings lost, %" PRIu64
			   " in the last run; no samples: frames of files mapped then may have no "
			   "module",
			   s->losses[SPOOL_LOSS_PERF_LOST], s->run_losses[SPOOL_LOSS_PERF_LOST]);
	if (s->losses[SPOOL_LOSS_UNRESOLVED]) {
		buf_str(out, "\nframes    ");
		put_frame_losses(s->losses, out);
		buf_str(out, "; their samples are stored");
	}
	buf_printf(out, "\ndropped   %" PRIu64 " samples, unsent\n", s->dropped);
	if (s->dropped)
		buf_str(out, "          warning: limits of the spool removed them before they were "
			     "shipped\n");
}

static void put_shipper_text(const struct spool_status *s, struct buf *out)
{
	buf_printf(out, "shipper   %s", s->ship.state[0] ? s->ship.state : "says nothing");
	if (s->ship.server[0])
		buf_printf(out, ", %s, %" PRIu64 " samples in %" PRIu64 " batches", s->ship.server,
			   s->ship.samples, s->ship.batches);
	if (s->ship.waiting || s->ship.again)
		buf_printf(out, ", %" PRIu64 " again, %" PRIu64 " wait for names", s->ship.again,
			   s->ship.waiting);
	if (s->ship.unix_ns)
		buf_printf(out, "; %.0f s ago", (double)age_of(s, s->ship.unix_ns) / 1e9);
	if (s->ship.why[0])
		buf_printf(out, "\n          %s", s->ship.why);
	if (s->ship_ends.count)
		put_ship_ends(s, out);
	if (s->ack_ns)
		buf_printf(out, "\nack       %.0f s ago\n", (double)age_of(s, s->ack_ns) / 1e9);
	else
		buf_str(out, "\nack       never\n");
}

static void put_status_text(const struct spool_status *s, struct buf *out)
{
	buf_printf(out, "capturer  %s", s->is_written ? "running" : "not running");
	if (s->has_data)
		buf_printf(out, ", %.1f samples a second (%s, %s); the newest is %.1f s old",
			   s->rate, s->origin.backend, s->origin.event,
			   (double)age_of(s, s->newest_ns) / 1e9);
	if (s->failing[0])
		buf_printf(out, "\n          %s: %s",
			   s->is_written ? "nothing can be stored"
					 : "nothing could be stored at its end",
			   s->failing);
	put_spool_text(s, out);
	put_losses_text(s, out);
	put_shipper_text(s, out);
}

void losses_put_json(struct buf *out, const char *key,
		     const uint64_t losses[static SPOOL_LOSS_COUNT])
{
	json_key(out, key);
	json_open(out, '{');
	for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
		json_key_number(out, spool_loss_name((enum spool_loss)i), (int64_t)losses[i]);
	json_close(out, '}');
}

static void json_key_frames(struct buf *out, const char *key,
			    const uint64_t losses[static SPOOL_LOSS_COUNT])
{
	json_key(out, key);
	json_open(out, '{');
	for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
		if (!spool_loss_is_real((enum spool_loss)i))
			json_key_number(out, spool_loss_name((enum spool_loss)i),
					(int64_t)losses[i]);
	json_close(out, '}');
}

static void put_json(const struct spool_status *s, struct buf *out)
{
	json_open(out, '{');
	json_key_bool(out, "running", s->is_written);
	json_key_unsigned(out, "unix_ns", s->unix_ns);
	json_key_unsigned(out, "samples_per_1000_s", (uint64_t)(s->rate * 1000));
	if (s->has_data) {
		json_key_cstr(out, "host", s->origin.host_name);
		json_key_cstr(out, "backend", s->origin.backend);
		json_key_cstr(out, "event", s->origin.event);
		json_key_unsigned(out, "period_ns", s->origin.period_ns);
		json_key_unsigned(out, "newest_unix_ns", s->newest_ns);
	}
	json_key_unsigned(out, "segments", s->segment_count);
	json_key_unsigned(out, "bytes", s->len);
	json_key_unsigned(out, "unread_segments", s->unread_count);
	json_key_unsigned(out, "unread_bytes", s->unread_len);
	json_key_unsigned(out, "backlog_bytes", s->unsent_len);
	json_key_unsigned(out, "backlog_age_ns", age_of(s, s->oldest_ns));
	json_key_unsigned(out, "last_ack_unix_ns", s->ack_ns);
	json_key_unsigned(out, "samples", s->samples);
	losses_put_json(out, "losses", s->losses);
	json_key_unsigned(out, "run_samples", s->run_samples);
	losses_put_json(out, "run_losses", s->run_losses);
	json_key_unsigned(out, "mapping_records_lost", s->losses[SPOOL_LOSS_PERF_LOST]);
	json_key_unsigned(out, "run_mapping_records_lost", s->run_losses[SPOOL_LOSS_PERF_LOST]);
	json_key_frames(out, "frames_without_module", s->losses);
	json_key_frames(out, "run_frames_without_module", s->run_losses);
	json_key_cstr(out, "failing", s->failing);
	json_key_unsigned(out, "dropped_unsent", s->dropped);
	json_key_unsigned(out, "ship_ended", s->ship_ends.count);
	if (s->ship_ends.count) {
		_cleanup_(buf_done) struct buf how = BUF_INIT(64);

		put_exit_status(s->ship_ends.status, &how);
		json_key_text(out, "ship_ended_how", how.p, how.len);
		json_key_unsigned(out, "ship_ended_unix_ns", s->ship_ends.unix_ns);
	}
	if (s->ship.state[0]) {
		json_key(out, "ship");
		json_open(out, '{');
		json_key_cstr(out, "state", s->ship.state);
		json_key_cstr(out, "server", s->ship.server);
		json_key_cstr(out, "why", s->ship.why);
		json_key_unsigned(out, "unix_ns", s->ship.unix_ns);
		json_key_unsigned(out, "samples", s->ship.samples);
		json_key_unsigned(out, "batches", s->ship.batches);
		json_key_unsigned(out, "again", s->ship.again);
		json_key_unsigned(out, "waiting", s->ship.waiting);
		json_key_unsigned(out, "forgotten", s->ship.forgotten);
		json_close(out, '}');
	}
	json_close(out, '}');
	buf_str(out, "\n");
}

static int print_status_file(const struct status *o, const char *dir, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(65536);
	struct spool_status s;

	TRY(spool_status_read(&s, dir, err));
	if (o->form == FORM_JSON)
		put_json(&s, &out);
	else if (o->form == FORM_METRICS)
		spool_status_metrics(&s, &out);
	else
		put_status_text(&s, &out);
	if (out.failed)
		return err_no_memory(err);
	if (o->output)
		return io_write_file(o->output, out.p, out.len, 0644, err);
	stdout_put(&out);
	return 0;
}

static int run_status(int argc, char **argv, struct err *err)
{
	struct status o = {.form = FORM_TEXT};
	struct operands operands;
	int rc = options_parse(&usage, argc, argv, &o, &operands, err);

	return rc ? rc : print_status_file(&o, operands.list[0], err);
}

const struct command cmd_status = {
	.usage = &usage,
	.run = run_status,
	.summary = "how capture, spool and shipping are",
};
