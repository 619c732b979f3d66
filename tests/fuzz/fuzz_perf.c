/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as perf.data, the text of perf script, or folded stacks: refused, or a profile whose
 * text reads back with the same samples. */

#include "folded.h"
#include "perf_data.h"
#include "perf_script.h"

#define VIEW(p, len) (&(struct file_view)FILE_VIEW_OF((const void *)(p), len))

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static int64_t total(const struct profile *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->samples.count; i++)
		sum += (uint64_t)profile_values(p, i)[0];
	return (int64_t)sum;
}

static void write_and_read(const struct profile *p)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(GIB);
	struct text_out out = TEXT_OUT_INIT(text_out_to_buf, &text);
	_cleanup_(profile_done) struct profile back;
	struct err err;

	if (perf_script_write(p, &out, NULL, &err))
		abort();
	text_out_done(&out);
	profile_init(&back);
	if (text.len && perf_script_read(VIEW(text.p, text.len), &back, &err) == 0 &&
	    total(&back) != total(p))
		abort();
}

static void fold_and_read(const struct profile *p)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(GIB);
	struct text_out out = TEXT_OUT_INIT(text_out_to_buf, &text);
	_cleanup_(profile_done) struct profile back;
	struct err err;

	if (folded_write(p, 0, true, &out, &err))
		abort();
	text_out_done(&out);
	profile_init(&back);
	if (text.len &&
	    (folded_read(VIEW(text.p, text.len), &back, &err) || total(&back) != total(p)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	_cleanup_(profile_done) struct profile profile;
	struct err err;
	int rc;

	profile_init(&profile);
	if (perf_data_is(p, len))
		rc = perf_data_read(VIEW(p, len), &profile, &err);
	else if (perf_script_is(p, len))
		rc = perf_script_read(VIEW(p, len), &profile, &err);
	else if (folded_is(p, len))
		rc = folded_read(VIEW(p, len), &profile, &err);
	else
		return 0;
	if (rc == 0) {
		/* a count is unfolded to as many records: millions say no more than some */
		if (total(&profile) >= 0 && total(&profile) < 1000)
			write_and_read(&profile);
		fold_and_read(&profile);
	} else if (rc > 0 || !err.message[0])
		abort();
	return 0;
}
