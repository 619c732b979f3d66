/* SPDX-License-Identifier: Apache-2.0 */
#include "push_send.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "image_summary.h"
#include "io.h"
#include "log.h"
#include "module_file.h"
#include "push_companions.h"
#include "push_report.h"
#include "upload.h"

enum {
	PROGRESS_MS = 100
};

struct push {
	const struct push_options *options;
	const struct push_files *files;
	pthread_mutex_t lock; /* guards all below, and printing */
	size_t next, done;
	uint64_t shown_ns;
	struct err failure; /* the last failure, not printed yet */
	bool away;          /* the service is away: no further file is begun */
	bool found;         /* a binary was found, whatever became of it */
};

/* A thread that sends, with a gRPC client of its own, because a client belongs to one thread. */
struct sender {
	struct push *push;
	struct rpc_client *client;
	pthread_t thread;
	bool running;
	const char *shown; /* the file that it sends now */
	uint64_t size;
};

/* Keeps a failure for main() to print, and prints the one before it. */
static void note_error(struct push *p, const struct err *now)
{
	if (p->failure.code)
		log_error("%s", p->failure.message);
	p->failure = *now;
}

static void fail_push(struct sender *s, const struct err *err)
{
	pthread_mutex_lock(&s->push->lock);
	log_progress_end();
	note_error(s->push, err);
	if (err->code == ERR_UNAVAILABLE)
		s->push->away = true;
	pthread_mutex_unlock(&s->push->lock);
}

static void show_push_progress(void *ctx, uint64_t done)
{
	struct sender *s = ctx;
	struct push *p = s->push;
	const struct io *io = io_system();
	uint64_t now = io->mono_ns(io->ctx);
	size_t count;

	pthread_mutex_lock(&p->lock);
	/* The kernel's symbols are no listed file, and count in addition. */
	count = p->files->count > p->done ? p->files->count : p->done + 1;
	if (now - p->shown_ns >= PROGRESS_MS * UINT64_C(1000000)) {
		p->shown_ns = now;
		if (done < s->size)
			log_progress("%zu of %zu, %s: %3.0f %% of %.1f MiB", p->done + 1, count,
				     s->shown, 100.0 * (double)done / (double)s->size,
				     (double)s->size / (double)MIB);
		else
			log_progress("%zu of %zu, %s: its table is being built", p->done + 1, count,
				     s->shown);
	}
	pthread_mutex_unlock(&p->lock);
}

/* Prints the line of a file. One that was only partly understood is a failure, though its table is
 * there. */
static void print_push_line(struct sender *s, const struct push_line *line)
{
	struct push *p = s->push;
	struct err err = {0};
	int rc;

	pthread_mutex_lock(&p->lock);
	log_progress_end();
	rc = push_report_print(line, p->options->json, &err);
	if (!rc)
		rc = push_report_outcome(line, &err);
	if (rc)
		note_error(p, &err);
	pthread_mutex_unlock(&p->lock);
}

static int upload_file(struct sender *s, struct upload *u, struct push_line *line, struct err *err)
{
	const struct push_options *o = s->push->options;
	struct upload_result result;
	struct stat st;
	int rc;

	if (fstat(u->fd, &st))
		return err_sys(err, errno, "%s", line->shown);
	s->shown = line->shown;
	s->size = (uint64_t)st.st_size;
	u->version = o->version;
	u->labels = o->labels;
	u->label_count = o->label_count;
	u->pin = o->pin;
	u->replace = o->replace;
	u->patience_ms = o->patience_ms;
	u->contact_ms = o->contact_ms;
	u->progress = show_push_progress;
	u->ctx = s;
	rc = upload_run(s->client, u, &result, err);
	line->id = u->id;
	line->kind = u->kind;
	line->present = result.present;
	line->sent = result.sent;
	line->report = result.report;
	line->failed = result.failed;
	if (rc)
		err_prefix(err, "%s", line->shown);
	else
		print_push_line(s, line);
	upload_result_done(&result);
	return rc;
}

static Rawstack__V1__BinaryKind wire_kind(enum image_kind kind)
{
	switch (kind) {
	case IMAGE_EXECUTABLE:
		return RAWSTACK__V1__BINARY_KIND__BINARY_KIND_EXECUTABLE;
	case IMAGE_BOTH:
		return RAWSTACK__V1__BINARY_KIND__BINARY_KIND_BOTH;
	case IMAGE_DEBUG:
		return RAWSTACK__V1__BINARY_KIND__BINARY_KIND_DEBUG;
	case IMAGE_ALT:
		return RAWSTACK__V1__BINARY_KIND__BINARY_KIND_ALT;
	case IMAGE_PACKAGE:
		return RAWSTACK__V1__BINARY_KIND__BINARY_KIND_DWP;
	default:
		return RAWSTACK__V1__BINARY_KIND__BINARY_KIND_UNSPECIFIED;
	}
}

/* A file to send. */
struct subject {
	const char *path;
	int fd;
	struct build_id id;
	struct image_links links;
	bool has_links;
};

/* A program alone may have too little for a table, so it comes after its debug file. */
static bool comes_last(const struct push_companion *p)
{
	return p->kind == IMAGE_EXECUTABLE || p->kind == IMAGE_BOTH;
}

/* A file that others refer to is sent before them. */
static bool companion_comes_first(const struct push_companion *p)
{
	return p->kind == IMAGE_ALT || p->kind == IMAGE_PACKAGE;
}

enum turn {
	TURN_FIRST,
	TURN_BEFORE,
	TURN_LAST
};

static enum turn turn_of(const struct push_companion *p)
{
	return companion_comes_first(p) ? TURN_FIRST : comes_last(p) ? TURN_LAST : TURN_BEFORE;
}

/* Sends the companions of one turn. `name` is the program's, whichever of its files is sent. */
static int send_companions(struct sender *s, const struct subject *f,
			   const struct push_companions *p, const char *name, enum turn turn,
			   struct err *err)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct push_companion *companion = &p->list[i];
		struct push_line line = {.shown = companion->name, .of = f->path};
		struct upload u = {
			.fd = companion->fd,
			.id = companion->id,
			.kind = wire_kind(companion->kind),
			.name = companion_comes_first(companion) ? companion->name : name,
		};
		int rc;

		if (turn_of(companion) != turn)
			continue;
		rc = upload_file(s, &u, &line, err);
		/* A service that cannot read a companion still has use for the file itself. */
		if (rc == ERR_UNAVAILABLE)
			return rc;
		if (rc == ERR_UNSUPPORTED)
			log_warn("%s", err->message);
		else if (rc)
			fail_push(s, err);
	}
	return 0;
}

/* Builds the table on this machine, with every companion that can be found. */
static int build_push_table(const struct subject *f, const struct push_companions *p, int out,
			    struct err *err)
{
	_cleanup_(companions_close) struct companions c = {0};
	_cleanup_(buf_done) struct buf missing = BUF_INIT(LIMIT_MISSING_LEN);
	struct table_request req = {
		.input_fd = f->fd,
		.executable_fd = -1,
		.output_fd = out,
		.missing = &missing,
	};
	struct build_report report;
	struct err why = {0};
	int rc;

	for (size_t i = 0; i < p->count; i++) {
		if (comes_last(&p->list[i])) {
			req.executable_fd = p->list[i].fd;
		} else if (p->list[i].kind == IMAGE_DEBUG) {
			req.executable_fd = f->fd;
			req.input_fd = p->list[i].fd;
		}
	}
	companions_add_package(&c, f->path);
	req.companions = c.list;
	req.companion_count = c.count;
	rc = table_build(&req, &report, err);
	if (rc || !companions_find(&c, f->path, bytes_of(missing.p, missing.len), true, &why))
		return rc;
	if (ftruncate(out, 0))
		return err_sys(err, errno, "memfd");
	req.companion_count = c.count;
	req.missing = NULL;
	return table_build(&req, &report, err);
}

/* Returns the name to store: that of the program, whichever of its files was given. */
static const char *name_of_push(const struct push_options *o, const struct subject *f,
				const struct push_companions *p)
{
	const char *slash = strrchr(f->path, '/');

	if (o->name)
		return o->name;
	for (size_t i = 0; i < p->count; i++)
		if (comes_last(&p->list[i]))
			return p->list[i].name;
	return slash ? slash + 1 : f->path;
}

static int send_subject(struct sender *s, struct subject *f, struct err *err)
{
	const struct push_options *o = s->push->options;
	_cleanup_(push_companions_close) struct push_companions companion_files = {.count = 0};
	_cleanup_(closep) int table = -1;
	struct push_line line = {.shown = f->path};
	struct upload u = {
		.fd = f->fd,
		.id = f->id,
		.kind = f->has_links ? wire_kind(f->links.kind)
				     : RAWSTACK__V1__BINARY_KIND__BINARY_KIND_UNSPECIFIED,
	};
	int rc;

	if (f->has_links && !o->alone)
		push_companions_find(&companion_files, f->path, &f->links, &f->id);
	if (companion_files.why.code)
		log_warn("%s: %s", f->path, companion_files.why.message);
	u.name = name_of_push(o, f, &companion_files);
	if (o->table) {
		table = memfd_create("table", MFD_CLOEXEC);
		rc = table < 0 ? err_sys(err, errno, "memfd_create")
			       : build_push_table(f, &companion_files, table, err);
		if (rc)
			return err_prefix(err, "%s", f->path);
		u.fd = table;
		u.kind = RAWSTACK__V1__BINARY_KIND__BINARY_KIND_TABLE;
	} else {
		TRY(send_companions(s, f, &companion_files, u.name, TURN_FIRST, err));
		TRY(send_companions(s, f, &companion_files, u.name, TURN_BEFORE, err));
	}
	rc = upload_file(s, &u, &line, err);
	return rc || o->table ? rc
			      : send_companions(s, f, &companion_files, u.name, TURN_LAST, err);
}

/* Returns whether the file is still the one that was loaded. If not, a line says so; it is no
 * failure, because it happens between an upgrade and a reboot. */
static bool is_as_loaded(const struct push_file *file, const struct build_id *id)
{
	char has[BUILD_ID_HEX_MAX], runs[BUILD_ID_HEX_MAX];

	if (file->loaded.kind == BUILD_ID_NONE || build_id_equal(&file->loaded, id))
		return true;
	log_warn("%s: not pushed: it was replaced since it was loaded: its build id is %s, that of "
		 "what runs %s",
		 file->path, build_id_hex(id, has), build_id_hex(&file->loaded, runs));
	return false;
}

/* Reads the id and kind of an open file. Returns 1 if it is a binary to send, 0 if there is nothing
 * to send, or a negative error. */
static int identify_subject(const struct push_file *file, struct subject *f, struct err *err)
{
	int rc = image_identify(f->fd, &f->id, err);

	if (rc)
		return file->found ? 0 : err_prefix(err, "%s", file->path);
	if (!is_as_loaded(file, &f->id))
		return 0;
	f->has_links = !image_links_read(f->fd, &f->links, NULL);
	/* Object files for the linker have no id that anybody will ask for. */
	return !file->found || f->id.kind == BUILD_ID_GNU;
}

/* Opens a file. Returns 1 if it is a binary to send, 0 if there is nothing to send, or a negative
 * error. */
static int open_subject(const struct push_file *file, struct subject *f, struct err *err)
{
	struct stat st;

	*f = (struct subject){.path = file->path, .fd = -1};
	if (!file->found && module_file_is_compressed(file->path)) {
		TRY(module_file_expand(file->path, &f->fd, err));
		return identify_subject(file, f, err);
	}
	/* O_NONBLOCK keeps open() from waiting for the writer of a named pipe. */
	f->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0 || fstat(f->fd, &st))
		return err_sys(err, errno, "%s", file->path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_UNSUPPORTED, "%s: not a regular file", file->path);
	return identify_subject(file, f, err);
}

static int send_file(struct sender *s, const struct push_file *file, bool *ret_found,
		     struct err *err)
{
	struct subject f;
	int rc = open_subject(file, &f, err);

	*ret_found = rc != 0;
	if (rc > 0)
		rc = send_subject(s, &f, err);
	closep(&f.fd);
	return rc;
}

static void *run_sender(void *arg)
{
	struct sender *s = arg;
	struct push *p = s->push;
	struct err err;

	pthread_mutex_lock(&p->lock);
	while (p->next < p->files->count && !p->away) {
		const struct push_file *file = &p->files->list[p->next++];
		bool found;
		int rc;

		pthread_mutex_unlock(&p->lock);
		rc = send_file(s, file, &found, &err);
		if (rc < 0)
			fail_push(s, &err);
		pthread_mutex_lock(&p->lock);
		p->found |= found || rc < 0;
		p->done++;
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void send_kallsyms(struct sender *s, const struct push_kallsyms *kernel)
{
	const struct push_options *o = s->push->options;
	struct push_line line = {.shown = kernel->path};
	struct upload u = {
		.fd = kernel->fd,
		.id = kernel->id,
		.kind = RAWSTACK__V1__BINARY_KIND__BINARY_KIND_KALLSYMS,
		.name = o->name ? o->name : "kernel",
	};
	struct err err;

	if (upload_file(s, &u, &line, &err))
		fail_push(s, &err);
}

static int start_senders(struct push *p, struct sender *senders, size_t count, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		senders[i].push = p;
		rc = i ? rpc_client_open_like(&senders[i].client, senders[0].client, err)
		       : remote_open(&senders[0].client, &p->options->service, err);
		/* The first sender is this thread. */
		if (rc || i == 0)
			continue;
		if (pthread_create(&senders[i].thread, NULL, run_sender, &senders[i]))
			rc = err_set(err, ERR_MEMORY, "a thread cannot be started");
		else
			senders[i].running = true;
	}
	return rc;
}

int push_send(const struct push_options *o, const struct push_files *files,
	      const struct push_kallsyms *kernel, struct err *err)
{
	struct push p = {.options = o, .files = files};
	size_t count = files->count < o->jobs ? files->count : o->jobs;
	_cleanup_(freep) struct sender *senders = NULL;
	int rc;

	count = count ? count : 1;
	senders = calloc(count, sizeof(*senders));
	if (!senders)
		return err_no_memory(err);
	pthread_mutex_init(&p.lock, NULL);
	rc = start_senders(&p, senders, count, err);
	if (rc) {
		pthread_mutex_lock(&p.lock);
		p.away = true;
		pthread_mutex_unlock(&p.lock);
	} else {
		if (kernel)
			send_kallsyms(&senders[0], kernel);
		run_sender(&senders[0]);
	}
	for (size_t i = 0; i < count; i++) {
		if (senders[i].running)
			pthread_join(senders[i].thread, NULL);
		rpc_client_close(senders[i].client);
	}
	pthread_mutex_destroy(&p.lock);
	if (p.failure.code && rc)
		log_error("%s", p.failure.message);
	else if (p.failure.code)
		*err = p.failure;
	else if (!rc && !p.found && !kernel)
		rc = err_set(err, ERR_NOT_FOUND,
			     "nothing was pushed: the given files and directories have no ELF file "
			     "with a build id");
	return rc ? rc : p.failure.code;
}
