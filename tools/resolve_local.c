/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "demangle.h"
#include "limits.h"
#include "resolve.h"
#include "rsym.h"
#include "table_build.h"

struct mapped {
	void *p;
	size_t len;
};

static void mapped_done(struct mapped *m)
{
	if (m->p)
		munmap(m->p, m->len);
}

static int build(const char *path, struct mapped *ret, struct err *err)
{
	_cleanup_(closep) int in = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_(closep) int out = -1;
	struct build_report report;
	struct stat st;
	int rc;

	if (in < 0 || fstat(in, &st))
		return err_sys(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_UNSUPPORTED, "%s: not a regular file", path);
	out = memfd_create("table", MFD_CLOEXEC);
	if (out < 0)
		return err_sys(err, errno, "memfd");
	rc = table_build(
		&(struct table_request){.input_fd = in, .stripped_fd = -1, .output_fd = out},
		&report, err);
	if (rc)
		return err_prefix(err, "%s", path);
	if (fstat(out, &st))
		return err_sys(err, errno, "memfd");
	ret->len = (size_t)st.st_size;
	ret->p = mmap(NULL, ret->len, PROT_READ, MAP_PRIVATE, out, 0);
	if (ret->p == MAP_FAILED) {
		ret->p = NULL;
		return err_sys(err, errno, "%s: table", path);
	}
	return 0;
}

static int print_frame(const struct rsym *t, const struct rsym_frame *f, bool inlined,
		       const struct resolve_query *q, struct resolve_printer *printer,
		       struct err *err)
{
	_cleanup_(buf_done) struct buf name = BUF_INIT(LIMIT_NAME_LEN);
	_cleanup_(buf_done) struct buf file = BUF_INIT(LIMIT_STRING_LEN);
	_cleanup_(buf_done) struct buf shown = BUF_INIT(LIMIT_NAME_LEN + LIMIT_DEMANGLE_OUT);
	int rc = rsym_name(t, f->function, &name, err);

	if (!rc && f->file != RSYM_NONE)
		rc = rsym_file(t, f->file, &file, err);
	if (rc)
		return rc;
	demangle_append(q->demangle == RESOLVE_DEMANGLED ? DEMANGLE_FULL : DEMANGLE_NONE, name.p,
			name.len, &shown);
	resolve_frame(printer, &(struct resolve_frame){
				       .function = shown.p,
				       .function_len = shown.len,
				       .file = file.p,
				       .file_len = file.len,
				       .line = f->line,
				       .inlined = inlined,
			       });
	return 0;
}

static int resolve_one(const struct rsym *t, uint64_t address, const struct resolve_query *q,
		       struct resolve_printer *printer, size_t *unknown, struct err *err)
{
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	uint64_t vaddr = address;
	int count = 0, rc = 0;

	if (!q->file_off || rsym_vaddr_of_file_off(t, address, &vaddr) == 1)
		count = rsym_lookup(t, vaddr - (q->return_address && vaddr), frames,
				    ARRAY_LEN(frames));
	if (count < 0)
		return err_set(err, ERR_INTERNAL, "table: lookup fails");
	resolve_begin(printer, address, count ? "resolved" : "not_in_module");
	for (int i = 0; !rc && i < count; i++)
		rc = print_frame(t, &frames[i], i + 1 < count, q, printer, err);
	resolve_end(printer);
	*unknown += count == 0;
	return rc;
}

int resolve_local(const char *path, const struct resolve_query *q, struct resolve_printer *printer,
		  size_t *ret_unknown, struct err *err)
{
	_cleanup_(mapped_done) struct mapped table = {0};
	struct rsym t;
	int rc = build(path, &table, err);

	*ret_unknown = 0;
	if (!rc)
		rc = rsym_open(&t, table.p, table.len, err);
	for (size_t i = 0; !rc && i < q->count; i++)
		rc = resolve_one(&t, q->addresses[i], q, printer, ret_unknown, err);
	return rc;
}
