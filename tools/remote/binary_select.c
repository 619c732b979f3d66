/* SPDX-License-Identifier: Apache-2.0 */
#include "binary_select.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "limits.h"
#include "text.h"

/* Candidates that a message lists. */
#define SHOWN 6

struct labels {
	Rawstack__V1__Label list[LIMIT_LABELS];
	Rawstack__V1__Label *pointers[LIMIT_LABELS];
};

static ProtobufCBinaryData bytes_of_text(const char *text)
{
	return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

static int parse_labels(const struct binary_select *n, struct labels *ret, struct err *err)
{
	if (n->label_count > LIMIT_LABELS)
		return err_set(err, ERR_USAGE, "more than %d --label", (int)LIMIT_LABELS);
	for (size_t i = 0; i < n->label_count; i++) {
		const char *text = n->labels[i], *equal = strchr(text, '=');

		if (!equal || equal == text)
			return err_set(err, ERR_USAGE, "--label %s: not KEY=VALUE", text);
		rawstack__v1__label__init(&ret->list[i]);
		ret->list[i].key.data = (uint8_t *)(uintptr_t)text;
		ret->list[i].key.len = (size_t)(equal - text);
		ret->list[i].value.data = (uint8_t *)(uintptr_t)(equal + 1);
		ret->list[i].value.len = strlen(equal + 1);
		ret->pointers[i] = &ret->list[i];
	}
	return 0;
}

static void describe_binary(struct buf *out, const Rawstack__V1__Binary *b)
{
	remote_append_hex(out, &b->build_id);
	buf_str(out, " (");
	if (b->version.len) {
		buf_str(out, "version ");
		text_append(out, b->version.data, b->version.len);
	}
	for (size_t i = 0; i < b->n_labels && i < SHOWN; i++) {
		buf_str(out, i || b->version.len ? " " : "");
		text_append(out, b->labels[i]->key.data, b->labels[i]->key.len);
		buf_str(out, "=");
		text_append(out, b->labels[i]->value.data, b->labels[i]->value.len);
	}
	buf_str(out, ")");
}

/* Describes a candidate so that it can be told apart: by its record, or by its id when the record
 * is gone. */
static void describe_id(struct rpc_client *c, ProtobufCBinaryData id, struct buf *out)
{
	_cleanup_(remote_free_reply) ProtobufCMessage *message = NULL;
	Rawstack__V1__GetRequest q = RAWSTACK__V1__GET_REQUEST__INIT;

	q.build_id = id;
	if (rpc_client_call(c, "/rawstack.v1.Binaries/Get", &q.base,
			    &rawstack__v1__binary__descriptor, REMOTE_TIMEOUT_MS, &message, NULL))
		remote_append_hex(out, &id);
	else
		describe_binary(out, (const Rawstack__V1__Binary *)message);
}

static int list_several(struct rpc_client *c, const struct binary_select *n,
			const Rawstack__V1__ResolveReply *reply, struct err *err)
{
	_cleanup_(buf_done) struct buf list = BUF_INIT(MIB);

	for (size_t i = 0; i < reply->n_candidates && i < SHOWN; i++) {
		buf_str(&list, i ? ", " : "");
		describe_id(c, reply->candidates[i], &list);
	}
	if (reply->n_candidates > SHOWN)
		buf_str(&list, ", ...");
	return err_set(err, ERR_NOT_FOUND,
		       "%s: several binaries have this name: give --label, or --build-id of: %s",
		       n->name, buf_cstr(&list));
}

static bool has_base(ProtobufCBinaryData path, const char *name)
{
	size_t len = strlen(name);

	return path.len >= len && memcmp(path.data + path.len - len, name, len) == 0 &&
	       (path.len == len || path.data[path.len - len - 1] == '/');
}

static void describe_asked(const struct binary_select *n, const Rawstack__V1__MissingBinary *b,
			   ProtobufCBinaryData path, struct buf *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	buf_printf(out, "; %" PRIu64 " samples asked for build id ", b->weight);
	remote_append_hex(out, &b->build_id);
	buf_str(out, ", last ");
	text_age(out, b->last_unix_ns, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	buf_str(out, ", from a host that has it as ");
	text_append(out, path.data, path.len);
	buf_str(out, ": rawstack push --name ");
	text_shell_word(out, n->name, strlen(n->name));
	for (size_t i = 0; i < n->label_count; i++) {
		buf_str(out, " --label ");
		text_shell_word(out, n->labels[i], strlen(n->labels[i]));
	}
	buf_str(out, " ");
	text_shell_word(out, path.data, path.len);
}

/* Fails, with a message about the last request for a binary of that name. */
static int fail_unknown(struct rpc_client *c, const struct binary_select *n, struct err *err)
{
	_cleanup_(remote_free_reply) ProtobufCMessage *message = NULL;
	_cleanup_(buf_done) struct buf why = BUF_INIT(MIB);
	Rawstack__V1__MissingRequest q = RAWSTACK__V1__MISSING_REQUEST__INIT;
	const Rawstack__V1__MissingReply *reply;
	const Rawstack__V1__MissingBinary *last = NULL;
	ProtobufCBinaryData path = {0};

	q.page_size = LIMIT_PAGE;
	if (rpc_client_call(c, "/rawstack.v1.Binaries/Missing", &q.base,
			    &rawstack__v1__missing_reply__descriptor, REMOTE_TIMEOUT_MS, &message,
			    err))
		return err->code;
	reply = (const Rawstack__V1__MissingReply *)message;
	for (size_t i = 0; i < reply->n_binaries; i++) {
		const Rawstack__V1__MissingBinary *b = reply->binaries[i];

		for (size_t k = 0; k < b->n_paths; k++)
			if (has_base(b->paths[k], n->name) &&
			    (!last || b->last_unix_ns > last->last_unix_ns)) {
				last = b;
				path = b->paths[k];
			}
	}
	if (last)
		describe_asked(n, last, path, &why);
	else
		buf_str(&why, ", and nobody asked for one: rawstack push --name NAME FILE");
	return err_set(err, ERR_NOT_FOUND, "%s: the service has no such binary%s%s", n->name,
		       n->label_count ? " with these labels" : "", buf_cstr(&why));
}

/* Looks for a failed build when no candidate has a table. Returns 1 with a message in err, 0 if
 * there is none, or a negative error. */
static int find_failed_build(struct rpc_client *c, const struct binary_select *n,
			     struct labels *labels, struct err *err)
{
	_cleanup_(remote_free_reply) ProtobufCMessage *message = NULL;
	_cleanup_(buf_done) struct buf why = BUF_INIT(MIB);
	Rawstack__V1__ListRequest q = RAWSTACK__V1__LIST_REQUEST__INIT;
	const Rawstack__V1__ListReply *reply;
	const Rawstack__V1__Binary *last = NULL;

	q.name = bytes_of_text(n->name);
	q.labels = labels->pointers;
	q.n_labels = n->label_count;
	q.page_size = LIMIT_PAGE;
	TRY(rpc_client_call(c, "/rawstack.v1.Binaries/List", &q.base,
			    &rawstack__v1__list_reply__descriptor, REMOTE_TIMEOUT_MS, &message,
			    err));
	reply = (const Rawstack__V1__ListReply *)message;
	for (size_t i = 0; i < reply->n_binaries; i++)
		if (reply->binaries[i]->status ==
			    RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_FAILED &&
		    (!last || reply->binaries[i]->uploaded_unix_ns > last->uploaded_unix_ns))
			last = reply->binaries[i];
	if (!last)
		return 0;
	describe_binary(&why, last);
	buf_str(&why, ": ");
	text_append(&why, last->reason.data, last->reason.len);
	err_set(err, ERR_NOT_FOUND, "%s: no table could be made of %s", n->name, buf_cstr(&why));
	return 1;
}

/* The service chooses, because it knows which binaries have a table and which of them is newer. */
int binary_select_find(struct rpc_client *c, const struct binary_select *n, struct build_id *ret,
		       struct err *err)
{
	_cleanup_(remote_free_reply) ProtobufCMessage *message = NULL;
	Rawstack__V1__ResolveRequest q;
	const Rawstack__V1__ResolveReply *reply;
	struct labels labels;
	int rc;

	TRY(parse_labels(n, &labels, err));
	rawstack__v1__resolve_request__init(&q);
	q.name = bytes_of_text(n->name);
	q.labels = labels.pointers;
	q.n_labels = n->label_count;
	rc = rpc_client_call(c, "/rawstack.v1.Symbolizer/Resolve", &q.base,
			     &rawstack__v1__resolve_reply__descriptor, REMOTE_TIMEOUT_MS, &message,
			     err);
	if (rc == ERR_NOT_FOUND) {
		rc = find_failed_build(c, n, &labels, err);
		return rc == 1 ? ERR_NOT_FOUND : rc ? rc : fail_unknown(c, n, err);
	}
	if (rc)
		return rc;
	reply = (const Rawstack__V1__ResolveReply *)message;
	if (reply->n_candidates)
		return list_several(c, n, reply, err);
	return build_id_set(ret, BUILD_ID_GNU, reply->build_id.data, reply->build_id.len, err);
}
