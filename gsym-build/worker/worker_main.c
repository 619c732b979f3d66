/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rawstack-table-worker: builds or verifies one table and ends. Started by table_build() and
 * table_verify() only; it finds its descriptors by number (worker_protocol.h), takes its limits
 * before it reads the first byte of input, prints nothing and answers over the reply pipe.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

#include "image_summary.h"
#include "io.h"
#include "limits.h"
#include "plain_reader.h"
#include "sandbox.h"
#include "sanitizer.h"
#include "table_compare.h"
#include "table_make.h"
#include "worker_protocol.h"

static int take_limits(const struct worker_request *req, struct err *err)
{
	const struct sandbox_limits limits = {
		.memory = req->memory_max,
		.cpu_seconds = req->cpu_seconds_max,
		.file_len = req->table_len_max,
		.class = (enum worker_class)req->class,
	};

	return sandbox_limit(&limits, err);
}

static int map_input(int fd, const void **ret_p, size_t *ret_len, struct err *err)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st))
		return err_sys(err, errno, "stat of the input");
	if ((uint64_t)st.st_size > LIMIT_ELF_FILE_LEN)
		return err_set(err, ERR_LIMIT, "file of %lld bytes; the limit is %llu",
			       (long long)st.st_size, (unsigned long long)LIMIT_ELF_FILE_LEN);
	if (st.st_size == 0)
		return err_set(err, ERR_UNSUPPORTED, "not an ELF file: it is empty");
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_sys(err, errno, "mapping the input");
	*ret_p = p;
	*ret_len = (size_t)st.st_size;
	return 0;
}

/* The most memory this process ever had resident. ru_maxrss would be the parent's peak: it is
 * inherited over exec. */
static uint64_t peak_memory(int status_fd)
{
	char text[4096];
	ssize_t n = pread(status_fd, text, sizeof(text) - 1, 0);
	const char *at;

	text[n > 0 ? n : 0] = 0;
	at = strstr(text, "VmHWM:");
	return at ? strtoull(at + 6, NULL, 10) * 1024 : 0;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What was made goes to the caller, who gave the files for it. */
static int deliver(const struct worker_request *req, const struct buf *out,
		   const struct buf *missing, struct err *err)
{
	int rc = io_write_all(io_system(), WORKER_FD_OUTPUT, out->p, out->len, 0, err);

	if (!rc && req->wants_missing)
		rc = io_write_all(io_system(), WORKER_FD_MISSING, missing->p, missing->len, 0, err);
	return rc;
}

static int map_companions(const struct worker_request *req, struct table_companion_bytes *ret,
			  struct err *err)
{
	for (uint32_t i = 0; i < req->companion_count; i++) {
		int rc = map_input(WORKER_FD_COMPANIONS + (int)i, &ret[i].p, &ret[i].len, err);

		/* An empty one says nothing. */
		if (rc && rc != ERR_UNSUPPORTED)
			return rc;
		ret[i].kind = (enum table_companion_kind)req->companion_kinds[i];
	}
	return 0;
}

/* The pages of the caller's file stay mapped to the end. */
static int map_wanted(const struct worker_request *req, struct table_source *source,
		      struct err *err)
{
	const void *p;
	size_t len;
	int rc;

	if (!req->wanted_count)
		return 0;
	rc = map_input(WORKER_FD_WANTED, &p, &len, err);
	if (rc)
		return rc;
	if (len / sizeof(*source->wanted) < req->wanted_count)
		return err_set(err, ERR_INTERNAL, "fewer addresses than the request says");
	source->wanted = p;
	source->wanted_count = req->wanted_count;
	return 0;
}

/* A partner that says nothing of itself is no partner. */
static int check_partner(const struct worker_request *req, struct err *err)
{
	struct image_id partner;
	int rc;

	if (!req->has_stripped || req->id.kind != BUILD_ID_GNU)
		return 0;
	rc = image_notes_id(WORKER_FD_STRIPPED, &partner, err);
	if (rc < 0)
		return err_prefix(err, "stripped partner");
	return build_id_equal(&partner.id, &req->id)
		       ? 0
		       : err_set(err, ERR_MISMATCH, "the stripped partner has another build id");
}

static int build(const struct worker_request *req, struct build_report *report, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(req->table_len_max);
	_cleanup_(closep) int status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	_cleanup_(buf_done) struct buf missing = BUF_INIT(LIMIT_MISSING_LEN);
	static struct table_companion_bytes companions[LIMIT_COMPANIONS];
	_cleanup_(helper_freep) struct helper *helper = NULL;
	struct table_source source = {
		.input = (enum table_input)req->input,
		.id = req->id,
		.mapped = true,
		.companions = companions,
		.companion_count = req->companion_count,
		.columns = req->columns,
		.types = req->types,
		.shown = req->shown,
		.missing = req->wants_missing ? &missing : NULL,
	};
	int rc = take_limits(req, err);

	if (req->wants_progress) {
		void *p = mmap(NULL, sizeof(*source.progress), PROT_READ | PROT_WRITE, MAP_SHARED,
			       WORKER_FD_PROGRESS, 0);

		source.progress = p == MAP_FAILED ? NULL : p;
	}
	if (!rc)
		rc = map_input(WORKER_FD_INPUT, &source.p, &source.len, err);
	if (!rc && req->has_stripped)
		rc = map_input(WORKER_FD_STRIPPED, &source.stripped, &source.stripped_len, err);
	if (!rc)
		rc = map_companions(req, companions, err);
	if (!rc)
		rc = map_wanted(req, &source, err);
	if (!rc && req->in_two)
		rc = helper_new(&helper, err);
	source.helper = helper;
	if (!rc)
		rc = sandbox_enter(err);
	if (!rc)
		rc = check_partner(req, err);
	if (!rc)
		rc = table_make(&source, &out, report, err);
	if (!rc)
		rc = deliver(req, &out, &missing, err);
	report->cpu_ns = cpu_ns();
	report->peak_memory = peak_memory(status_fd);
	return rc;
}

static int verify(const struct worker_request *req, struct verify_report *report, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(req->table_len_max);
	_cleanup_(buf_done) struct buf missing = BUF_INIT(LIMIT_MISSING_LEN);
	_cleanup_(closep) int status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	static struct table_companion_bytes companions[LIMIT_COMPANIONS];
	struct table_source source = {
		.companions = companions,
		.companion_count = req->companion_count,
		.missing = req->wants_missing ? &missing : NULL,
	};
	const void *table;
	size_t table_len;
	struct rsym t;
	int rc = take_limits(req, err);

	if (!rc)
		rc = map_input(WORKER_FD_INPUT, &source.p, &source.len, err);
	if (!rc && map_input(WORKER_FD_TABLE, &table, &table_len, err))
		rc = err->code == ERR_UNSUPPORTED
			     ? err_set(err, ERR_DATA,
				       "the table: not a Rawstack table: it is empty")
			     : err_prefix(err, "the table");
	if (!rc && req->has_stripped)
		rc = map_input(WORKER_FD_STRIPPED, &source.stripped, &source.stripped_len, err);
	if (!rc)
		rc = map_companions(req, companions, err);
	if (!rc)
		rc = sandbox_enter(err);
	if (!rc && rsym_open(&t, table, table_len, err))
		rc = err_prefix(err, "the table");
	if (!rc && !build_id_equal(&t.id, &req->id))
		rc = err_set(err, ERR_MISMATCH, "the table is of a file with another build id");
	if (!rc)
		rc = table_compare(&source, &t, report, &out, err);
	if (!rc)
		rc = deliver(req, &out, &missing, err);
	report->cpu_ns = cpu_ns();
	report->peak_memory = peak_memory(status_fd);
	return rc;
}

static int inspect(const struct worker_request *req, struct image_summary *summary, struct err *err)
{
	int rc = take_limits(req, err);

	if (!rc)
		rc = sandbox_enter(err);
	return rc ? rc : image_summary_read(WORKER_FD_INPUT, summary, err);
}

static int check(const struct worker_request *req, struct err *err)
{
	const void *p;
	struct rsym t;
	size_t len;
	int rc = take_limits(req, err);

	if (!rc)
		rc = map_input(WORKER_FD_INPUT, &p, &len, err);
	if (!rc)
		rc = sandbox_enter(err);
	return rc ? rc : rsym_open(&t, p, len, err);
}

static int do_task(const struct worker_request *req, struct worker_reply *reply, struct err *err)
{
	switch (req->task) {
	case WORKER_BUILD:
		return build(req, &reply->report, err);
	case WORKER_VERIFY:
		return verify(req, &reply->verified, err);
	case WORKER_INSPECT:
		return inspect(req, &reply->summary, err);
	case WORKER_CHECK:
		return check(req, err);
	default:
		return err_set(err, ERR_INTERNAL, "no such task of a worker: %u", req->task);
	}
}

int main(void)
{
	struct worker_request req;
	struct worker_reply reply = {.magic = WORKER_MAGIC};
	struct err err = {0};

	if (read(WORKER_FD_REQUEST, &req, sizeof(req)) != (ssize_t)sizeof(req) ||
	    req.magic != WORKER_MAGIC) {
		static const char text[] =
			"rawstack-table-worker: started by rawstack programs only\n";

		return write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ? 1 : WORKER_EXIT_STRANGER;
	}
	prctl(PR_SET_NAME, "rawstack-table-worker"); /* it may be known as a descriptor's number */
	plain_read_untracked();
	reply.code = do_task(&req, &reply, &err);
	memcpy(reply.message, err.message, sizeof(reply.message));
	return write(WORKER_FD_REPLY, &reply, sizeof(reply)) != (ssize_t)sizeof(reply);
}
