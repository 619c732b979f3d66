/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_file.h"

#include "folded.h"
#include "io.h"
#include "perf_data.h"
#include "perf_script.h"
#include "pprof_read.h"

static int read_bytes(const uint8_t *file, size_t len, struct profile *p, struct err *err)
{
	if (perf_data_is(file, len))
		return perf_data_read(file, len, p, err);
	if (perf_script_is(file, len))
		return perf_script_read(file, len, p, err);
	if (folded_is(file, len))
		return folded_read(file, len, p, err);
	return pprof_read(file, len, p, err);
}

static bool is_pprof(const uint8_t *file, size_t len)
{
	return !perf_data_is(file, len) && !perf_script_is(file, len) && !folded_is(file, len);
}

static int add_bytes(const uint8_t *file, size_t len, const struct pprof_time_filter *between,
		     struct profile *into, struct err *err)
{
	_cleanup_(profile_done) struct profile one;
	int rc;

	profile_init(&one);
	if (is_pprof(file, len))
		return pprof_add(file, len, between, into, err);
	rc = read_bytes(file, len, &one, err);
	if (rc || (between && !between->wants(between->ctx, one.time_ns, one.duration_ns)))
		return rc;
	return profile_merge(into, &one, NULL, NULL, err);
}

int profile_file_add(const char *path, const struct pprof_time_filter *between,
		     struct profile *into, struct err *err)
{
	_cleanup_(freep) uint8_t *file = NULL;
	size_t len;
	int rc = io_read_file(path, LIMIT_PERF_DATA_LEN, &file, &len, err);

	if (rc)
		return rc;
	rc = add_bytes(file, len, between, into, err);
	return rc ? err_prefix(err, "%s", path) : 0;
}

int profile_file_read(const char *path, struct profile *p, struct err *err)
{
	_cleanup_(freep) uint8_t *file = NULL;
	size_t len;
	int rc = io_read_file(path, LIMIT_PERF_DATA_LEN, &file, &len, err);

	if (rc)
		return rc;
	rc = read_bytes(file, len, p, err);
	return rc ? err_prefix(err, "%s", path) : 0;
}
