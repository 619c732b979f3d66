/* SPDX-License-Identifier: Apache-2.0 */
#include "flame_html.h"

#include <string.h>

#include "digest.h"
#include "flame_assets.h"
#include "json.h"

/* A frame of the tree with the file of a node's line. */
struct page_frame {
	uint32_t frame; /* PROFILE_NONE for the root and pruned nodes */
	uint32_t file;
};

static const struct page_frame no_frame = {PROFILE_NONE, 0};

/* Numbers strings and frames as the page does, in order of use. */
struct page_writer {
	const struct flame_tree *t;
	struct intern strings; /* keys are ids of the profile's strings */
	struct intern frames;  /* keys are struct page_frame */
	struct buf depths, weights, frame_ids, lines;
};

static void page_writer_done(struct page_writer *w)
{
	intern_done(&w->strings);
	intern_done(&w->frames);
	buf_done(&w->depths);
	buf_done(&w->weights);
	buf_done(&w->frame_ids);
	buf_done(&w->lines);
}

static void put_base64(struct buf *out, const uint8_t *p, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16;

		v |= i + 1 < len ? (uint32_t)p[i + 1] << 8 : 0;
		v |= i + 2 < len ? p[i + 2] : 0;
		buf_u8(out, (uint8_t)digits[v >> 18]);
		buf_u8(out, (uint8_t)digits[v >> 12 & 63]);
		buf_u8(out, i + 1 < len ? (uint8_t)digits[v >> 6 & 63] : '=');
		buf_u8(out, i + 2 < len ? (uint8_t)digits[v & 63] : '=');
	}
}

static void put_hash(struct buf *out, const uint8_t *text, size_t len)
{
	uint8_t sum[DIGEST_LEN];

	digest_sha256(text, len, sum);
	buf_str(out, "'sha256-");
	put_base64(out, sum, sizeof(sum));
	buf_str(out, "'");
}

static void put_html(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (strchr("<>&\"'", *s))
			buf_printf(out, "&#%d;", *s);
		else
			buf_u8(out, (uint8_t)*s);
	}
}

/* --- columns --------------------------------------------------------------------------------- */

/* The depth rises by at most 1 from one node to the next, so depths alone describe the tree. */
static void put_node(struct page_writer *w, size_t depth, struct page_frame frame, int64_t weight,
		     uint32_t line)
{
	/* Frame 0 of the page stands for the root and pruned nodes. */
	uint32_t id = frame.frame == PROFILE_NONE
			      ? 0
			      : intern_add(&w->frames, &frame, sizeof(frame), NULL) + 1;

	json_number(&w->depths, (int64_t)depth);
	json_number(&w->weights, weight);
	json_number(&w->frame_ids, id);
	json_number(&w->lines, line);
}

/* Puts one node for all children of a caller that weigh too little to be shown. */
static void put_light_nodes(struct page_writer *w, size_t depth, uint32_t first)
{
	const struct flame_tree *t = w->t;
	int64_t rest = 0;

	for (uint32_t c = first; c != PROFILE_NONE; c = t->nodes[c].next_sibling)
		add_capped(&rest, t->nodes[c].weight);
	if (rest)
		put_node(w, depth, no_frame, rest, 0);
}

/* Puts the nodes in preorder. Siblings are sorted by falling weight, so those behind the first one
 * that is too light are too light as well. */
static void put_page_nodes(struct page_writer *w)
{
	const struct flame_node *nodes = w->t->nodes;
	uint32_t at = 0, next = nodes[0].first_child;
	size_t depth = 0;

	put_node(w, 0, no_frame, nodes[0].weight, 0);
	for (;;) {
		if (next != PROFILE_NONE && nodes[next].weight >= w->t->cutoff) {
			at = next;
			put_node(w, ++depth, (struct page_frame){nodes[at].frame, nodes[at].file},
				 nodes[at].weight, nodes[at].line);
			next = nodes[at].first_child;
			continue;
		}
		put_light_nodes(w, depth + 1, next);
		if (at == 0)
			return;
		next = nodes[at].next_sibling;
		at = nodes[at].parent;
		depth--;
	}
}

static int64_t string_number(struct page_writer *w, uint32_t string)
{
	return intern_add(&w->strings, &string, sizeof(string), NULL);
}

static void put_column(struct buf *out, const char *key, const struct buf *column)
{
	json_key(out, key);
	buf_str(out, "[");
	buf_append(out, column->p, column->len);
	buf_str(out, "]");
	out->failed |= column->failed;
	out->no_memory |= column->no_memory;
}

static void put_page_frames(struct page_writer *w, struct buf *out)
{
	_cleanup_(buf_done) struct buf names = BUF_INIT(GIB), files = BUF_INIT(GIB),
				       modules = BUF_INIT(GIB), kinds = BUF_INIT(GIB);
	const struct profile *p = w->t->p;

	json_number(&names, 0);
	json_number(&files, 0);
	json_number(&modules, 0);
	json_number(&kinds, FLAME_REST);
	for (uint32_t i = 0; i < w->frames.count; i++) {
		struct page_frame at;
		struct flame_frame f;

		memcpy(&at, intern_get(&w->frames, i, NULL), sizeof(at));
		f = flame_tree_frame(w->t, at.frame);
		json_number(&names, string_number(w, f.name));
		json_number(&files, string_number(w, at.file));
		json_number(
			&modules,
			string_number(w, f.module == PROFILE_NONE ? 0 : p->modules[f.module].path));
		json_number(&kinds, f.kind);
	}
	json_key(out, "frames");
	json_open(out, '{');
	put_column(out, "name", &names);
	put_column(out, "file", &files);
	put_column(out, "module", &modules);
	put_column(out, "kind", &kinds);
	json_close(out, '}');
}

static void put_strings(const struct page_writer *w, struct buf *out)
{
	json_key(out, "strings");
	json_open(out, '[');
	for (uint32_t i = 0; i < w->strings.count; i++) {
		struct profile_text text;
		uint32_t string;

		memcpy(&string, intern_get(&w->strings, i, NULL), sizeof(string));
		text = profile_text(w->t->p, string);
		json_text(out, text.p, text.len);
	}
	json_close(out, ']');
}

static int put_data(const struct flame_tree *t, const struct flame_page *page, struct buf *out,
		    struct err *err)
{
	static const struct intern table = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES);
	_cleanup_(page_writer_done) struct page_writer w = {
		.t = t, .strings = table, .frames = table};

	buf_init(&w.depths, GIB);
	buf_init(&w.weights, GIB);
	buf_init(&w.frame_ids, GIB);
	buf_init(&w.lines, GIB);
	(void)string_number(&w, 0); /* the empty string is 0 on the page, too */
	put_page_nodes(&w);
	json_open(out, '{');
	json_key_cstr(out, "title", page->title);
	json_key_cstr(out, "unit", page->unit);
	json_key_number(out, "pruned", (int64_t)t->pruned_count);
	put_page_frames(&w, out);
	put_strings(&w, out);
	json_key(out, "nodes");
	json_open(out, '{');
	put_column(out, "depth", &w.depths);
	put_column(out, "weight", &w.weights);
	put_column(out, "frame", &w.frame_ids);
	put_column(out, "line", &w.lines);
	json_close(out, '}');
	json_close(out, '}');
	if (out->failed)
		return err_full(err, out->no_memory, "flame graph: page of more than %zu bytes",
				out->max);
	return 0;
}

/* --- the page -------------------------------------------------------------------------------- */

static void put_policy(struct buf *out)
{
	buf_str(out, "default-src 'none'; style-src ");
	put_hash(out, page_css, page_css_len);
	buf_str(out, "; script-src ");
	put_hash(out, page_js, page_js_len);
}

static int put_part(const struct flame_tree *t, const struct flame_page *page, const char *name,
		    size_t len, struct buf *out, struct err *err)
{
	if (len == 4 && memcmp(name, "DATA", len) == 0)
		return put_data(t, page, out, err);
	if (len == 6 && memcmp(name, "POLICY", len) == 0)
		put_policy(out);
	else if (len == 5 && memcmp(name, "TITLE", len) == 0)
		put_html(out, page->title);
	else if (len == 5 && memcmp(name, "STYLE", len) == 0)
		buf_append(out, page_css, page_css_len);
	else if (len == 6 && memcmp(name, "SCRIPT", len) == 0)
		buf_append(out, page_js, page_js_len);
	return 0;
}

/* page.html says `{{NAME}}` where a part belongs. */
int flame_html(const struct flame_tree *t, const struct flame_page *page, struct buf *out,
	       struct err *err)
{
	const char *at = (const char *)page_html, *end = at + page_html_len;

	for (;;) {
		const char *open = memmem(at, (size_t)(end - at), "{{", 2);
		const char *close = open ? memmem(open, (size_t)(end - open), "}}", 2) : NULL;

		if (!close)
			break;
		buf_append(out, at, (size_t)(open - at));
		TRY(put_part(t, page, open + 2, (size_t)(close - open - 2), out, err));
		at = close + 2;
	}
	buf_append(out, at, (size_t)(end - at));
	if (out->failed)
		return err_full(err, out->no_memory, "flame graph: page of more than %zu bytes",
				out->max);
	return 0;
}
