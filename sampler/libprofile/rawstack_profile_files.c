/* SPDX-License-Identifier: Apache-2.0 */
/* The files of librawstack-profile: every format that is read, and every one that is written. */
#include <sys/stat.h>

#include "firefox_write.h"
#include "folded.h"
#include "json_lines_write.h"
#include "otlp_write.h"
#include "perf_script.h"
#include "pprof_read.h"
#include "pprof_write.h"
#include "profile_file.h"
#include "rawstack_profile.h"
#include "rawstack_profile_priv.h"
#include "speedscope_write.h"
#include "spool_profile.h"

/* Samples of one batch of a spool, which bounds memory whatever the spool holds. */
#define BATCH_SAMPLES 50000

static int merge_batch(const struct spool_batch *batch, struct profile *into, struct err *err)
{
	_cleanup_(spool_profile_done) struct spool_profile one;

	TRY(spool_profile_begin(&one, batch, err));
	TRY(spool_profile_end(&one, err));
	return profile_merge(into, &one.profile, NULL, NULL, err);
}

static int read_spool_dir(const char *dir, struct profile *into, struct err *err)
{
	_cleanup_(spool_reader_closep) struct spool_reader *r = NULL;
	struct spool_batch batch;
	int rc;

	TRY(spool_reader_open(&r, dir, NULL, err));
	spool_reader_from_start(r);
	spool_reader_name_late(r);
	while ((rc = spool_reader_next(r, BATCH_SAMPLES, &batch, err)) > 0)
		TRY(merge_batch(&batch, into, err));
	return rc;
}

int rawstack_profile_read_file(struct rawstack_profile *p, const char *path,
			       struct rawstack_profile_error *error)
{
	struct stat st;
	struct err err = {0};
	int rc;

	TRY(rawstack_profile_check(p, error));
	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		rc = read_spool_dir(path, &p->profile, &err);
		if (rc)
			err_prefix(&err, "%s", path);
	} else {
		rc = profile_file_add(path, NULL, &p->profile, &err);
	}
	if (!rc)
		rc = profile_check_unfolded(&p->profile, &err);
	return rc ? rawstack_profile_give_error(error, &err) : 0;
}

int rawstack_profile_read_pprof(struct rawstack_profile *p, const void *bytes, size_t len,
				struct rawstack_profile_error *error)
{
	struct err err = {0};

	TRY(rawstack_profile_check(p, error));
	if (pprof_add(bytes, len, NULL, &p->profile, &err) ||
	    profile_check_unfolded(&p->profile, &err))
		return rawstack_profile_give_error(error, &err);
	return 0;
}

/* A caller's function, as the writers want it. */
struct put_context {
	rawstack_profile_put_fn *put;
	void *ctx;
};

static int put_library_piece(void *ctx, const void *bytes, size_t len, struct err *err)
{
	const struct put_context *to = ctx;

	if (to->put(to->ctx, bytes, len))
		return err_set(err, ERR_CANCELLED, "the output was refused");
	return 0;
}

static int write_pprof_file(const struct profile *p, struct text_out *out, struct err *err)
{
	_cleanup_(buf_done) struct buf file = BUF_INIT(LIMIT_PPROF_LEN);

	TRY(pprof_write(p, &file, err));
	return out->write(out->ctx, file.p, file.len, err);
}

static int write_format(const struct profile *p, enum rawstack_profile_format format,
			uint32_t value, struct text_out *out, struct err *err)
{
	static const char title[] = "rawstack";

	switch (format) {
	case RAWSTACK_PROFILE_PPROF:
		return write_pprof_file(p, out, err);
	case RAWSTACK_PROFILE_FOLDED:
		return folded_write(p, value, false, out, err);
	case RAWSTACK_PROFILE_SPEEDSCOPE:
		return speedscope_write(p, value, title, out, err);
	case RAWSTACK_PROFILE_FIREFOX:
		return firefox_write(p, value, title, out, err);
	case RAWSTACK_PROFILE_PERF_SCRIPT:
		return perf_script_write(p, out, NULL, err);
	case RAWSTACK_PROFILE_JSON_LINES:
		return json_lines_write(p, out, err);
	case RAWSTACK_PROFILE_OTLP:
		return otlp_write(p, out, err);
	}
	return err_set(err, ERR_USAGE, "there is no format %d", (int)format);
}

int rawstack_profile_write(struct rawstack_profile *p, enum rawstack_profile_format format,
			   uint32_t value, rawstack_profile_put_fn *put, void *ctx,
			   struct rawstack_profile_error *error)
{
	struct put_context to = {put, ctx};
	_cleanup_(text_out_done) struct text_out out = TEXT_OUT_INIT(put_library_piece, &to);
	struct err err = {0};
	int rc;

	TRY(rawstack_profile_check(p, error));
	out.max = text_out_max(&p->profile);
	if (value >= p->profile.value_count)
		rc = err_set(&err, ERR_USAGE,
			     "the profile has %u types of values, and none is number %u",
			     p->profile.value_count, value);
	else
		rc = write_format(&p->profile, format, value, &out, &err);
	return rc ? rawstack_profile_give_error(error, &err) : 0;
}
