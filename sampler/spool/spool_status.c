/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "number.h"
#include "spool_account.h"
#include "spool_segment.h"

#define RATE_NS UINT64_C(60000000000)

/* A running capturer writes its account at least once a minute. */
#define ACCOUNT_OLD_NS UINT64_C(180000000000)

enum {
	BATCH = 4096,
	SMALL_LEN = 65536 /* a smaller segment is read, to be exact */
};

/* Returns whether anybody used the directory as a spool: a capturer leaves a lock before all else,
 * a shipper an acknowledgement or its status, and a copy has segments. */
static bool is_spool(int dir_fd, const struct spool_segments *found)
{
	static const char *const names[] = {"lock", "account", "ack", SPOOL_SHIPPER_NAME};
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!fstatat(dir_fd, names[i], &st, AT_SYMLINK_NOFOLLOW))
			return true;
	return found->count > 0;
}

static uint64_t timespec_ns(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000 + (uint64_t)ts->tv_nsec;
}

/* Returns whether a process holds flock(2) on the file, according to /proc/locks: trying to take
 * the lock would get in the way of a capturer that starts. */
static bool is_locked(int dir_fd, const char *name)
{
	_cleanup_(freep) uint8_t *text = NULL;
	char want[64];
	struct stat st;
	size_t len;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    io_read_file("/proc/locks", 4 * MIB, &text, &len, NULL))
		return false;
	snprintf(want, sizeof(want), " %02x:%02x:%llu ", major(st.st_dev), minor(st.st_dev),
		 (unsigned long long)st.st_ino);
	for (const char *at = (const char *)text; *at; at += strcspn(at, "\n"), at += *at != 0) {
		const char *hit = strstr(at, want);

		if (hit && memchr(at, '\n', (size_t)(hit - at)) == NULL &&
		    memmem(at, (size_t)(hit - at), " FLOCK ", 7))
			return true;
	}
	return false;
}

/* Replaces all but printable ASCII, so that printing the text is safe. */
static void text_make_plain(char *text)
{
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
			*c = '?';
}

/* --- the shipper ----------------------------------------------------------------------------- */

static void ship_field(struct spool_status *s, const char *field, const char *value)
{
	const struct {
		const char *field;
		char *text;
		size_t len;
	} texts[] = {
		{"state", s->ship.state, sizeof(s->ship.state)},
		{"server", s->ship.server, sizeof(s->ship.server)},
		{"why", s->ship.why, sizeof(s->ship.why)},
	};
	const struct {
		const char *field;
		uint64_t *number;
	} numbers[] = {
		{"unix_ns", &s->ship.unix_ns}, {"samples", &s->ship.samples},
		{"batches", &s->ship.batches}, {"again", &s->ship.again},
		{"waiting", &s->ship.waiting}, {"forgotten", &s->ship.forgotten},
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (strcmp(field, texts[i].field))
			continue;
		snprintf(texts[i].text, texts[i].len, "%s", value);
		text_make_plain(texts[i].text);
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		uint64_t n;

		/* Numbers in JSON are signed. */
		if (!strcmp(field, numbers[i].field) && number_read(value, 10, &n) &&
		    n <= INT64_MAX)
			*numbers[i].number = n;
	}
}

static void read_ship(struct spool_status *s, int dir_fd)
{
	char text[2048], *line, *save = NULL;
	int fd = openat(dir_fd, SPOOL_SHIPPER_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	closep(&fd);
	text[len > 0 ? len : 0] = 0;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *space = strchr(line, ' ');

		if (!space)
			continue;
		*space = 0;
		ship_field(s, line, space + 1);
	}
}

/* --- the data -------------------------------------------------------------------------------- */

/* Returns the unpacked bytes of a segment from a place to the end of its last samples. What follows
 * these is never acknowledged, because it has nothing to deliver. */
static uint64_t len_behind(struct spool_file *file, uint64_t place)
{
	_cleanup_(spool_cursor_done) struct spool_cursor c = {.file = NULL};
	struct spool_record rec;
	uint32_t end = 0;

	spool_cursor_init(&c, file, file->info.records_off);
	while (spool_cursor_next(&c, true, &rec, NULL) == 1)
		end = rec.type == SPOOL_RECORD_SAMPLES ? c.off : end;
	return end > spool_place_off(place) ? end - spool_place_off(place) : 0;
}

static void read_sizes(struct spool_status *s, int dir_fd, const struct spool_segments *found)
{
	uint64_t ack_segment, ack_place;
	char name[SPOOL_NAME_MAX];
	struct stat st;

	spool_ack_read(io_system(), dir_fd, &ack_segment, &ack_place, NULL);
	if (ack_segment && fstatat(dir_fd, "ack", &st, AT_SYMLINK_NOFOLLOW) == 0)
		s->ack_ns = timespec_ns(&st.st_mtim);
	for (size_t i = 0; i < found->count; i++) {
		_cleanup_(spool_file_close) struct spool_file file = {.fd = -1};
		const uint64_t number = found->numbers[i];
		int rc;

		if (fstatat(dir_fd, spool_segment_name(number, name), &st, AT_SYMLINK_NOFOLLOW))
			continue;
		s->segment_count++;
		s->len += (uint64_t)st.st_size;
		rc = spool_file_open(&file, io_system(), dir_fd, number, NULL);
		if (rc == ERR_UNSUPPORTED) {
			s->unread_count++;
			s->unread_len += (uint64_t)st.st_size;
			continue;
		}
		/* The file size is too much for the newest segment, which has unused room, for the
		 * acknowledged one, and for a small one, which may have no samples. */
		if (!rc &&
		    (number == ack_segment ||
		     (number > ack_segment && (i + 1 == found->count || st.st_size < SMALL_LEN))))
			s->unsent_len += len_behind(&file, number == ack_segment ? ack_place : 0);
		else if (number > ack_segment)
			s->unsent_len += (uint64_t)st.st_size;
	}
}

/* Returns Unix time minus monotonic time: for the current boot by the clock as it is now, which may
 * have been set since; for an earlier boot as it was then. */
static uint64_t unix_less_mono(const struct spool_status *s, const struct spool_origin *o)
{
	const struct io *io = io_system();
	uint8_t boot_id[16];

	if (io_read_id(IO_BOOT_ID, boot_id) && !memcmp(boot_id, o->boot_id, sizeof(boot_id)))
		return s->unix_ns - io->mono_ns(io->ctx);
	return o->real_ns - o->mono_ns;
}

/* Reads the rate, the losses and the newest sample from the last two segments. */
static int read_newest(struct spool_status *s, struct spool_reader *r,
		       const struct spool_segments *found, struct err *err)
{
	uint64_t counted = 0, first = UINT64_MAX, less;
	struct spool_batch b;
	int rc;

	spool_reader_seek(r, found->numbers[found->count > 1 ? found->count - 2 : 0], 0);
	while ((rc = spool_reader_next(r, BATCH, &b, err)) == 1) {
		s->has_data = true;
		s->origin = b.origin;
		memcpy(s->run_losses, b.losses, sizeof(s->run_losses));
		less = unix_less_mono(s, &b.origin);
		for (size_t i = 0; i < b.sample_count; i++) {
			uint64_t at = less + b.samples[i].time_ns;

			s->newest_ns = at > s->newest_ns ? at : s->newest_ns;
			if (at + RATE_NS < s->unix_ns)
				continue;
			counted++;
			first = at < first ? at : first;
		}
	}
	if (counted && s->unix_ns > first)
		s->rate = (double)counted * 1e9 / (double)(s->unix_ns - first);
	return rc;
}

/* Replaces the losses that the newest segments state with the account, which covers all runs and
 * what could not be stored. Older versions kept no account. */
static void read_account(struct spool_status *s, int dir_fd, const struct spool_segments *found)
{
	struct spool_account a;

	spool_account_read(io_system(), dir_fd, &a);
	/* Only the next writer can be sure that this one is gone. */
	spool_account_catch_up(io_system(), dir_fd, found, false, &a);
	s->ship_ends = a.ship;
	if (a.sequence) {
		s->samples = a.samples;
		s->run_samples = a.run_samples;
		memcpy(s->losses, a.losses, sizeof(s->losses));
		memcpy(s->run_losses, a.run_losses, sizeof(s->run_losses));
		memcpy(s->failing, a.why, sizeof(s->failing));
		text_make_plain(s->failing);
	} else {
		memcpy(s->losses, s->run_losses, sizeof(s->losses));
	}
	if (s->failing[0] || !s->is_written)
		return;
	if (!a.sequence && !s->segment_count)
		snprintf(s->failing, sizeof(s->failing),
			 "there is neither a segment nor room for an account");
	else if (a.sequence && s->unix_ns > a.unix_ns && s->unix_ns - a.unix_ns > ACCOUNT_OLD_NS)
		snprintf(s->failing, sizeof(s->failing), "no account for %llu s",
			 (unsigned long long)((s->unix_ns - a.unix_ns) / 1000000000));
}

int spool_status_read(struct spool_status *ret, const char *dir, struct err *err)
{
	_cleanup_(spool_reader_closep) struct spool_reader *r = NULL;
	_cleanup_(closep) int dir_fd = -1;
	const struct io *io = io_system();
	struct spool_segments found = {0};
	struct spool_drops drops;
	struct spool_batch b;
	int rc = 0;

	TRY(spool_reader_open(&r, dir, io, err));
	*ret = (struct spool_status){.unix_ns = io->real_ns(io->ctx)};
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return err_sys(err, errno, "%s", dir);
	TRY(spool_segments_list(io, dir_fd, &found, err));
	if (!is_spool(dir_fd, &found)) {
		free(found.numbers);
		return err_set(err, ERR_DATA,
			       "%s: no spool: there is neither a segment nor anything else that a "
			       "sampler or a shipper leaves there",
			       dir);
	}
	ret->is_written = is_locked(dir_fd, "lock");
	spool_drops_read(io, dir_fd, &drops);
	ret->dropped = drops.samples;
	read_ship(ret, dir_fd);
	read_sizes(ret, dir_fd, &found);
	if (found.count) {
		rc = spool_reader_next(r, 1, &b, err);
		if (rc == 1)
			ret->oldest_ns = unix_less_mono(ret, &b.origin) + b.samples[0].time_ns;
		rc = read_newest(ret, r, &found, err);
	}
	read_account(ret, dir_fd, &found);
	free(found.numbers);
	return rc < 0 ? rc : 0;
}

/* --- OpenMetrics ----------------------------------------------------------------------------- */

static void put_spool_family(struct buf *out, const char *name, const char *type, const char *unit,
			     const char *help)
{
	buf_printf(out, "# TYPE %s %s\n", name, type);
	if (unit)
		buf_printf(out, "# UNIT %s %s\n", name, unit);
	buf_printf(out, "# HELP %s %s\n", name, help);
}

static void put_spool_gauge(struct buf *out, const char *name, const char *unit, const char *help,
			    double value)
{
	put_spool_family(out, name, "gauge", unit, help);
	buf_printf(out, "%s %.15g\n", name, value);
}

static void put_spool_counter(struct buf *out, const char *name, const char *help, uint64_t value)
{
	put_spool_family(out, name, "counter", NULL, help);
	buf_printf(out, "%s_total %llu\n", name, (unsigned long long)value);
}

static double seconds_since(const struct spool_status *s, uint64_t ns)
{
	return ns && s->unix_ns > ns ? (double)(s->unix_ns - ns) / 1e9 : 0;
}

static void put_loss_metrics(const struct spool_status *s, struct buf *out)
{
	put_spool_counter(
		out, "rawstack_sampler_samples",
		"Samples that came to the spool, stored or not, since the directory was made.",
		s->samples);
	put_spool_family(
		out, "rawstack_sampler_lost", "counter", NULL,
		"Lost since the directory was made, by reason: samples, but for perf_lost, which "
		"are records of mappings, and throttled, which are times.");
	for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
		if (spool_loss_is_real((enum spool_loss)i))
			buf_printf(out, "rawstack_sampler_lost_total{reason=\"%s\"} %llu\n",
				   spool_loss_name((enum spool_loss)i),
				   (unsigned long long)s->losses[i]);
	put_spool_counter(
		out, "rawstack_sampler_mapping_records_lost",
		"Records of mappings lost since the directory was made, perf_lost among the "
		"losses: no samples. Frames of files that were mapped in those moments may lie in "
		"no known mapping.",
		s->losses[SPOOL_LOSS_PERF_LOST]);
	put_spool_counter(out, "rawstack_sampler_unresolved",
			  "Frames without a module, in samples that are stored: no loss. Their "
			  "address lies in no known mapping, or in a file without an id.",
			  s->losses[SPOOL_LOSS_UNRESOLVED]);
	put_spool_counter(
		out, "rawstack_sampler_unreadable",
		"Of the unresolved frames those in files that could not be read for their id.",
		s->losses[SPOOL_LOSS_UNREADABLE]);
}

static void put_disk_metrics(const struct spool_status *s, struct buf *out)
{
	put_spool_gauge(out, "rawstack_spool_segments", NULL, "Segments on the disk.",
			(double)s->segment_count);
	put_spool_gauge(out, "rawstack_spool_bytes", "bytes", "Of all segments.", (double)s->len);
	put_spool_gauge(out, "rawstack_spool_unread_segments", NULL,
			"Of a format that this version does not read; kept until limits drop them.",
			(double)s->unread_count);
	put_spool_gauge(out, "rawstack_spool_backlog_bytes", "bytes",
			"Of what is not acknowledged.", (double)s->unsent_len);
	put_spool_gauge(out, "rawstack_spool_backlog_seconds", "seconds",
			"Age of the first sample that is not acknowledged.",
			seconds_since(s, s->oldest_ns));
	put_spool_counter(out, "rawstack_spool_dropped_samples",
			  "Removed unsent by limits since the directory was made.", s->dropped);
}

static void put_ship_metrics(const struct spool_status *s, struct buf *out)
{
	put_spool_counter(
		out, "rawstack_ship_ended",
		"Times the shipper that the sampler starts ended by itself, in the sampler's last "
		"run.",
		s->ship_ends.count);
	put_spool_gauge(out, "rawstack_ship_last_ack_timestamp_seconds", "seconds",
			"When a batch was last acknowledged, since 1970; 0: never.",
			(double)s->ack_ns / 1e9);
	if (!s->ship.state[0])
		return;
	put_spool_family(out, "rawstack_ship_state", "stateset", NULL,
			 "What the shipper says that it does.");
	for (size_t i = 0; i < 4; i++) {
		static const char *const states[] = {"shipping", "idle", "waiting", "stopped"};

		buf_printf(out, "rawstack_ship_state{rawstack_ship_state=\"%s\"} %d\n", states[i],
			   !strcmp(states[i], s->ship.state));
	}
	put_spool_counter(out, "rawstack_ship_samples", "Delivered since the shipper's start.",
			  s->ship.samples);
	put_spool_counter(out, "rawstack_ship_batches", "Delivered since the shipper's start.",
			  s->ship.batches);
	put_spool_counter(out, "rawstack_ship_again",
			  "Batches delivered another time, with more names.", s->ship.again);
	put_spool_gauge(out, "rawstack_ship_waiting", NULL, "Batches that wait for names.",
			(double)s->ship.waiting);
	put_spool_counter(out, "rawstack_ship_forgotten",
			  "Batches not waited for any longer, because too many were.",
			  s->ship.forgotten);
}

void spool_status_metrics(const struct spool_status *s, struct buf *out)
{
	put_spool_gauge(out, "rawstack_sampler_running", NULL,
			"Whether a capturer writes the spool.", s->is_written);
	put_spool_gauge(out, "rawstack_sampler_samples_per_second", NULL, "Over the last minute.",
			s->rate);
	put_spool_gauge(out, "rawstack_sampler_failing", NULL,
			"Whether samples cannot be stored, or could not at the last run's end.",
			s->failing[0] != 0);
	put_loss_metrics(s, out);
	put_disk_metrics(s, out);
	put_ship_metrics(s, out);
	buf_str(out, "# EOF\n");
}
