/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_input.h"

#include <inttypes.h>
#include <string.h>

#include "log.h"
#include "spool_profile.h"

/* Samples of one batch, which bounds memory whatever the spool holds. */
#define BATCH_SAMPLES 50000

bool spool_input_is_segment(const char *name)
{
	static const char begin[] = "segment-", end[] = ".spool";
	size_t len = strlen(name);

	return len == strlen(begin) + 16 + strlen(end) && !strncmp(name, begin, strlen(begin)) &&
	       !strcmp(name + strlen(begin) + 16, end);
}

static int add_spool_batch(const struct spool_batch *batch, struct profile_filter *filter,
			   struct profile *ret, struct err *err)
{
	_cleanup_(spool_profile_done) struct spool_profile p;

	TRY(spool_profile_begin(&p, batch, err));
	p.since_ns = filter->since_ns;
	p.until_ns = filter->until_ns;
	TRY(spool_profile_end(&p, err));
	return profile_merge(ret, &p.profile, profile_filter_keep, filter, err);
}

int spool_input_read(const char *dir, struct profile_filter *filter, struct profile *ret,
		     struct err *err)
{
	_cleanup_(spool_reader_closep) struct spool_reader *r = NULL;
	struct spool_skipped skipped;
	struct spool_batch batch;
	uint64_t samples = 0;
	int rc = spool_reader_open(&r, dir, NULL, err);

	if (rc)
		return err_prefix(err, "%s", dir);
	spool_reader_from_start(r);
	spool_reader_name_late(r);
	while ((rc = spool_reader_next(r, BATCH_SAMPLES, &batch, err)) > 0) {
		samples += batch.sample_count;
		log_progress("reading %s: %" PRIu64 " samples", dir, samples);
		rc = add_spool_batch(&batch, filter, ret, err);
		if (rc)
			break;
	}
	log_progress_end();
	spool_reader_skipped(r, &skipped);
	if (rc == 0 && skipped.count)
		log_warn("%s: %" PRIu64 " segments of another format are not read; %s", dir,
			 skipped.count, skipped.why.message);
	return rc < 0 ? err_prefix(err, "%s", dir) : 0;
}
