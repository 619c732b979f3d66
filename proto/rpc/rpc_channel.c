/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_channel.h"

#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/string_util.h>
#include <stdio.h>
#include <string.h>

#include "alternative_names.h"
#include "limits.h"
#include "log.h"
#include "number.h"
#include "rpc_codec.h"
#include "rpc_failure.h"
#include "rpc_listen.h"
#include "rpc_servers.h"
#include "server_list.h"
#include "trust.h"

/* Memory of one channel for messages that have not arrived whole: gRPC checks the limit of a
 * message only when it is whole. */
#define LIMIT_CHANNEL_MEMORY (128 * MIB)

/* The time between two keepalive pings. */
#define PING_MS 20000
_Static_assert(PING_MS >= RPC_PING_LEAST_MS, "the service ends connections that ping more often");

/* Name servers that do not answer become an error before the deadlines of callers (10 s and more)
 * pass, so that callers are told of them. The second name server is asked after 5 s. */
#define RESOLVE_MS 8000

struct rpc_channel {
	grpc_channel *channel;
	char target[256], uri[264];
	struct rpc_identity *identity; /* NULL: none */
	bool has_tls;
	uint64_t version; /* of the certificates on this channel */
};

/* Makes a dns: target of "HOST:PORT" or "[v6]:PORT", so that no scheme can be smuggled in. */
static int target_uri(const char *target, char *uri, size_t len, struct err *err)
{
	TRY(server_name_check(target, err));
	if (!strncmp(target, "unix:", 5)) {
		if (snprintf(uri, len, "%s", target) >= (int)len)
			return err_set(err, ERR_USAGE, "server address too long");
		return 0;
	}
	if (snprintf(uri, len, "dns:///%s", target) >= (int)len)
		return err_set(err, ERR_USAGE, "server address too long");
	return 0;
}

/* --- verification of the server -------------------------------------------------------------- */

/* gRPC keeps it for as long as the channel makes connections. */
struct server_check {
	grpc_tls_certificate_verifier_external external;
	struct trust *trust;
	char *ca_name;
	char host[256];
};

static void free_check(struct server_check *check)
{
	trust_close(check->trust);
	free(check->ca_name);
	free(check);
}

static void destroy_check(void *arg)
{
	free_check(arg);
}

static void cancel_check(void *arg _unused_,
			 grpc_tls_custom_verification_check_request *request _unused_)
{
	/* A check is over when check_server() returns, so there is nothing to cancel. */
}

static int check_server(void *arg, grpc_tls_custom_verification_check_request *request,
			grpc_tls_on_custom_verification_check_done_cb done _unused_,
			void *done_arg _unused_, grpc_status_code *ret_status, char **ret_details)
{
	const struct server_check *check = arg;
	const struct trust_shown shown = {
		.leaf = request->peer_info.peer_cert ? request->peer_info.peer_cert : "",
		.chain = request->peer_info.peer_cert_full_chain,
	};
	char text[ERR_MESSAGE_MAX + sizeof(RPC_FAILURE_REFUSED)];
	struct err err;

	*ret_status = GRPC_STATUS_OK;
	if (trust_check(check->trust, &shown, TRUST_SERVER, check->host, NULL, &err)) {
		*ret_status = GRPC_STATUS_UNAUTHENTICATED;
		snprintf(text, sizeof(text), "%s%s", RPC_FAILURE_REFUSED, err.message);
		*ret_details = gpr_strdup(text);
	}
	return 1;
}

/* Copies the host of HOST:PORT or [ADDRESS]:PORT. */
static void copy_host(const char *target, char *to, size_t len)
{
	size_t n = (size_t)(strrchr(target, ':') - target);

	if (*target == '[') {
		target++;
		n -= 2;
	}
	snprintf(to, len, "%.*s", (int)n, target);
}

static int open_check(struct server_check **ret, const struct rpc_channel *ch, const char *ca,
		      struct err *err)
{
	struct server_check *check = calloc(1, sizeof(*check));
	int rc;

	if (!check)
		return err_no_memory(err);
	check->external = (grpc_tls_certificate_verifier_external){
		.user_data = check,
		.verify = check_server,
		.cancel = cancel_check,
		.destruct = destroy_check,
	};
	copy_host(ch->target, check->host, sizeof(check->host));
	check->ca_name = strdup(rpc_identity_ca(ch->identity));
	rc = check->ca_name ? trust_open(&check->trust, ca, check->ca_name, err)
			    : err_no_memory(err);
	if (rc)
		free_check(check);
	else
		*ret = check;
	return rc;
}

/*
 * Core would verify the chain before it asks us, and would not say what is wrong, so its check is
 * off. Nothing is sent before our own check has passed.
 */
static int tls_credentials(const struct rpc_channel *ch, const struct tls_texts *texts,
			   grpc_channel_credentials **ret, struct err *err)
{
	struct server_check *check;
	grpc_tls_identity_pairs *pairs = NULL;
	grpc_tls_certificate_provider *provider;
	grpc_tls_certificate_verifier *verifier;
	grpc_tls_credentials_options *options;

	TRY(alternative_names_bound(err));
	TRY(open_check(&check, ch, texts->ca, err));
	if (texts->cert) {
		pairs = grpc_tls_identity_pairs_create();
		grpc_tls_identity_pairs_add_pair(pairs, texts->key, texts->cert);
	}
	provider = grpc_tls_certificate_provider_static_data_create(texts->ca, pairs);
	verifier = grpc_tls_certificate_verifier_external_create(&check->external);
	options = grpc_tls_credentials_options_create();
	grpc_tls_credentials_options_set_certificate_provider(options, provider);
	grpc_tls_credentials_options_watch_root_certs(options);
	if (pairs)
		grpc_tls_credentials_options_watch_identity_key_cert_pairs(options);
	grpc_tls_credentials_options_set_verify_server_cert(options, 0);
	grpc_tls_credentials_options_set_certificate_verifier(options, verifier);
	/* A channel has one host, and check_server() checks its name. */
	grpc_tls_credentials_options_set_check_call_host(options, 0);
	*ret = grpc_tls_credentials_create(options);
	grpc_tls_certificate_verifier_release(verifier);
	grpc_tls_certificate_provider_release(provider);
	return 0;
}

/* --- the channel ----------------------------------------------------------------------------- */

static grpc_channel *create_channel(const char *uri, grpc_channel_credentials *credentials)
{
	grpc_resource_quota *quota = grpc_resource_quota_create("channel");
	grpc_channel *channel;
	grpc_arg args[] = {
		rpc_int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, (int)LIMIT_MESSAGE_LEN),
		rpc_int_arg(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1), /* identity */
		rpc_int_arg(GRPC_ARG_ENABLE_RETRIES, 0), /* callers retry */
		rpc_int_arg(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
		rpc_int_arg(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
		rpc_int_arg(GRPC_ARG_DNS_ARES_QUERY_TIMEOUT_MS, RESOLVE_MS),
		/* A service that vanished is noticed before the deadlines of callers. */
		rpc_int_arg(GRPC_ARG_KEEPALIVE_TIME_MS, PING_MS),
		rpc_int_arg(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000),
		/* An attempt to connect, with its handshakes, takes no longer. */
		rpc_int_arg(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, RPC_CONNECT_MS),
		/* A service that comes back is found within seconds, not gRPC's two minutes. */
		rpc_int_arg(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200),
		rpc_int_arg(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000),
		rpc_pointer_arg(GRPC_ARG_RESOURCE_QUOTA, grpc_resource_quota_arg_vtable(), quota),
	};
	grpc_channel_args channel_args = {ARRAY_LEN(args), args};

	grpc_resource_quota_resize(quota, LIMIT_CHANNEL_MEMORY);
	channel = grpc_channel_create(uri, credentials, &channel_args);
	grpc_resource_quota_unref(quota);
	return channel;
}

/* Replaces the channel by a new one. */
static int renew_channel(struct rpc_channel *ch, struct err *err)
{
	grpc_channel_credentials *credentials;
	struct tls_texts texts = {0};
	int rc = 0;

	if (ch->has_tls) {
		rc = rpc_identity_texts(ch->identity, &texts, &ch->version, err);
		if (!rc)
			rc = tls_credentials(ch, &texts, &credentials, err);
		tls_texts_done(&texts);
		if (rc)
			return rc;
	} else {
		credentials = grpc_insecure_credentials_create();
	}
	if (ch->channel)
		grpc_channel_destroy(ch->channel);
	ch->channel = create_channel(ch->uri, credentials);
	grpc_channel_credentials_release(credentials);
	return 0;
}

/* Refuses a token that would be sent in plain text to another host. */
static int check_token(const char *target, const struct rpc_identity *id, struct err *err)
{
	char host[256];

	if (!rpc_identity_has_token(id) || rpc_identity_has_tls(id) || !strncmp(target, "unix:", 5))
		return 0;
	copy_host(target, host, sizeof(host));
	if (rpc_listen_is_loopback(host))
		return 0;
	return err_set(err, ERR_USAGE,
		       "a token is not sent to %s in plain text: --ca FILE turns TLS on", host);
}

int rpc_channel_check(const char *target, const struct rpc_identity *identity, struct err *err)
{
	char uri[264];

	TRY(target_uri(target, uri, sizeof(uri), err));
	return check_token(target, identity, err);
}

/* Takes the identity, without TLS on a Unix socket, which needs none. */
static int use_identity(struct rpc_channel *ch, struct rpc_identity *id, struct err *err)
{
	ch->identity = rpc_identity_ref(id);
	ch->has_tls = rpc_identity_has_tls(id) && strncmp(ch->target, "unix:", 5) != 0;
	return rpc_identity_load(id, err);
}

int rpc_channel_open(struct rpc_channel **ret, const char *target, struct rpc_identity *identity,
		     struct err *err)
{
	_cleanup_(rpc_channel_closep) struct rpc_channel *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return err_no_memory(err);
	if (snprintf(ch->target, sizeof(ch->target), "%s", target) >= (int)sizeof(ch->target))
		return err_set(err, ERR_USAGE, "server address too long");
	TRY(target_uri(target, ch->uri, sizeof(ch->uri), err));
	TRY(check_token(target, identity, err));
	if (identity)
		TRY(use_identity(ch, identity, err));
	TRY(renew_channel(ch, err));
	*ret = TAKE_PTR(ch);
	return 0;
}

void rpc_channel_close(struct rpc_channel *ch)
{
	if (!ch)
		return;
	if (ch->channel)
		grpc_channel_destroy(ch->channel);
	rpc_identity_unref(ch->identity);
	free(ch);
}

grpc_channel *rpc_channel_get(const struct rpc_channel *ch)
{
	return ch->channel;
}

bool rpc_channel_has_tls(const struct rpc_channel *ch)
{
	return ch->has_tls;
}

char *rpc_channel_authorization(const struct rpc_channel *ch)
{
	return ch->identity ? rpc_identity_authorization(ch->identity) : NULL;
}

void rpc_channel_refresh(struct rpc_channel *ch, bool force)
{
	uint64_t version = ch->identity ? rpc_identity_refresh(ch->identity) : 0;
	struct err err;

	if (!force && (!ch->has_tls || ch->version == version))
		return;
	if (renew_channel(ch, &err))
		log_warn("%s: %s", ch->target, err.message);
}
