/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_directory.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t clock_ns;

static uint64_t mono_ns(void *ctx _unused_)
{
	return clock_ns;
}

/* Numbers of segments come from it. */
static uint64_t real_ns(void *ctx _unused_)
{
	return UINT64_C(1800000000) * SECOND + clock_ns;
}

int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	*p = (struct place){.top = "spool-XXXXXX", .io = *io_system()};
	p->io.mono_ns = mono_ns;
	p->io.real_ns = real_ns;
	clock_ns = 1000 * SECOND;
	if (!mkdtemp(p->top))
		fail_msg("%s", strerror(errno));
	snprintf(p->spool, sizeof(p->spool), "%s/spool", p->top);
	snprintf(p->away, sizeof(p->away), "%s/away", p->top);
	*state = p;
	return 0;
}

void remove_content(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			assert_int_equal(unlinkat(dirfd(d), e->d_name, 0), 0);
	if (d)
		closedir(d);
}

void remove_spool(const char *dir)
{
	remove_content(dir);
	assert_int_equal(rmdir(dir), 0);
}

int place_teardown(void **state)
{
	struct place *p = *state;

	remove_content(p->spool);
	rmdir(p->spool);
	remove_content(p->away);
	rmdir(p->away);
	assert_int_equal(rmdir(p->top), 0);
	free(p);
	return 0;
}

struct spool_writer *open_writer(struct place *p)
{
	struct spool_writer *w = NULL;
	struct err err = {0};

	if (spool_writer_open(&w, p->spool, &small, &origin, &p->io, &err))
		fail_msg("%s", err.message);
	return w;
}

struct seen read_dir(struct place *p, const char *dir)
{
	struct spool_reader *r = NULL;
	struct err err = {0};
	struct seen seen;

	if (spool_reader_open(&r, dir, &p->io, &err))
		fail_msg("%s", err.message);
	seen = drain(r, 1000);
	spool_reader_close(r);
	return seen;
}

struct seen read_all(struct place *p)
{
	return read_dir(p, p->spool);
}

uint64_t lost(struct spool_writer *w)
{
	return spool_writer_lost(w, SPOOL_LOSS_SPOOL_ERROR);
}
