/* SPDX-License-Identifier: Apache-2.0 */
#include "build_table.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "binary_meta.h"
#include "build_reports.h"
#include "io.h"
#include "limits.h"
#include "log.h"
#include "upload_check.h"

#define KIND(name) RAWSTACK__V1__BINARY_KIND__BINARY_KIND_##name

/* A table on its way into the store. */
struct made {
	void *p;
	size_t len;
	struct rsym opened;
	Rawstack__V1__BuildReport *report;
};

static void made_done(struct made *m)
{
	if (m->p)
		munmap(m->p, m->len);
}

/* --- making it ------------------------------------------------------------------------------- */

/* Maps and opens a table that table_build() or table_check() has accepted. */
static int map_made_table(struct made *m, int fd, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_sys(err, errno, "table");
	if (st.st_size <= 0)
		return err_set(err, ERR_DATA, "the table is empty");
	m->len = (size_t)st.st_size;
	m->p = mmap(NULL, m->len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (m->p == MAP_FAILED) {
		m->p = NULL;
		return err_sys(err, errno, "mapping the table");
	}
	return rsym_open_trusted(&m->opened, m->p, m->len, err);
}

/* Makes the table in an unnamed file of the data directory, and maps it. */
static int make_table(const struct build_env *env, const struct build_job *job,
		      const struct build_inputs *in, struct arena *arena, struct made *m,
		      struct err *err)
{
	_cleanup_(closep) int out =
		openat(env->temporary_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	_cleanup_(buf_done) struct buf missing = BUF_INIT(LIMIT_MISSING_LEN);
	bool kallsyms = job->begin && job->begin->kind == KIND(KALLSYMS);
	struct table_request request = {
		.input_fd = in->input,
		.executable_fd = in->executable,
		.output_fd = out,
		.input = kallsyms ? TABLE_INPUT_KALLSYMS : TABLE_INPUT_ELF,
		.id = job->id,
		.companions = in->companions,
		.companion_count = in->companion_count,
		.missing = kallsyms ? NULL : &missing,
		.worker_path = env->worker_path,
		.memory_max = env->limits.memory,
		.cpu_seconds_max = env->limits.cpu_seconds,
		.wall_ms_max = env->limits.wall_ms,
		.background = true,
		.shown = true,
	};
	struct build_report report = {0};
	struct stat st;

	if (out < 0)
		return err_sys(err, errno, "temporary file for the table");
	TRY(table_build(&request, &report, err));
	TRY(map_made_table(m, out, err));
	if (fstat(in->input, &st))
		return err_sys(err, errno, "input");
	return build_report_made(
		&m->opened, &(struct build_said){&report, &missing, (uint64_t)st.st_size, kallsyms},
		arena, &m->report, err);
}

/* Takes a table that a client built: it is as untrusted as any file, and brings its own report. */
static int take_uploaded_table(const struct build_env *env, const struct build_job *job,
			       struct arena *arena, struct made *m, struct err *err)
{
	char declared[BUILD_ID_HEX_MAX], found[BUILD_ID_HEX_MAX];
	int rc = table_check(job->fd, env->worker_path, err);

	if (!rc)
		rc = map_made_table(m, job->fd, err);
	if (rc == ERR_DATA || rc == ERR_UNSUPPORTED)
		return err_set(err, ERR_DATA, "not a table that this service reads: %s",
			       err->message);
	if (rc)
		return rc;
	if (!build_id_equal(&m->opened.id, &job->id))
		return err_set(err, ERR_DATA, "the table has build id %s, declared was %s",
			       build_id_hex(&m->opened.id, found),
			       build_id_hex(&job->id, declared));
	return build_report_taken(&m->opened, arena, &m->report, err);
}

/* --- storing it ------------------------------------------------------------------------------ */

/* Translates an error of the store. Its ERR_DATA becomes ERR_DAMAGED, which blames no request. */
static int of_store(int rc, struct err *err)
{
	if (rc != ERR_DATA)
		return rc;
	if (err)
		err->code = ERR_DAMAGED;
	return ERR_DAMAGED;
}

/* The record that the store has of an id before a build. */
struct old_record {
	struct store_binary binary;    /* borrows nothing */
	Rawstack__V1__Binary *message; /* in the arena; NULL: there is none */
};

/* Reads the record of the id. Returns 1, or 0 if there is none. */
static int read_old(const struct build_env *env, const struct build_id *id, struct arena *arena,
		    struct old_record *ret, struct err *err)
{
	struct store_read *r;
	int rc;

	*ret = (struct old_record){.message = NULL};
	TRY(of_store(store_read_begin(env->store, &r, err), err));
	rc = store_binary(r, id, &ret->binary, NULL) == 1;
	if (rc)
		ret->message = binary_meta_message(&ret->binary, arena);
	ret->binary.meta = NULL;
	store_read_end(r);
	return rc && !ret->message ? err_no_memory(err) : rc;
}

static bool name_ends_with(ProtobufCBinaryData text, const char *end)
{
	size_t len = strlen(end);

	return text.len > len && memcmp(text.data + text.len - len, end, len) == 0;
}

/* Returns whether the new name is better: a debug file's name says less than its program's. */
static bool is_better_name(const Rawstack__V1__Binary *old, const Rawstack__V1__BeginRequest *begin)
{
	return old->kind == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_DEBUG && begin->name.len &&
	       (begin->kind == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_EXECUTABLE ||
		begin->kind == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_BOTH) &&
	       (name_ends_with(old->name, ".debug") || name_ends_with(old->name, ".dbg"));
}

/* Returns whether the table of a file takes the place of one that was made of a host's memory. */
static bool displaces_host(const Rawstack__V1__BeginRequest *begin, const Rawstack__V1__Binary *old)
{
	return upload_kind_is_of_host(old->kind) && !upload_kind_is_of_host(begin->kind);
}

/* Stores the record and its table. If m is NULL, the build failed and the record keeps the reason.
 */
static int put_binary(const struct build_env *env, const struct build_job *job,
		      const struct old_record *was, const struct made *m,
		      const struct store_id_aliases *aliases, const char *reason, struct err *err)
{
	const Rawstack__V1__Binary *old = was->message;
	const Rawstack__V1__BeginRequest *begin = job->begin;
	Rawstack__V1__Binary meta = RAWSTACK__V1__BINARY__INIT;
	_cleanup_(freep) uint8_t *packed = NULL;
	struct store_binary b = {
		.id = job->id,
		.status = m ? STORE_READY : STORE_FAILED,
		.pinned = was->binary.pinned || (m && begin && begin->pin),
		.changed_ns = io_system()->real_ns(NULL),
		.generation = m ? m->report->generation : 0,
		.table_len = m ? m->len : 0,
		.aliases = aliases,
	};
	int rc;

	/* If several files make one table, the first that made a table gives the name. */
	if (old)
		meta = *old;
	if (begin && (!old || !old->report || begin->replace || displaces_host(begin, old))) {
		meta.kind = begin->kind;
		meta.name = begin->name;
		meta.version = begin->version;
		meta.labels = begin->labels;
		meta.n_labels = begin->n_labels;
		meta.sha256 = begin->sha256;
	}
	if (begin && old && is_better_name(old, begin))
		meta.name = begin->name;
	if (begin || !old)
		meta.uploaded_unix_ns = b.changed_ns;
	meta.report = m ? m->report : NULL;
	meta.reason = reason ? binary_meta_text(reason) : (ProtobufCBinaryData){0, NULL};
	b.meta_len = rawstack__v1__binary__get_packed_size(&meta);
	packed = malloc(b.meta_len + 1);
	if (!packed)
		return err_no_memory(err);
	rawstack__v1__binary__pack(&meta, packed);
	b.meta = packed;
	rc = of_store(store_put(env->store, &b, m ? m->p : NULL, err), err);
	if (!rc && env->ended)
		env->ended(env->ctx, &b.id, !m, b.generation);
	return rc;
}

/* Stores the hashes of a file as aliases, because a file that adds nothing to the table may still
 * have a new hash. */
static int name_table(const struct build_env *env, const struct store_binary *b,
		      const struct store_id_aliases *aliases, struct err *err)
{
	int rc = aliases ? store_add_id_aliases(env->store, &b->id, aliases, err) : 0;

	if (rc == 1 && env->ended)
		env->ended(env->ctx, &b->id, false, b->generation);
	return rc < 0 ? rc : 0;
}

/* Returns whether the new table replaces the old one. A client may ask for it, but a program alone
 * never replaces a table made from its debug file. A table of a host's memory gives way to any
 * file, and takes no file's place unasked. */
static bool upload_adds(const struct build_job *job, const Rawstack__V1__Binary *old,
			const Rawstack__V1__BuildReport *new)
{
	const Rawstack__V1__BuildReport *was = old ? old->report : NULL;
	int before = was ? build_score(was) : -1, now = build_score(new);

	if (!was || (job->begin && displaces_host(job->begin, old)))
		return true;
	if (now > before && !(job->begin && upload_kind_is_of_host(job->begin->kind) &&
			      !upload_kind_is_of_host(old->kind)))
		return true;
	return (!job->begin || job->begin->replace) && new->has_dwarf >= was->has_dwarf;
}

/* Returns whether the id of a rebuild was deleted meanwhile: a companion file must not bring back
 * the table that the delete removed. The caller holds store_lock. */
static bool is_deleted(const struct build_env *env, const struct build_job *job)
{
	return !job->begin && *env->deleted;
}

static int store_made(const struct build_env *env, const struct build_job *job, struct arena *arena,
		      const struct made *m, const struct store_id_aliases *aliases,
		      Rawstack__V1__BuildReport **ret, struct err *err)
{
	struct old_record old;
	bool ready;
	int rc;

	pthread_mutex_lock(env->store_lock);
	if (is_deleted(env, job)) {
		pthread_mutex_unlock(env->store_lock);
		return err_set(err, ERR_NOT_FOUND, "deleted while its table was built again");
	}
	rc = read_old(env, &job->id, arena, &old, err);
	ready = rc == 1 && old.binary.status == STORE_READY;
	if (old.message && !ready)
		old.message->report = NULL;
	*ret = m->report;
	kept_files_remove(env->kept, &job->id, KEPT_FAILED);
	if (rc >= 0 && upload_adds(job, old.message, m->report)) {
		rc = put_binary(env, job, &old, m, aliases, NULL, err);
	} else if (rc >= 0 && old.message) {
		*ret = old.message->report;
		if (ready && job->begin && job->begin->pin)
			rc = store_pin(env->store, &job->id, true, err);
		if (ready && rc >= 0)
			rc = name_table(env, &old.binary, aliases, err);
	}
	*env->deleted = false; /* an upload is newer than a delete before it */
	pthread_mutex_unlock(env->store_lock);
	return rc < 0 ? rc : 0;
}

/* The codes for a lack on this machine. A worker that crashes or reaches its memory limit because
 * of the file has other codes. */
bool build_table_is_lack(int code)
{
	return code == ERR_IO || code == ERR_MEMORY || code == ERR_NOT_FOUND;
}

/* Stores the failure on the id, unless it has a table, or the file is not the cause. */
static int store_failed_build(const struct build_env *env, const struct build_job *job,
			      struct arena *arena, const struct store_id_aliases *aliases, int rc,
			      struct err *err)
{
	struct old_record old;

	if (build_table_is_lack(rc)) {
		*env->lacking = true;
		return rc;
	}
	pthread_mutex_lock(env->store_lock);
	if (is_deleted(env, job) || read_old(env, &job->id, arena, &old, NULL) < 0) {
		; /* there is nothing to store */
	} else if (old.binary.status == STORE_READY) {
		(void)name_table(env, &old.binary, aliases, NULL);
	} else {
		if (job->begin)
			old.message = NULL;
		put_binary(env, job, &old, NULL, aliases, err->message, NULL);
	}
	pthread_mutex_unlock(env->store_lock);
	/* The client declared it correctly, but the file cannot be read. */
	if (rc == ERR_DATA)
		err->code = rc = ERR_UNSUPPORTED;
	return rc;
}

void build_table_give_up(const struct build_env *env, const struct build_job *job)
{
	_cleanup_(arena_done) struct arena arena = ARENA_INIT(LIMIT_REPLY_MEMORY);
	struct old_record old;
	char hex[BUILD_ID_HEX_MAX];
	struct err why;

	err_set(&why, ERR_UNSUPPORTED,
		"the service ended in each of %llu builds of it; push it again to have it tried "
		"once more",
		(unsigned long long)LIMIT_UPLOAD_TRIES);
	if (read_old(env, &job->id, &arena, &old, NULL) < 0 || old.binary.status == STORE_READY)
		return;
	if (old.binary.status == STORE_FAILED && old.message &&
	    old.message->reason.len == strlen(why.message) &&
	    !memcmp(old.message->reason.data, why.message, strlen(why.message)))
		return;
	log_warn("the table of %s is given up: %s", build_id_hex(&job->id, hex), why.message);
	store_failed_build(env, job, &arena, NULL, ERR_UNSUPPORTED, &why);
}

/* --- one build ------------------------------------------------------------------------------- */

static int keep_upload(const struct build_env *env, const struct build_job *job,
		       enum kept_role role, struct err *err)
{
	return job->begin
		       ? kept_files_put(env->kept, &job->id, role, job->fd, job->begin->size, err)
		       : 0;
}

static void keep_failed(const struct build_env *env, const struct build_job *job)
{
	if (env->keep_failed && !*env->lacking)
		keep_upload(env, job, KEPT_FAILED, NULL); /* a lack of room is no reason to fail */
}

/* Keeps the file, or drops all kept files of a complete table, which only serve to rebuild it. */
static void keep_or_drop(const struct build_env *env, const struct build_job *job,
			 enum kept_role role, const Rawstack__V1__BuildReport *report)
{
	if (env->keep_all || build_score(report) < BUILD_COMPLETE) {
		keep_upload(env, job, role,
			    NULL); /* if this fails, the file has to be sent again */
		/* Packing takes a while, so a delete may have come in between. */
		pthread_mutex_lock(env->store_lock);
		if (*env->deleted)
			kept_files_remove(env->kept, &job->id, role);
		pthread_mutex_unlock(env->store_lock);
		return;
	}
	kept_files_remove(env->kept, &job->id, KEPT_DEBUG);
	kept_files_remove(env->kept, &job->id, KEPT_EXECUTABLE);
	kept_files_remove(env->kept, &job->id, KEPT_DWP);
}

/* Keeps a program without symbols: it makes no table, but its debug file needs its segments. */
static int await_debug(const struct build_env *env, const struct build_job *job,
		       struct arena *arena, Rawstack__V1__BuildReport **ret, struct err *err)
{
	struct old_record old;
	struct err why = *err;

	if (keep_upload(env, job, KEPT_EXECUTABLE, NULL))
		return ERR_UNSUPPORTED;
	if (read_old(env, &job->id, arena, &old, NULL) == 1 && old.binary.status == STORE_READY &&
	    old.message->report) {
		*ret = old.message->report;
		return 0;
	}
	return err_set(err, ERR_UNSUPPORTED, "%s; kept until its debug file comes", why.message);
}

int build_table_unread(const struct build_env *env, const struct build_job *job,
		       struct arena *arena, struct err *err)
{
	int rc = store_failed_build(env, job, arena, NULL, err->code, err);

	keep_failed(env, job);
	return rc;
}

static int build_from(const struct build_env *env, const struct build_job *job, enum kept_role role,
		      struct arena *arena, Rawstack__V1__BuildReport **ret, struct err *err)
{
	_cleanup_(build_inputs_done) struct build_inputs in = {0};
	_cleanup_(made_done) struct made made = {0};
	bool has_file = role == KEPT_DEBUG || role == KEPT_EXECUTABLE;
	const struct build_input came = {
		.role = role,
		.fd = has_file && job->begin ? job->fd : -1,
		.summary = &job->summary,
	};
	struct store_id_aliases aliases;
	int rc = build_inputs_gather(&in, env->kept, env->worker_path, &job->id, &came, err);

	*env->lacking |= rc != ERR_NOT_FOUND && build_table_is_lack(rc);
	if (rc)
		return rc;
	build_inputs_id_aliases(&in, &job->id, &aliases);
	rc = make_table(env, job, &in, arena, &made, err);
	if (rc) {
		rc = store_failed_build(env, job, arena, &aliases, rc, err);
		if (rc == ERR_UNSUPPORTED && role == KEPT_EXECUTABLE && job->begin)
			return await_debug(env, job, arena, ret, err);
		keep_failed(env, job);
		return rc;
	}
	rc = store_made(env, job, arena, &made, &aliases, ret, err);
	if (!rc && has_file && *ret)
		keep_or_drop(env, job, role, *ret);
	return rc;
}

/* Keeps a companion file, and rebuilds the tables that wait for it under its id. */
static int build_companion(const struct build_env *env, const struct build_job *job,
			   enum kept_role role, struct arena *arena,
			   Rawstack__V1__BuildReport **ret, struct err *err)
{
	struct build_job rebuild = {.id = job->id, .fd = -1};
	int rc;

	TRY(keep_upload(env, job, role, err));
	rc = build_report_kept(job->begin->size, arena, ret, err);
	if (rc || role == KEPT_ALT)
		return rc;
	rc = build_from(env, &rebuild, role, arena, ret, err);
	return rc == ERR_NOT_FOUND ? 0 : rc;
}

/* Builds a table of a host's memory. It is not kept, and meets no kept file: a host that lies could
 * otherwise put its own file into a table that is made of those of others. Of what a host sends, a
 * vDSO is an ELF file, and the kernel is not. */
static int build_of_host(const struct build_env *env, const struct build_job *job, bool is_elf,
			 struct arena *arena, Rawstack__V1__BuildReport **ret, struct err *err)
{
	const struct build_inputs in = {
		.input = job->fd, .input_summary = job->summary, .executable = -1};
	_cleanup_(made_done) struct made made = {0};
	struct store_id_aliases aliases;
	int rc;

	if (is_elf)
		build_inputs_id_aliases(&in, &job->id, &aliases);
	rc = make_table(env, job, &in, arena, &made, err);
	if (!rc)
		return store_made(env, job, arena, &made, is_elf ? &aliases : NULL, ret, err);
	rc = store_failed_build(env, job, arena, is_elf ? &aliases : NULL, rc, err);
	keep_failed(env, job);
	return rc;
}

int build_table(const struct build_env *env, const struct build_job *job, struct arena *arena,
		Rawstack__V1__BuildReport **ret, struct err *err)
{
	Rawstack__V1__BinaryKind kind = job->begin ? job->begin->kind : KIND(UNSPECIFIED);
	_cleanup_(made_done) struct made made = {0};
	enum kept_role role;
	int rc;

	if (kind == KIND(TABLE)) {
		rc = take_uploaded_table(env, job, arena, &made, err);
		*env->lacking = build_table_is_lack(rc);
		return rc ? rc : store_made(env, job, arena, &made, NULL, ret, err);
	}
	if (upload_kind_is_of_host(kind))
		return build_of_host(env, job, kind == KIND(VDSO), arena, ret, err);
	role = job->begin ? build_role(&job->summary, kind) : KEPT_ROLES;
	if (role == KEPT_ALT || role == KEPT_DWP)
		return build_companion(env, job, role, arena, ret, err);
	return build_from(env, job, role, arena, ret, err);
}
