/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack resolve`: turns addresses of one binary into functions, files and lines. */
#include <stdio.h>
#include <string.h>

#include "address_input.h"
#include "command.h"
#include "program.h"
#include "resolve_log.h"
#include "resolve_options.h"
#include "resolve_process.h"
#include "resolve_service.h"
#include "stdout_end.h"

/* The source of the answers. */
struct source {
	struct local_table local;
	struct resolve_service *service;
	struct module_set modules;
	struct process_map process;
	struct source_lines lines;
};

static void source_close(struct source *s)
{
	local_table_close(&s->local);
	if (s->service)
		program_resolve_service->close(s->service);
	module_set_done(&s->modules);
	process_map_done(&s->process);
	source_lines_done(&s->lines);
}

static int open_process_source(struct process_map *m, const char *pid, struct err *err)
{
	uint64_t number;

	if (options_number("--pid", pid, 1, INT32_MAX, &number, err))
		return ERR_USAGE;
	return process_map_read(m, (int64_t)number, err);
}

static int source_open(struct source *s, const struct resolve_options *o, struct err *err)
{
	struct resolve_service_of of = {
		.service = &o->service,
		.build_id = o->build_id,
		.name = o->name,
		.labels = o->labels,
		.label_count = o->label_count,
	};

	s->modules.use_cache = !o->no_cache;
	s->modules.demangle = !o->mangled && (o->style != RESOLVE_GNU || o->demangled);
	if (o->file_count)
		return local_table_open(&s->local, o->files[0], !o->no_cache, err);
	if (o->pid)
		return open_process_source(&s->process, o->pid, err);
	if (o->kernel)
		return 0;
	/* Nothing was read or printed so far, so another program can take over. */
	if (!program_resolve_service)
		return program_other(err);
	return program_resolve_service->open(&s->service, &of, err);
}

struct totals {
	size_t asked, unknown;
};

/* Answers some addresses and prints the answers at once, because the asker may wait for them. */
static int answer_addresses(struct source *s, const struct resolve_options *o,
			    const uint64_t *addresses, size_t count, struct totals *totals,
			    struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(GIB);
	struct resolve_printer printer = {.style = o->style, .gnu = o->gnu, .out = &out};
	struct resolve_query q = {
		.addresses = addresses,
		.count = count,
		.file_off = o->file_off,
		.section = o->section,
		.return_address = o->return_address,
		.demangle = RESOLVE_DEMANGLED,
	};
	int rc;

	/* addr2line demangles only when told to; all other styles demangle by default. */
	if (o->mangled || (o->style == RESOLVE_GNU && !o->demangled))
		q.demangle = RESOLVE_MANGLED;
	printer.gnu.address_bytes = o->file_count ? s->local.address_bytes : 8;
	printer.source = o->source ? &s->lines : NULL;
	printer.links = o->links;
	totals->asked += count;
	if (o->file_count)
		rc = resolve_local(&s->local, &q, &printer, &totals->unknown, err);
	else if (o->pid || o->kernel)
		rc = resolve_process(&s->modules, o->pid ? &s->process : NULL, &q, &printer,
				     &totals->unknown, err);
	else
		rc = program_resolve_service->answer(s->service, &q, &printer, &totals->unknown,
						     err);
	if (!rc && out.failed)
		rc = err_no_memory(err);
	if (!rc)
		stdout_put(&out);
	return rc;
}

static int answer_arguments(struct source *s, const struct resolve_options *o,
			    const struct operands *operands, struct totals *totals, struct err *err)
{
	const size_t count = operands->count;
	_cleanup_(freep) uint64_t *addresses = malloc((count + 1) * sizeof(*addresses));

	if (!addresses)
		return err_no_memory(err);
	for (size_t i = 0; i < count; i++)
		TRY(address_parse(operands->list[i], &addresses[i], err));
	TRY(source_open(s, o, err));
	return answer_addresses(s, o, addresses, count, totals, err);
}

static int answer_lines(struct source *s, const struct resolve_options *o, struct totals *totals,
			struct err *err)
{
	_cleanup_(address_input_done) struct address_input in;
	int more;

	address_input_init(&in, STDIN_FILENO, o->drop_in);
	TRY(source_open(s, o, err));
	while ((more = address_input_next(&in, err)) > 0) {
		TRY(answer_addresses(s, o, in.list, in.count, totals, err));
		TRY(stdout_flush(err));
	}
	return more;
}

static int filter_log(const struct resolve_options *o, struct err *err)
{
	_cleanup_(process_map_done) struct process_map process = {0};
	struct log_filter f = {
		.modules = {.use_cache = !o->no_cache, .demangle = !o->mangled},
		.files = o->files,
		.file_count = o->file_count,
		.process = o->pid ? &process : NULL,
		.return_address = o->return_address,
	};
	int rc = o->pid ? open_process_source(&process, o->pid, err) : 0;

	/* A file that the user named must exist; one that the log names need not. */
	for (size_t i = 0; !rc && i < o->file_count; i++)
		if (!module_set_get(&f.modules, o->files[i], strlen(o->files[i]), NULL, err))
			rc = err->code;
	if (!rc)
		rc = resolve_log(&f, STDIN_FILENO, err);
	module_set_leave(&f.modules);
	module_set_done(&f.modules);
	return rc;
}

/* Makes tables after the answer, when nobody waits any more. */
static void leave_tables(struct source *s)
{
	struct err ignored;

	if (stdout_flush(&ignored) == ERR_IO)
		return;
	local_table_leave(&s->local);
	module_set_leave(&s->modules);
}

static const char *asked_of(const struct resolve_options *o)
{
	if (o->file_count)
		return o->files[0];
	return o->pid ? o->pid : o->kernel ? "kernel" : o->name ? o->name : o->build_id;
}

static int run_resolve(int argc, char **argv, struct err *err)
{
	_cleanup_(source_close) struct source s = {.local = LOCAL_TABLE_NONE};
	struct resolve_options o = {0};
	struct operands addresses;
	struct totals totals = {0};
	int rc;

	TRY(resolve_options_parse(argc, argv, &o, &addresses, err));
	if (o.filter)
		return filter_log(&o, err);
	if (addresses.count)
		rc = answer_arguments(&s, &o, &addresses, &totals, err);
	else
		rc = answer_lines(&s, &o, &totals, err);
	leave_tables(&s);
	/* addr2line reports such addresses only by ??. */
	if (!rc && totals.unknown && !o.drop_in)
		return err_set(err, ERR_NOT_FOUND, "%s%s: %zu of %zu addresses are in no function",
			       o.build_id ? "build id "
			       : o.pid    ? "process "
					  : "",
			       asked_of(&o), totals.unknown, totals.asked);
	return rc;
}

const struct command cmd_resolve = {
	.usage = &resolve_usage,
	.run = run_resolve,
	.summary = "turn addresses into functions, files and lines",
};
