/* SPDX-License-Identifier: Apache-2.0 */
#include "push_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "json.h"
#include "limits.h"
#include "stdout_end.h"
#include "text.h"

static const char *kind_word(Rawstack__V1__BinaryKind kind)
{
	switch (kind) {
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_DEBUG:
		return "debug";
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_EXECUTABLE:
		return "executable";
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_BOTH:
		return "both";
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_ALT:
		return "alt";
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_DWP:
		return "dwp";
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_KALLSYMS:
		return "kallsyms";
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_TABLE:
		return "table";
	default:
		return "unknown";
	}
}

static void print_push_json(const struct push_line *l, const Rawstack__V1__BuildReport *r,
			    struct buf *out)
{
	char hex[BUILD_ID_HEX_MAX];

	json_open(out, '{');
	json_key_cstr(out, "file", l->shown);
	json_key_cstr(out, "build_id", build_id_hex(&l->id, hex));
	json_key_cstr(out, "kind", kind_word(l->kind));
	if (l->of)
		json_key_cstr(out, "goes_with", l->of);
	json_key_bool(out, "already_there", l->present);
	if (l->failed)
		json_key_cstr(out, "failed", l->failed);
	json_key_number(out, "sent_bytes", (int64_t)l->sent);
	json_key_number(out, "functions", (int64_t)r->functions);
	json_key_number(out, "inlined_calls", (int64_t)r->inline_nodes);
	json_key_bool(out, "dwarf", r->has_dwarf);
	json_key_number(out, "units", (int64_t)r->units);
	json_key_number(out, "units_skipped", (int64_t)r->units_skipped);
	json_key_number(out, "symbols", (int64_t)r->symbols);
	json_key_number(out, "table_bytes", (int64_t)r->table_bytes);
	json_key_bool(out, "client_built", r->client_built);
	json_key(out, "skipped");
	json_open(out, '[');
	for (size_t i = 0; i < r->n_skipped; i++)
		json_text(out, r->skipped[i].data, r->skipped[i].len);
	json_close(out, ']');
	json_key(out, "missing");
	json_open(out, '[');
	for (size_t i = 0; i < r->n_missing; i++) {
		json_open(out, '{');
		json_key_cstr(out, "kind", kind_word(r->missing[i]->kind));
		json_key_text(out, "name", r->missing[i]->name.data, r->missing[i]->name.len);
		json_close(out, '}');
	}
	json_close(out, ']');
	json_close(out, '}');
}

bool push_report_misses(const Rawstack__V1__BuildReport *r, Rawstack__V1__BinaryKind kind)
{
	for (size_t i = 0; i < r->n_missing; i++)
		if (r->missing[i]->kind == kind)
			return true;
	return false;
}

static void print_push_text(const struct push_line *l, const Rawstack__V1__BuildReport *r,
			    struct buf *out)
{
	char hex[BUILD_ID_HEX_MAX];

	text_cstr(out, l->shown);
	if (l->of) {
		buf_str(out, " (goes with ");
		text_cstr(out, l->of);
		buf_str(out, ")");
	}
	buf_printf(out, ": %s build id %s", l->present ? "already there," : "pushed,",
		   build_id_hex(&l->id, hex));
	if (l->failed)
		buf_str(out, ": no table could be made of it");
	if (l->report) {
		buf_printf(out, ": %" PRIu64 " functions, %" PRIu64 " inlined calls, %s, table ",
			   r->functions, r->inline_nodes, r->has_dwarf ? "DWARF" : "symbols only");
		text_bytes(out, r->table_bytes);
	}
	if (r->has_dwarf &&
	    push_report_misses(r, RAWSTACK__V1__BINARY_KIND__BINARY_KIND_EXECUTABLE))
		buf_str(out,
			"; a debug file alone: samples are named where hosts send the segments of "
			"their file, all others once its executable is pushed too");
	if (r->units_skipped)
		buf_printf(out, " (%" PRIu64 " of %" PRIu64 " units could not be read)",
			   r->units_skipped, r->units);
}

int push_report_print(const struct push_line *line, bool json, struct err *err)
{
	static const Rawstack__V1__BuildReport none = RAWSTACK__V1__BUILD_REPORT__INIT;
	_cleanup_(buf_done) struct buf out = BUF_INIT(MIB);
	const Rawstack__V1__BuildReport *r = line->report ? line->report : &none;

	if (json)
		print_push_json(line, r, &out);
	else
		print_push_text(line, r, &out);
	buf_str(&out, "\n");
	if (out.failed)
		return err_no_memory(err);
	stdout_put(&out);
	fflush(stdout); /* shows the line now; main() checks that it was written */
	return 0;
}

/* Returns whether the table lacks code that .dwo files describe. They are not sent, so only a table
 * that the client builds can include them. */
static bool lacks_split_units(const struct push_line *line)
{
	return !line->report->client_built &&
	       push_report_misses(line->report, RAWSTACK__V1__BINARY_KIND__BINARY_KIND_DWP);
}

static int split_units_outcome(const struct push_line *line, struct err *err)
{
	const Rawstack__V1__BuildReport *r = line->report;

	return err_set(err, ERR_DATA,
		       "%s: %" PRIu64 " of %" PRIu64 " units were not understood: their code is "
		       "described in .dwo files, none of which is sent, so that it is not there: "
		       "build the table where they lie, with rawstack push --table --replace, or "
		       "make a package of them beside the file, %s.dwp, and push it again",
		       line->shown, r->units_skipped, r->units, line->shown);
}

int push_report_outcome(const struct push_line *line, struct err *err)
{
	const Rawstack__V1__BuildReport *r = line->report;

	if (line->failed)
		return err_set(err, ERR_DATA,
			       "%s: no table could be made of it when it was sent before: %s; its "
			       "debug file would help, the same file only with --replace",
			       line->shown, line->failed);
	if (!r)
		return 0;
	if (r->units_skipped && lacks_split_units(line))
		return split_units_outcome(line, err);
	if (r->units_skipped)
		return err_set(err, ERR_DATA,
			       "%s: %" PRIu64 " of %" PRIu64 " units were not understood%s%.*s",
			       line->shown, r->units_skipped, r->units, r->n_skipped ? ": " : "",
			       r->n_skipped ? (int)r->skipped[0].len : 0,
			       r->n_skipped ? (const char *)r->skipped[0].data : "");
	for (size_t i = 0; i < r->n_missing; i++) {
		const Rawstack__V1__Companion *m = r->missing[i];

		/* A missing program is no failure: its debug file alone answers link-time
		 * addresses. */
		if (m->kind == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_ALT ||
		    m->kind == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_DWP)
			return err_set(err, ERR_DATA,
				       "%s: names lie in '%.*s', which the service does not have: "
				       "push it, and this file again",
				       line->shown, (int)m->name.len, (const char *)m->name.data);
	}
	return 0;
}
