/* SPDX-License-Identifier: Apache-2.0 */
#include "targets.h"

#include <stdio.h>
#include <string.h>

#include "io.h"
#include "limits.h"
#include "number.h"
#include "procscan.h"

static int compile_pattern(regex_t *re, const char *text, struct err *err)
{
	int rc = regcomp(re, text, REG_EXTENDED | REG_NOSUB);
	char why[128];

	if (!rc)
		return 0;
	regerror(rc, re, why, sizeof(why));
	return err_set(err, ERR_USAGE, "'%.60s': %s", text, why);
}

int targets_check(const char *pattern, struct err *err)
{
	regex_t re;

	TRY(compile_pattern(&re, pattern, err));
	regfree(&re);
	return 0;
}

int targets_init(struct targets *t, const char *comm, const char *exe, struct err *err)
{
	*t = (struct targets){.has_comm = false};
	if (comm && compile_pattern(&t->comm, comm, err))
		return err_prefix(err, "--comm");
	t->has_comm = comm != NULL;
	if (!exe)
		return 0;
	if (compile_pattern(&t->exe, exe, err)) {
		targets_done(t);
		return err_prefix(err, "--exe");
	}
	t->has_exe = true;
	return 0;
}

void targets_done(struct targets *t)
{
	if (t->has_comm)
		regfree(&t->comm);
	if (t->has_exe)
		regfree(&t->exe);
	t->has_comm = t->has_exe = false;
}

static bool is_match(const regex_t *re, const char *text)
{
	return text && !regexec(re, text, 0, NULL, 0);
}

bool targets_match(const struct targets *t, const char *comm, const char *exe)
{
	return (!t->has_comm || is_match(&t->comm, comm)) &&
	       (!t->has_exe || is_match(&t->exe, exe));
}

/* --- children -------------------------------------------------------------------------------- */

struct family {
	uint32_t *pids;
	size_t count, max;
	bool grew;
};

/* Returns the parent of a process, or 0, from "<pid> (<name>) <state> <parent> ...",
 * proc_pid_stat(5). A name may hold anything. */
static uint32_t parent_of(uint32_t pid)
{
	_cleanup_(freep) uint8_t *text = NULL;
	uint64_t parent = 0;
	const char *at;
	char path[64];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (io_read_file(path, 4096, &text, &len, NULL))
		return 0;
	at = strrchr((const char *)text, ')');
	if (at && strlen(at) > 4) {
		at += 4;
		(void)number_take(&at, 10, &parent);
	}
	return (uint32_t)parent;
}

static bool family_has(const struct family *f, uint32_t pid)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->pids[i] == pid)
			return true;
	return false;
}

static void add_if_child(void *arg, uint32_t pid)
{
	struct family *f = arg;

	if (f->count == f->max || family_has(f, pid) || !family_has(f, parent_of(pid)))
		return;
	f->pids[f->count++] = pid;
	f->grew = true;
}

size_t targets_add_children(uint32_t *pids, size_t count, size_t max)
{
	struct family f = {.pids = pids, .count = count, .max = max};

	do {
		f.grew = false;
		procscan_list(add_if_child, &f);
	} while (f.grew);
	return f.count;
}
