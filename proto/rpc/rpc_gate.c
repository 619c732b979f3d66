/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_gate.h"

#include <grpc/grpc_security.h>
#include <grpc/grpc_security_constants.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "log.h"
#include "rpc_codec.h"
#include "rpc_peer.h"
#include "token.h"

struct rpc_gate {
	struct access *access;
	struct quotas *quotas;
	struct rpc_seen seen;
};

int rpc_gate_open(struct rpc_gate **ret, const struct access_config *config, const char *quotas,
		  struct err *err)
{
	_cleanup_(rpc_gate_closep) struct rpc_gate *g = calloc(1, sizeof(*g));

	if (!g)
		return err_no_memory(err);
	pthread_mutex_init(&g->seen.lock, NULL);
	TRY(access_open(&g->access, config, err));
	access_tell_open_files(g->access);
	TRY(quotas_open(&g->quotas, quotas, err));
	*ret = TAKE_PTR(g);
	return 0;
}

void rpc_gate_close(struct rpc_gate *g)
{
	if (!g)
		return;
	quotas_close(g->quotas);
	access_close(g->access);
	pthread_mutex_destroy(&g->seen.lock);
	free(g);
}

void rpc_gate_reload(struct rpc_gate *g)
{
	struct err err;

	if (access_reload(g->access, &err))
		log_warn("%s; what was there before stays", err.message);
}

size_t rpc_gate_seen(struct rpc_gate *g, struct rpc_seen_row *rows, size_t max)
{
	return rpc_seen_list(&g->seen, rows, max);
}

static const grpc_auth_property *find_property(const grpc_auth_context *context, const char *name)
{
	grpc_auth_property_iterator it = grpc_auth_context_find_properties_by_name(context, name);

	return grpc_auth_property_iterator_next(&it);
}

static bool has_tls(const grpc_auth_context *context)
{
	const grpc_auth_property *p =
		find_property(context, GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);

	return p && p->value_length == 3 && !memcmp(p->value, "ssl", 3);
}

/* Copies the word of "authorization: Bearer WORD"; false when there is none. */
static bool copy_token(const grpc_metadata_array *metadata, char *to, size_t len)
{
	static const char bearer[] = "Bearer ";
	char value[LIMIT_TOKEN_LEN + sizeof(bearer)];

	for (size_t i = 0; i < metadata->count; i++) {
		const grpc_metadata *m = &metadata->metadata[i];

		if (grpc_slice_str_cmp(m->key, "authorization") != 0)
			continue;
		/* A text that is too long is cut, and is no known token. */
		rpc_slice_text(m->value, value, sizeof(value));
		/* RFC 9110, section 11.1: the word of the scheme may be written in any case. */
		if (strncasecmp(value, bearer, sizeof(bearer) - 1) != 0)
			value[0] = '\0';
		snprintf(to, len, "%s", value[0] ? value + sizeof(bearer) - 1 : "");
		return true;
	}
	return false;
}

static int judge_call(struct rpc_gate *g, const grpc_auth_context *context, const char *peer,
		      const grpc_metadata_array *metadata, struct access_verdict *ret,
		      struct err *err)
{
	const grpc_auth_property *leaf = find_property(context, GRPC_X509_PEM_CERT_PROPERTY_NAME);
	const grpc_auth_property *chain =
		find_property(context, GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME);
	char token[LIMIT_TOKEN_LEN + 1];
	struct access_shown shown = {.is_plain = !has_tls(context)};
	bool has_token = copy_token(metadata, token, sizeof(token));

	shown.is_local = shown.is_plain && rpc_peer_is_local(peer);
	if (leaf && !shown.is_plain) {
		shown.leaf = leaf->value;
		shown.leaf_len = leaf->value_length;
		shown.chain = chain ? chain->value : NULL;
		shown.chain_len = chain ? chain->value_length : 0;
	}
	shown.token = has_token ? token : NULL;
	return access_judge(g->access, &shown, ret, err);
}

int rpc_gate_admit(struct rpc_gate *g, grpc_call *call, const grpc_metadata_array *metadata,
		   const struct rpc_method *method, struct rpc_pass *ret, struct err *err)
{
	struct access_verdict *caller = &ret->caller;
	grpc_auth_context *context;
	char *peer, has[40];
	int rc = 0;

	*ret = (struct rpc_pass){.caller = {.roles = ROLE_ANONYMOUS, .quota = quota_no_limits}};
	if (method->roles & ROLE_ANONYMOUS)
		return 0;
	context = grpc_call_auth_context(call);
	peer = grpc_call_get_peer(call);
	rc = judge_call(g, context, peer ? peer : "", metadata, caller, err);
	if (!rc && !(caller->roles & method->roles)) {
		role_names(caller->roles, has);
		rc = err_set(err, ERR_DENIED, "%s has no role for %s (its roles: %s)", caller->who,
			     method->path, has);
	}
	if (!rc)
		rc = quotas_begin(g->quotas, &(struct quota_owner){caller->key, caller->who},
				  &caller->quota, &ret->account, &ret->retry_ms, err);
	if (!rc)
		rpc_seen_note(&g->seen, caller->who, peer ? peer : "");
	gpr_free(peer);
	if (context)
		grpc_auth_context_release(context);
	return rc;
}

int rpc_gate_charge(struct rpc_gate *g, struct rpc_pass *pass, size_t len, struct err *err)
{
	return pass->account ? quotas_charge(g->quotas, pass->account, len, &pass->retry_ms, err)
			     : 0;
}

void rpc_gate_leave(struct rpc_gate *g, struct rpc_pass *pass)
{
	if (pass->account)
		quotas_end(g->quotas, TAKE_PTR(pass->account));
}
