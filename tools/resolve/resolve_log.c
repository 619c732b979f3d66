/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve_log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "log_scan.h"
#include "resolve_process.h"
#include "stdout_end.h"

#define CHUNK ((size_t)65536)

/* A frame in the lines that are being copied. */
struct place {
	size_t end; /* where in the text its name goes */
	struct module *module;
	uint64_t vaddr;
	bool is_return; /* looked up by rsym_call_vaddr() */
};

struct places {
	struct place *list;
	size_t count, cap;
};

static const char *log_base_name(const char *path, size_t len, size_t *ret_len)
{
	const char *slash = memrchr(path, '/', len);
	const char *base = slash ? slash + 1 : path;

	*ret_len = len - (size_t)(base - path);
	return base;
}

static bool same_base(const char *path, struct log_text name)
{
	size_t a_len, b_len;
	const char *a = log_base_name(path, strlen(path), &a_len);
	const char *b = log_base_name(name.p, name.len, &b_len);

	return a_len == b_len && memcmp(a, b, a_len) == 0;
}

/* Finds the file of a path in the log: one that the user named, by base name, or else the path
 * itself. */
static struct module *log_file_of(struct log_filter *f, struct log_text path)
{
	for (size_t i = 0; i < f->file_count; i++)
		if (same_base(f->files[i], path))
			return module_set_get(&f->modules, f->files[i], strlen(f->files[i]), NULL,
					      NULL);
	/* A bare name does not say where the file is. */
	if (!memchr(path.p, '/', path.len))
		return NULL;
	return module_set_get(&f->modules, path.p, path.len, NULL, NULL);
}

static struct module *log_module_of(struct log_filter *f, const struct log_frame *frame)
{
	struct module *m = log_file_of(f, frame->module);

	return m || !frame->spaced_module.len ? m : log_file_of(f, frame->spaced_module);
}

static char plain_char(char c)
{
	return c == '-' ? '_' : c;
}

/* Returns whether a file is the kernel module of a name: "/lib/x-y.ko" is x_y. */
static bool is_kernel_module(const char *path, struct log_text name)
{
	size_t len;
	const char *base = log_base_name(path, strlen(path), &len);

	if (len < name.len || (len > name.len && base[name.len] != '.'))
		return false;
	for (size_t i = 0; i < name.len; i++)
		if (plain_char(base[i]) != plain_char(name.p[i]))
			return false;
	return true;
}

static struct module *kernel_module_of(struct log_filter *f, struct log_text name)
{
	const char *file = NULL;

	for (size_t i = 0; i < f->file_count && !file; i++)
		if (name.len
			    ? is_kernel_module(f->files[i], name)
			    : strncmp(log_base_name(f->files[i], strlen(f->files[i]), &(size_t){0}),
				      "vmlinu", 6) == 0)
			file = f->files[i];
	return file ? module_set_get(&f->modules, file, strlen(file), NULL, NULL) : NULL;
}

/* Finds the address at an offset from a symbol, which needs the whole table. */
static struct module *by_symbol(struct log_filter *f, struct module *m, struct log_text symbol,
				uint64_t offset, uint64_t *ret)
{
	uint64_t entry;

	if (!m || module_whole(&f->modules, m, NULL) ||
	    frame_printer_find_entry(m->frame_printer, symbol.p, symbol.len, &entry, NULL) != 1)
		return NULL;
	*ret = entry + offset;
	return m;
}

static struct module *bare_module(struct log_filter *f, uint64_t pc, uint64_t *ret)
{
	*ret = pc;
	if (f->process || (process_pc_is_kernel(pc) && !f->file_count))
		return process_module(&f->modules, f->process, pc, ret);
	return f->file_count
		       ? module_set_get(&f->modules, f->files[0], strlen(f->files[0]), NULL, NULL)
		       : NULL;
}

static bool add_log_place(struct log_filter *f, struct places *all, const struct log_frame *frame,
			  size_t line_off)
{
	struct module *m = NULL;
	uint64_t vaddr = frame->address;
	bool is_return;

	switch (frame->kind) {
	case LOG_MODULE:
		m = log_module_of(f, frame);
		break;
	case LOG_SYMBOL:
		m = by_symbol(f, log_module_of(f, frame), frame->symbol, frame->address, &vaddr);
		break;
	case LOG_KERNEL:
		m = by_symbol(f, kernel_module_of(f, frame->module), frame->symbol, frame->address,
			      &vaddr);
		break;
	case LOG_PC:
		m = bare_module(f, frame->address, &vaddr);
		break;
	}
	f->found++;
	is_return = vaddr && (frame->return_address || f->return_address);
	if (!m)
		return true;
	if (!module_want(m, vaddr) || (is_return && !module_want(m, vaddr - 1)) ||
	    !GROW(all->list, &all->cap, all->count + 1, SIZE_MAX / sizeof(*all->list)))
		return false;
	all->list[all->count++] = (struct place){line_off + frame->end, m, vaddr, is_return};
	return true;
}

/* Adds the frames of the lines from `at` on. Returns false if memory is out. */
static bool scan_lines(struct log_filter *f, struct places *all, const char *text, size_t at,
		       size_t len)
{
	struct log_frame frames[LIMIT_LOG_FRAMES];

	while (at < len) {
		const char *newline = memchr(text + at, '\n', len - at);
		size_t line_len = newline ? (size_t)(newline - text) - at : len - at;
		size_t count =
			line_len > LIMIT_LOG_LINE_LEN ? 0 : log_scan(text + at, line_len, frames);

		for (size_t i = 0; i < count; i++)
			if (!add_log_place(f, all, &frames[i], at))
				return false;
		at += line_len + 1;
	}
	return true;
}

static int print_lines(struct log_filter *f, const struct places *all, const char *text, size_t len,
		       struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(GIB);
	struct resolve_printer printer = {.style = RESOLVE_LINE, .out = &out};
	size_t at = 0, unknown = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct place *p = &all->list[i];
		uint64_t vaddr;

		buf_append(&out, text + at, p->end - at);
		at = p->end;
		if (p->module->failed || !p->module->frame_printer)
			continue;
		unknown = 0;
		vaddr = p->is_return ? rsym_call_vaddr(&p->module->table.rsym, p->vaddr) : p->vaddr;
		TRY(frame_printer_print(p->module->frame_printer, &vaddr, &vaddr, 1, &printer,
					&unknown, err));
		f->named += !unknown;
	}
	buf_append(&out, text + at, len - at);
	if (out.failed)
		return err_no_memory(err);
	stdout_put(&out);
	return stdout_flush(err);
}

/* Prints lines with their names. The first `skip` bytes belong to a line that is too long, and are
 * only copied. */
static int give_lines(struct log_filter *f, const char *text, size_t skip, size_t len,
		      struct err *err)
{
	struct places all = {0};
	int rc = scan_lines(f, &all, text, skip, len) ? module_set_prepare(&f->modules, err)
						      : err_no_memory(err);

	if (!rc)
		rc = print_lines(f, &all, text, len, err);
	free(all.list);
	return rc;
}

int resolve_log(struct log_filter *f, int fd, struct err *err)
{
	_cleanup_(buf_done) struct buf in = BUF_INIT(LIMIT_LOG_LINE_LEN + CHUNK);
	bool inside = false; /* a line that is too long was printed in part */
	int rc = 0;

	while (!rc) {
		uint8_t *room = buf_extend(&in, CHUNK), *newline, *first;
		size_t len, skip;
		ssize_t n;

		if (!room)
			return err_no_memory(err);
		in.len -= CHUNK;
		do
			n = read(fd, room, CHUNK);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return err_sys(err, errno, "standard input");
		in.len += (size_t)n;
		newline = in.len ? memrchr(in.p, '\n', in.len) : NULL;
		len = newline ? (size_t)(newline - in.p) + 1 : 0;
		/* This is the end of the input, or the line is too long. */
		if (n == 0 || (!len && in.len > LIMIT_LOG_LINE_LEN))
			len = in.len;
		if (len) {
			first = memchr(in.p, '\n', len);
			skip = !inside ? 0 : first ? (size_t)(first - in.p) + 1 : len;
			inside = !newline;
			rc = give_lines(f, (const char *)in.p, skip, len, err);
			memmove(in.p, in.p + len, in.len - len);
			in.len -= len;
		}
		if (n == 0)
			break;
	}
	return rc;
}
