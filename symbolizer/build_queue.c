/* SPDX-License-Identifier: Apache-2.0 */
#include "build_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "binary_meta.h"
#include "digest.h"
#include "limits.h"
#include "rsym.h"
#include "timed_wait.h"

struct build_queue {
	struct build_queue_config config;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	unsigned int running;
	unsigned int thread_count;
	pthread_t threads[];
};

struct mapping {
	void *p;
	size_t len;
};

static void mapping_done(struct mapping *m)
{
	if (m->p)
		munmap(m->p, m->len);
}

static int check_digest(const struct upload *up, struct err *err)
{
	_cleanup_(digest_freep) struct digest *d = digest_new(err);
	const size_t chunk = 1 << 20;
	_cleanup_(freep) uint8_t *p = malloc(chunk);
	uint8_t sum[DIGEST_LEN];
	uint64_t left = up->begin->size;
	int rc;

	if (!d)
		return ERR_MEMORY;
	if (!p)
		return err_set(err, ERR_MEMORY, "out of memory");
	while (left) {
		size_t n = left < chunk ? (size_t)left : chunk;

		rc = io_read_all(io_system(), up->fd, p, n, (off_t)(up->begin->size - left), err);
		if (!rc)
			rc = digest_update(d, p, n, err);
		if (rc)
			return rc;
		left -= n;
	}
	rc = digest_finish(d, sum, err);
	if (rc)
		return rc;
	if (memcmp(sum, up->begin->sha256.data, DIGEST_LEN) != 0)
		return err_set(err, ERR_DATA, "the content has another SHA-256 than declared");
	return 0;
}

/* Always ERR_DATA: whatever is wrong, it is not the binary that was declared. */
static int check_id(const struct upload *up, struct err *err)
{
	char declared[BUILD_ID_HEX_MAX], found[BUILD_ID_HEX_MAX];
	struct build_id id;

	if (up->begin->kind == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_KALLSYMS)
		return 0;
	if (table_identify(up->fd, &id, err)) {
		err->code = ERR_DATA;
		return ERR_DATA;
	}
	if (!build_id_equal(&id, &up->id))
		return err_set(err, ERR_DATA, "the file has build id %s, declared was %s",
			       build_id_hex(&id, found), build_id_hex(&up->id, declared));
	return 0;
}

/* The table in an unnamed file of the data directory, mapped. */
static int build(const struct build_queue *q, const struct upload *up, struct build_report *report,
		 struct mapping *table, struct rsym *opened, struct err *err)
{
	_cleanup_(closep) int out =
		openat(uploads_dir(q->config.uploads), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	bool kallsyms = up->begin->kind == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_KALLSYMS;
	struct table_request request = {
		.input_fd = up->fd,
		.stripped_fd = -1,
		.output_fd = out,
		.input = kallsyms ? TABLE_INPUT_KALLSYMS : TABLE_INPUT_ELF,
		.id = up->id,
		.worker_path = q->config.worker_path,
	};
	struct stat st;
	int rc;

	if (out < 0)
		return err_sys(err, errno, "temporary file for the table");
	rc = table_build(&request, report, err);
	if (rc)
		return rc;
	if (fstat(out, &st) || st.st_size <= 0)
		return err_set(err, ERR_INTERNAL, "the worker left no table");
	table->len = (size_t)st.st_size;
	table->p = mmap(NULL, table->len, PROT_READ, MAP_PRIVATE, out, 0);
	if (table->p == MAP_FAILED) {
		table->p = NULL;
		return err_sys(err, errno, "mapping the table");
	}
	return rsym_open(opened, table->p, table->len, err);
}

static uint64_t now_ns(void)
{
	const struct io *io = io_system();

	return io->real_ns(io->ctx);
}

/* Writes the record, with what Begin said of the binary. table NULL: the build failed. */
static int put(const struct build_queue *q, const struct upload *up, const struct mapping *table,
	       const Rawstack__V1__BuildReport *report, const char *reason, struct err *err)
{
	Rawstack__V1__Binary meta = RAWSTACK__V1__BINARY__INIT;
	_cleanup_(freep) uint8_t *packed = NULL;
	union {
		const Rawstack__V1__BuildReport *in;
		Rawstack__V1__BuildReport *out;
	} borrowed = {report}; /* protobuf-c reads only; its type lacks the const */
	struct store_binary b = {
		.id = up->id,
		.status = table ? STORE_READY : STORE_FAILED,
		.pinned = table && up->begin->pin,
		.changed_ns = now_ns(),
		.generation = report ? report->generation : 0,
		.table_len = table ? table->len : 0,
	};
	int rc;

	meta.kind = up->begin->kind;
	meta.name = up->begin->name;
	meta.version = up->begin->version;
	meta.labels = up->begin->labels;
	meta.n_labels = up->begin->n_labels;
	meta.sha256 = up->begin->sha256;
	meta.uploaded_unix_ns = b.changed_ns;
	meta.report = borrowed.out;
	if (reason)
		meta.reason = binary_meta_text(reason);
	b.meta_len = rawstack__v1__binary__get_packed_size(&meta);
	packed = malloc(b.meta_len + 1);
	if (!packed)
		return err_set(err, ERR_MEMORY, "out of memory");
	rawstack__v1__binary__pack(&meta, packed);
	b.meta = packed;
	rc = store_put(q->config.store, &b, table ? table->p : NULL, err);
	if (!rc && q->config.ended)
		q->config.ended(q->config.ctx, &b.id, !table, b.generation);
	return rc;
}

static bool has_table(const struct build_queue *q, const struct build_id *id)
{
	struct store_read *r;
	struct store_binary b;
	bool ready;

	if (store_read_begin(q->config.store, &r, NULL))
		return false;
	ready = store_binary(r, id, &b, NULL) == 1 && b.status == STORE_READY;
	store_read_end(r);
	return ready;
}

static void work(struct build_queue *q, struct upload *up)
{
	_cleanup_(mapping_done) struct mapping table = {NULL, 0};
	struct build_report report = {0};
	Rawstack__V1__BuildReport message = RAWSTACK__V1__BUILD_REPORT__INIT;
	ProtobufCBinaryData skipped;
	struct upload_result result = {.id = up->id};
	struct rsym opened = {0};
	struct err err = {0}, ignored;

	result.code = check_digest(up, &err);
	if (!result.code)
		result.code = check_id(up, &err);
	if (!result.code) {
		result.code = build(q, up, &report, &table, &opened, &err);
		if (!result.code) {
			binary_meta_report(&message, &report, up->begin->size, opened.generation,
					   &skipped);
			message.table_bytes = table.len;
			result.code = put(q, up, &table, &message, NULL, &err);
		} else {
			/* Not the client's lie, but a file that cannot be read. */
			if (result.code == ERR_DATA)
				result.code = ERR_UNSUPPORTED;
			if (!has_table(q, &up->id))
				put(q, up, NULL, NULL, err.message, &ignored);
		}
	}
	result.message = err.message;
	result.report = result.code ? NULL : &message;
	uploads_done(q->config.uploads, up, &result);
}

static void *builder(void *arg)
{
	struct build_queue *q = arg;
	struct upload *up;

	while ((up = uploads_take(q->config.uploads)))
		work(q, up);
	pthread_mutex_lock(&q->lock);
	q->running--;
	pthread_cond_broadcast(&q->ended);
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

int build_queue_open(struct build_queue **ret, const struct build_queue_config *config,
		     struct err *err)
{
	unsigned int count = config->builders ? config->builders : 1;
	struct build_queue *q = calloc(1, sizeof(*q) + count * sizeof(q->threads[0]));

	if (!q)
		return err_set(err, ERR_MEMORY, "out of memory");
	q->config = *config;
	pthread_mutex_init(&q->lock, NULL);
	timed_wait_init(&q->ended);
	for (; q->thread_count < count; q->thread_count++) {
		int rc;

		pthread_mutex_lock(&q->lock);
		q->running++;
		pthread_mutex_unlock(&q->lock);
		rc = pthread_create(&q->threads[q->thread_count], NULL, builder, q);
		if (rc) {
			uploads_stop(config->uploads);
			build_queue_close(q);
			return err_sys(err, rc, "builder thread");
		}
	}
	*ret = q;
	return 0;
}

bool build_queue_stop(struct build_queue *q, unsigned int timeout_ms)
{
	const struct timespec until = timed_wait_until(timeout_ms);
	bool ended;
	int rc = 0;

	pthread_mutex_lock(&q->lock);
	while (q->running && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&q->ended, &q->lock, &until);
	ended = !q->running;
	pthread_mutex_unlock(&q->lock);
	return ended;
}

void build_queue_close(struct build_queue *q)
{
	if (!q)
		return;
	for (unsigned int i = 0; i < q->thread_count; i++)
		pthread_join(q->threads[i], NULL);
	pthread_cond_destroy(&q->ended);
	pthread_mutex_destroy(&q->lock);
	free(q);
}
