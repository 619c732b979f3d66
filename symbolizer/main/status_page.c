/* SPDX-License-Identifier: Apache-2.0 */
#include "status_page.h"

#include <inttypes.h>

#include "arena.h"
#include "io.h"
#include "limits.h"
#include "utf8.h"

enum {
	ROWS = 20, /* of each table */
	NAME_LEN_SHOWN = 120
};

#define NS_PER_S UINT64_C(1000000000)

static const char head[] =
	"<!DOCTYPE html>\n"
	"<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Rawstack</title>\n"
	"<meta http-equiv=\"refresh\" content=\"30\"><style>\n"
	"body{font:15px/1.5 sans-serif;margin:2em;max-width:70em}\n"
	"table{border-collapse:collapse}th,td{text-align:left;padding:.1em 1em .1em 0}\n"
	"td.n{text-align:right}code{overflow-wrap:anywhere}\n"
	"</style></head><body><h1>Rawstack " RAWSTACK_VERSION "</h1>\n";

/* Appends a name as text of HTML, cut, without characters that may not be shown. */
static void put_html_name(struct buf *out, const void *p, size_t len)
{
	const uint8_t *at = p;
	bool is_cut = len > NAME_LEN_SHOWN;
	size_t left = is_cut ? NAME_LEN_SHOWN : len;

	while (left) {
		size_t n = utf8_shown(at, left);

		switch (n == 1 ? *at : 0) {
		case '&':
			buf_str(out, "&amp;");
			break;
		case '<':
			buf_str(out, "&lt;");
			break;
		case '>':
			buf_str(out, "&gt;");
			break;
		case '"':
			buf_str(out, "&quot;");
			break;
		case '\'':
			buf_str(out, "&#39;");
			break;
		default:
			buf_append(out, n ? (const void *)at : "?", n ? n : 1);
		}
		at += n ? n : 1;
		left -= n ? n : 1;
	}
	if (is_cut)
		buf_str(out, "...");
}

static void put_html_hex(struct buf *out, const uint8_t *p, size_t len)
{
	buf_str(out, "<td><code>");
	for (size_t i = 0; i < len; i++)
		buf_printf(out, "%02x", p[i]);
	buf_str(out, "</code></td>");
}

static void put_html_bytes(struct buf *out, uint64_t n)
{
	static const char units[] = "KMGT";
	size_t unit = 0;
	double shown = (double)n;

	if (n < 1024) {
		buf_printf(out, "<td class=n>%" PRIu64 "</td>", n);
		return;
	}
	for (shown /= 1024; shown >= 1024 && unit + 2 < sizeof(units); unit++)
		shown /= 1024;
	buf_printf(out, "<td class=n>%.1f %ciB</td>", shown, units[unit]);
}

static void put_html_age(struct buf *out, uint64_t from_ns, uint64_t now_ns)
{
	const uint64_t s = now_ns > from_ns ? (now_ns - from_ns) / NS_PER_S : 0;

	if (s < 120)
		buf_printf(out, "<td class=n>%" PRIu64 " s</td>", s);
	else if (s < 7200)
		buf_printf(out, "<td class=n>%" PRIu64 " min</td>", s / 60);
	else if (s < 172800)
		buf_printf(out, "<td class=n>%" PRIu64 " h</td>", s / 3600);
	else
		buf_printf(out, "<td class=n>%" PRIu64 " d</td>", s / 86400);
}

static void put_state(struct service *s, struct buf *out)
{
	struct err err;

	if (!service_ready(s, &err)) {
		buf_str(out, "<p>Ready.</p>\n");
		return;
	}
	buf_str(out, "<p><strong>Not ready: ");
	put_html_name(out, err.message, strlen(err.message));
	buf_str(out, "</strong></p>\n");
}

static void put_tables(const Rawstack__V1__LimitsReply *l, uint64_t now_ns, struct buf *out)
{
	buf_printf(out,
		   "<h2>Tables</h2><table>\n<tr><th>tables<td class=n>%" PRIu64
		   "\n<tr><th>bytes of them",
		   l->tables);
	put_html_bytes(out, l->store_used_bytes);
	buf_str(out, "\n<tr><th>budget");
	put_html_bytes(out, l->store_bytes);
	buf_printf(out, "\n<tr><th>missing ids<td class=n>%" PRIu64 "\n<tr><th>running for",
		   l->missing);
	put_html_age(out, l->started_unix_ns, now_ns);
	buf_str(out, "\n</table>\n");
}

static void put_uploads(struct service *s, const Rawstack__V1__LimitsReply *l, struct buf *out)
{
	static const char *const states[] = {"receiving", "waits for its build", "builds"};
	struct upload_shown rows[ROWS];
	size_t count = service_uploads(s, rows, ARRAY_LEN(rows));

	buf_printf(out,
		   "<h2>Uploads and builds</h2><p>%" PRIu64 ", %" PRIu64 " of them complete</p>\n",
		   l->uploads, l->uploads_building);
	if (!count)
		return;
	buf_str(out, "<table><tr><th>build id<th>name<th>state<th>received<th>of<th>for\n");
	for (size_t i = 0; i < count; i++) {
		buf_str(out, "<tr>");
		put_html_hex(out, rows[i].id.bytes, rows[i].id.len);
		buf_str(out, "<td>");
		put_html_name(out, rows[i].name, rows[i].name_len);
		buf_printf(out, "</td><td>%s</td>", states[rows[i].state]);
		put_html_bytes(out, rows[i].received);
		put_html_bytes(out, rows[i].size);
		put_html_age(out, 0, rows[i].age_ns);
		buf_str(out, "\n");
	}
	buf_str(out, "</table>\n");
}

static void put_missing_ids(struct service *s, uint64_t now_ns, struct buf *out)
{
	_cleanup_(arena_done) struct arena arena = ARENA_INIT(LIMIT_REPLY_MEMORY);
	Rawstack__V1__MissingRequest request = RAWSTACK__V1__MISSING_REQUEST__INIT;
	Rawstack__V1__MissingReply reply = RAWSTACK__V1__MISSING_REPLY__INIT;
	struct err err;

	buf_str(out, "<h2>Missing, by weight</h2>\n");
	request.page_size = ROWS;
	if (service_missing(s, &request, NULL, &arena, &reply, &err)) {
		buf_str(out, "<p>");
		put_html_name(out, err.message, strlen(err.message));
		buf_str(out, "</p>\n");
		return;
	}
	if (!reply.n_binaries) {
		buf_str(out, "<p>Nothing.</p>\n");
		return;
	}
	buf_str(out, "<table><tr><th>build id<th>samples<th>last asked<th>path\n");
	for (size_t i = 0; i < reply.n_binaries; i++) {
		const Rawstack__V1__MissingBinary *b = reply.binaries[i];

		buf_str(out, "<tr>");
		put_html_hex(out, b->build_id.data, b->build_id.len);
		buf_printf(out, "<td class=n>%" PRIu64 "</td>", b->weight);
		put_html_age(out, b->last_unix_ns, now_ns);
		buf_str(out, "<td>");
		if (b->n_paths)
			put_html_name(out, b->paths[0].data, b->paths[0].len);
		buf_str(out, "</td>\n");
	}
	buf_str(out, "</table>\n");
}

static void put_clients(struct rpc_server *server, uint64_t now_ns, struct buf *out)
{
	struct rpc_seen_row rows[ROWS];
	size_t count = rpc_server_seen(server, rows, ARRAY_LEN(rows));

	buf_str(out, "<h2>Hosts and other clients, the latest first</h2>\n"
		     "<table><tr><th>identity<th>address<th>calls<th>last\n");
	for (size_t i = 0; i < count; i++) {
		buf_str(out, "<tr><td>");
		put_html_name(out, rows[i].who, strlen(rows[i].who));
		buf_str(out, "</td><td>");
		put_html_name(out, rows[i].host, strlen(rows[i].host));
		buf_printf(out, "</td><td class=n>%" PRIu64 "</td>", rows[i].calls);
		put_html_age(out, rows[i].last_unix_ns, now_ns);
		buf_str(out, "\n");
	}
	buf_str(out, "</table>\n");
}

void status_page_write(struct service *s, struct rpc_server *server, struct buf *out)
{
	const uint64_t now_ns = io_system()->real_ns(NULL);
	Rawstack__V1__LimitsReply limits = RAWSTACK__V1__LIMITS_REPLY__INIT;

	service_limits(s, &limits);
	buf_str(out, head);
	put_state(s, out);
	put_tables(&limits, now_ns, out);
	put_uploads(s, &limits, out);
	put_missing_ids(s, now_ns, out);
	put_clients(server, now_ns, out);
	buf_str(out, "<p><a href=\"/metrics\">metrics</a></p></body></html>\n");
}
