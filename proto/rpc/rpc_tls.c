/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_tls.h"

#include <stdio.h>

#include "alternative_names.h"
#include "io.h"
#include "log.h"
#include "tls_expiry.h"

/* The version of the certificates that gRPC has for a port. */
struct tls_port {
	struct rpc_tls *tls;
	uint64_t version;
};

struct rpc_tls {
	struct tls_watch *watch;
	struct tls_expiry expiry;
	const char *cert_path; /* borrowed */
	bool asks;             /* whether clients have to show certificates */
	size_t port_count;
	struct tls_port ports[RPC_LISTEN_MAX];
};

void rpc_tls_tend(struct rpc_tls *t)
{
	char text[512];

	if (tls_expiry_is_due(&t->expiry,
			      (int64_t)(io_system()->real_ns(NULL) / UINT64_C(1000000000)),
			      io_mono_ns(), text, sizeof(text)))
		log_warn("TLS: %s", text);
}

int64_t rpc_tls_end(struct rpc_tls *t)
{
	return tls_expiry_end(&t->expiry);
}

static void tell_certificate(struct rpc_tls *t, const char *what)
{
	struct tls_texts texts = {0};
	char text[256];
	uint64_t version;

	if (tls_watch_texts(t->watch, &texts, &version, NULL))
		return;
	tls_texts_describe(&texts, text, sizeof(text));
	tls_expiry_take(&t->expiry, &texts, t->cert_path);
	tls_texts_done(&texts);
	log_info("TLS: %s %s", what, text);
	rpc_tls_tend(t);
}

static void look_at_files(struct rpc_tls *t, bool force)
{
	struct err err;
	int rc = tls_watch_look(t->watch, force, &err);

	if (rc < 0)
		log_warn("TLS: %s; the certificates from before stay", err.message);
	else if (rc > 0)
		tell_certificate(t, "now with");
}

static grpc_ssl_certificate_config_reload_status
fetch_certificates(void *arg, grpc_ssl_server_certificate_config **ret)
{
	struct tls_port *port = arg;
	struct tls_texts texts = {0};
	grpc_ssl_pem_key_cert_pair pair;

	look_at_files(port->tls, false);
	rpc_tls_tend(port->tls);
	if (port->version == tls_watch_version(port->tls->watch))
		return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
	if (tls_watch_texts(port->tls->watch, &texts, &port->version, NULL))
		return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_FAIL;
	pair = (grpc_ssl_pem_key_cert_pair){texts.key, texts.cert};
	/* Core aborts without roots; where no client has to show a certificate they are not used.
	 */
	*ret = grpc_ssl_server_certificate_config_create(texts.ca ? texts.ca : texts.cert, &pair,
							 1);
	tls_texts_done(&texts);
	return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

int rpc_tls_open(struct rpc_tls **ret, const struct tls_files *files, struct err *err)
{
	_cleanup_(rpc_tls_closep) struct rpc_tls *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return err_no_memory(err);
	tls_expiry_init(&t->expiry);
	rc = alternative_names_bound(err);
	if (rc)
		return rc;
	t->asks = files->ca != NULL;
	t->cert_path = files->cert;
	rc = tls_watch_open(&t->watch, files, err);
	if (rc)
		return rc;
	tell_certificate(t, "with");
	*ret = TAKE_PTR(t);
	return 0;
}

void rpc_tls_close(struct rpc_tls *t)
{
	if (!t)
		return;
	tls_watch_close(t->watch);
	tls_expiry_done(&t->expiry);
	free(t);
}

grpc_server_credentials *rpc_tls_credentials(struct rpc_tls *t)
{
	struct tls_port *port = &t->ports[t->port_count];

	if (t->port_count == RPC_LISTEN_MAX)
		return NULL;
	t->port_count++;
	port->tls = t;
	return grpc_ssl_server_credentials_create_with_options(
		grpc_ssl_server_credentials_create_options_using_config_fetcher(
			t->asks ? GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY
				: GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
			fetch_certificates, port));
}

void rpc_tls_reload(struct rpc_tls *t)
{
	look_at_files(t, true);
}
