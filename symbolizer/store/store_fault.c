/* SPDX-License-Identifier: Apache-2.0 */
#include "store_fault.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "limits.h"
#include "store_pages.h"
#include "utf8.h"

enum {
	WHAT_MAX = 256 /* what happened, without the names of the program and the file */
};

/* The rows that the signal handler reads. A row is free while end is 0, so end is written last. */
static struct row {
	uintptr_t begin, end;
	char path[LIMIT_PATH_LEN];
} rows[STORE_FAULT_MAPS];

static const int signals[] = {SIGBUS, SIGSEGV, SIGABRT};
static struct sigaction before[ARRAY_LEN(signals)];
static const char *program;
static pthread_mutex_t rows_lock = PTHREAD_MUTEX_INITIALIZER; /* held to add and remove */

/* Only one thread may use the buffer, and one line is enough. */
static bool is_told;
static char line[LIMIT_PATH_LEN + WHAT_MAX + sizeof(STORE_DAMAGED_ADVICE)];

_Thread_local const char *store_fault_inside;

/* A signal handler may not call printf(), and strlcpy() does not exist everywhere. */
static size_t append_fault_text(size_t at, const char *text)
{
	while (*text && at + 1 < sizeof(line))
		line[at++] = *text++;
	return at;
}

static size_t append_number(size_t at, uint64_t n)
{
	char digits[24];
	size_t i = sizeof(digits);

	digits[--i] = 0;
	do {
		digits[--i] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	return append_fault_text(at, digits + i);
}

/* Uses only system calls and its own buffer, so that a signal handler may call it. */
static void tell_once(const char *path, const char *what, const uint64_t *offset)
{
	ssize_t n _unused_;
	size_t at;

	if (!program || __atomic_exchange_n(&is_told, true, __ATOMIC_ACQ_REL))
		return;
	at = append_fault_text(0, program);
	at = append_fault_text(at, ": ");
	at = append_fault_text(at, path);
	at = append_fault_text(at, ": damaged while it is open: ");
	at = append_fault_text(at, what);
	if (offset) {
		at = append_fault_text(at, " at byte ");
		at = append_number(at, *offset);
	}
	at = append_fault_text(at, "; " STORE_DAMAGED_ADVICE);
	line[at++] = '\n';
	n = write(STDERR_FILENO, line, at);
}

static const struct row *find_mapped_row(uintptr_t at, uint64_t *ret_offset)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uintptr_t end = __atomic_load_n(&rows[i].end, __ATOMIC_ACQUIRE);

		if (at >= end || at < rows[i].begin)
			continue;
		*ret_offset = at - rows[i].begin;
		return &rows[i];
	}
	return NULL;
}

static void on_fault(int signal, siginfo_t *info, void *context _unused_)
{
	bool is_fault = info->si_code > 0 && signal != SIGABRT; /* not sent by a process */
	const struct row *row = NULL;
	int saved = errno;
	uint64_t offset;

	if (is_fault)
		row = find_mapped_row((uintptr_t)info->si_addr, &offset);
	if (row)
		tell_once(row->path,
			  signal == SIGBUS ? "the file was truncated, a page leads out of it, or "
					     "its disk fails,"
					   : "a page leads out of the file",
			  &offset);
	else if (store_fault_inside && (is_fault || signal == SIGABRT))
		tell_once(store_fault_inside, "a page leads LMDB astray", NULL);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (signals[i] == signal)
			sigaction(signal, &before[i], NULL);
	/* A fault repeats when the handler returns. A signal that was sent does not, so it is sent
	 * again. */
	if (!is_fault)
		raise(signal);
	errno = saved;
}

void store_fault_install(const char *name)
{
	struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	program = name;
	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaction(signals[i], &act, &before[i]);
}

void store_fault_add(const void *map, size_t len, const char *path)
{
	pthread_mutex_lock(&rows_lock);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].end)
			continue;
		rows[i].begin = (uintptr_t)map;
		snprintf(rows[i].path, sizeof(rows[i].path), "%s", path);
		utf8_mask(rows[i].path, strlen(rows[i].path));
		__atomic_store_n(&rows[i].end, (uintptr_t)map + len, __ATOMIC_RELEASE);
		break;
	}
	pthread_mutex_unlock(&rows_lock);
}

void store_fault_remove(const void *map)
{
	pthread_mutex_lock(&rows_lock);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].begin == (uintptr_t)map)
			__atomic_store_n(&rows[i].end, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&rows_lock);
}

void store_fault_assertion(const char *path, const char *what)
{
	char text[WHAT_MAX];

	snprintf(text, sizeof(text), "LMDB found %s", what);
	text[strcspn(text, "\n")] = 0;
	tell_once(path, text, NULL);
}
