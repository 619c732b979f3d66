/* SPDX-License-Identifier: Apache-2.0 */
#include "quotas.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "io.h"
#include "limits.h"
#include "log.h"
#include "number.h"
#include "timed_wait.h"

/* Identities on one day: a large fleet, in 12 MB. */
#define LIMIT_ACCOUNTS LIMIT(65536)

enum {
	BUCKETS = 4096, /* chains of 16 with LIMIT_ACCOUNTS */
	NAME_LEN = 128,
	LINE_LEN = 192, /* a line of the file */
	SAVE_MS = 2000,
};

#define DAY_NS    UINT64_C(86400000000000)
#define FILE_HEAD "rawstack quotas 1"

const struct quota_limits quota_no_limits = {{QUOTA_ANY, QUOTA_ANY, QUOTA_ANY}};

struct quota_account {
	struct quota_account *next;
	uint64_t key;
	uint64_t bytes;      /* of the day */
	uint64_t most_bytes; /* as the last call had it */
	uint32_t calls;      /* at this moment */
	char name[NAME_LEN];
};

struct quotas {
	char *path; /* NULL: nothing is stored */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t saver;
	bool has_saver, stopped, dirty;
	uint64_t day; /* since 1970 */
	size_t count;
	struct quota_account *buckets[BUCKETS];
};

static struct quota_account **account_bucket(struct quotas *q, uint64_t key)
{
	return &q->buckets[key % BUCKETS];
}

static struct quota_account *find_account(struct quotas *q, uint64_t key)
{
	struct quota_account *a = *account_bucket(q, key);

	while (a && a->key != key)
		a = a->next;
	return a;
}

static struct quota_account *open_account(struct quotas *q, uint64_t key, const char *name)
{
	struct quota_account *a = find_account(q, key);

	if (a || q->count >= LIMIT_ACCOUNTS)
		return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->key = key;
	snprintf(a->name, sizeof(a->name), "%s", name);
	for (char *at = a->name; *at; at++) /* a name must not end its line in the file */
		*at = (unsigned char)*at < ' ' ? '?' : *at;
	a->next = *account_bucket(q, key);
	*account_bucket(q, key) = a;
	q->count++;
	return a;
}

/* Begins a new day if it is one: the bytes count from 0, and idle accounts go. */
static void begin_day(struct quotas *q)
{
	const uint64_t day = io_system()->real_ns(NULL) / DAY_NS;

	if (day == q->day)
		return;
	q->day = day;
	q->dirty = true;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct quota_account **at = &q->buckets[i], *a; (a = *at);) {
			a->bytes = 0;
			if (a->calls) {
				at = &a->next;
				continue;
			}
			*at = a->next;
			free(a);
			q->count--;
		}
}

static uint32_t ms_to_next_day(void)
{
	return (uint32_t)((DAY_NS - io_system()->real_ns(NULL) % DAY_NS) / 1000000 + 1);
}

/* --- the file -------------------------------------------------------------------------------- */

/* Takes one line, "KEY BYTES NAME". */
static bool take_account(struct quotas *q, char *line)
{
	char *key_text = strsep(&line, " "), *bytes_text = strsep(&line, " ");
	struct quota_account *a;
	uint64_t key, bytes;

	if (!line || !number_read(key_text, 16, &key) || !number_read(bytes_text, 10, &bytes))
		return false;
	a = open_account(q, key, line);
	if (a)
		a->bytes = bytes;
	return true;
}

static bool take_accounts(struct quotas *q, char *text)
{
	char *line = strsep(&text, "\n");
	uint64_t day;

	if (strcmp(line, FILE_HEAD) != 0 || !text || !(line = strsep(&text, "\n")) ||
	    !number_read(line, 10, &day))
		return false;
	if (day != q->day)
		return true;
	while ((line = strsep(&text, "\n")))
		if (*line && !take_account(q, line))
			return false;
	return true;
}

static int load_accounts(struct quotas *q, struct err *err)
{
	_cleanup_(freep) uint8_t *bytes = NULL;
	struct err why = {0};
	size_t len;
	int rc = io_read_file(q->path, (size_t)LIMIT_ACCOUNTS * LINE_LEN, &bytes, &len, &why);

	if (rc == ERR_NOT_FOUND)
		return 0;
	if (rc == ERR_MEMORY)
		return err_no_memory(err);
	if (rc)
		log_warn("%s: the bytes of the day begin at 0", why.message);
	else if (memchr(bytes, 0, len) || !take_accounts(q, (char *)bytes))
		log_warn("%s: not a record of quotas: the bytes of the day begin at 0", q->path);
	return 0;
}

/* Writes the accounts as text. The caller holds the lock. */
static void print_accounts(struct quotas *q, struct buf *to)
{
	buf_printf(to, FILE_HEAD "\n%" PRIu64 "\n", q->day);
	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct quota_account *a = q->buckets[i]; a; a = a->next)
			if (a->bytes)
				buf_printf(to, "%016" PRIx64 " %" PRIu64 " %s\n", a->key, a->bytes,
					   a->name);
	q->dirty = false;
}

static void save_accounts(struct quotas *q, bool *ret_failed)
{
	struct buf text = BUF_INIT((size_t)LIMIT_ACCOUNTS * LINE_LEN);
	struct err err = {0};
	int rc;

	pthread_mutex_lock(&q->lock);
	print_accounts(q, &text);
	pthread_mutex_unlock(&q->lock);
	rc = text.failed ? err_no_memory(&err)
			 : io_write_file(q->path, text.p, text.len, 0600, &err);
	if (rc && !*ret_failed)
		log_warn("quotas: %s: a restart may forget the bytes of the day", err.message);
	*ret_failed = rc != 0;
	buf_done(&text);
}

static void *run_quota_saver(void *arg)
{
	struct quotas *q = arg;
	bool failed = false, stopped = false, dirty;

	while (!stopped) {
		const struct timespec until = timed_wait_until(SAVE_MS);

		pthread_mutex_lock(&q->lock);
		while (!q->stopped &&
		       pthread_cond_timedwait(&q->changed, &q->lock, &until) != ETIMEDOUT)
			;
		stopped = q->stopped;
		dirty = q->dirty;
		pthread_mutex_unlock(&q->lock);
		if (dirty)
			save_accounts(q, &failed);
	}
	return NULL;
}

/* --- open, close ----------------------------------------------------------------------------- */

int quotas_open(struct quotas **ret, const char *path, struct err *err)
{
	_cleanup_(quotas_closep) struct quotas *q = calloc(1, sizeof(*q));
	int rc;

	if (!q)
		return err_no_memory(err);
	pthread_mutex_init(&q->lock, NULL);
	timed_wait_init(&q->changed);
	begin_day(q);
	q->dirty = false;
	if (path) {
		q->path = strdup(path);
		if (!q->path)
			return err_no_memory(err);
		TRY(load_accounts(q, err));
		rc = pthread_create(&q->saver, NULL, run_quota_saver, q);
		if (rc)
			return err_sys(err, rc, "thread of quotas");
		q->has_saver = true;
	}
	*ret = TAKE_PTR(q);
	return 0;
}

void quotas_close(struct quotas *q)
{
	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	q->stopped = true;
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
	if (q->has_saver)
		pthread_join(q->saver, NULL);
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct quota_account *a = q->buckets[i], *next; a; a = next) {
			next = a->next;
			free(a);
		}
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q->path);
	free(q);
}

/* --- calls ----------------------------------------------------------------------------------- */

static int refuse_bytes(const struct quota_account *a, uint32_t *ret_retry_ms, struct err *err)
{
	*ret_retry_ms = ms_to_next_day();
	return err_set(err, ERR_LIMIT,
		       "%s has sent %" PRIu64 " bytes today, and its quota is %" PRIu64
		       ": the next day begins at 00:00 UTC",
		       a->name, a->bytes, a->most_bytes);
}

static int begin_locked(struct quotas *q, const struct quota_owner *owner,
			const struct quota_limits *limits, struct quota_account **ret,
			uint32_t *ret_retry_ms, struct err *err)
{
	struct quota_account *a;

	begin_day(q);
	a = open_account(q, owner->key, owner->name);
	if (!a)
		return err_full(err, q->count < LIMIT_ACCOUNTS,
				"more than %zu identities with quotas today",
				(size_t)LIMIT_ACCOUNTS);
	a->most_bytes = limits->most[QUOTA_DAY_BYTES];
	if (a->bytes >= a->most_bytes)
		return refuse_bytes(a, ret_retry_ms, err);
	if (a->calls >= limits->most[QUOTA_REQUESTS])
		return err_set(err, ERR_LIMIT,
			       "%s has %u requests in flight, and its quota is %" PRIu64, a->name,
			       a->calls, limits->most[QUOTA_REQUESTS]);
	a->calls++;
	*ret = a;
	return 0;
}

int quotas_begin(struct quotas *q, const struct quota_owner *owner,
		 const struct quota_limits *limits, struct quota_account **ret,
		 uint32_t *ret_retry_ms, struct err *err)
{
	int rc;

	*ret = NULL;
	*ret_retry_ms = 0;
	if (limits->most[QUOTA_DAY_BYTES] == QUOTA_ANY && limits->most[QUOTA_REQUESTS] == QUOTA_ANY)
		return 0;
	pthread_mutex_lock(&q->lock);
	rc = begin_locked(q, owner, limits, ret, ret_retry_ms, err);
	pthread_mutex_unlock(&q->lock);
	return rc;
}

void quotas_end(struct quotas *q, struct quota_account *account)
{
	if (!account)
		return;
	pthread_mutex_lock(&q->lock);
	account->calls--;
	pthread_mutex_unlock(&q->lock);
}

int quotas_charge(struct quotas *q, struct quota_account *account, uint64_t len,
		  uint32_t *ret_retry_ms, struct err *err)
{
	int rc = 0;

	*ret_retry_ms = 0;
	if (!account)
		return 0;
	pthread_mutex_lock(&q->lock);
	begin_day(q);
	account->bytes += len;
	q->dirty = true;
	if (account->bytes > account->most_bytes)
		rc = refuse_bytes(account, ret_retry_ms, err);
	pthread_mutex_unlock(&q->lock);
	return rc;
}
