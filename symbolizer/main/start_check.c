/* SPDX-License-Identifier: Apache-2.0 */
#include "start_check.h"

#include <errno.h>
#include <unistd.h>

#include "access.h"
#include "config_check.h"
#include "http_port.h"
#include "libexec.h"
#include "limits.h"
#include "tls_files.h"

static int check_worker(const char *path, struct err *err)
{
	char found[LIMIT_PATH_LEN];

	if (!path)
		return libexec_find("rawstack-table-worker", found, err);
	return access(path, X_OK) ? err_sys(err, errno, "%s", path) : 0;
}

int start_check_files(const char *worker_path, const struct rpc_server_config *c, struct err *err)
{
	_cleanup_(access_closep) struct access *access = NULL;
	struct tls_texts texts = {0};
	int rc;

	TRY(check_worker(worker_path, err));
	rc = tls_texts_read(&texts, &c->tls, err);
	tls_texts_done(&texts);
	return rc ? rc : access_open(&access, &c->access, err);
}

int start_check_values(const struct start_values *v, const struct config *c,
		       const struct option_usage *usage, struct err *err)
{
	const struct rpc_server_config *s = v->server;
	const struct config_named data = {"data", v->data_dir};
	const struct config_named files[] = {
		{"tls-cert", s->tls.cert},    {"tls-key", s->tls.key},
		{"tls-client-ca", s->tls.ca}, {"roles", s->access.roles},
		{"tokens", s->access.tokens}, {"table-worker", v->worker_path},
	};
	const struct config_named places[] = {
		{"port-file", v->port_files[0]},
		{"http-port-file", v->port_files[1]},
		{"metrics-port-file", v->port_files[2]},
	};

	TRY(config_check_dir(c, usage, &data, err));
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		TRY(config_check_file(c, usage, &files[i], err));
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		TRY(config_check_place(c, usage, &places[i], err));
	if (v->worker_path && check_worker(v->worker_path, err))
		return config_blame(c, usage, "table-worker", err);
	if (v->http && http_port_check(v->http, v->http_open, err))
		return config_blame(c, usage, "http", err);
	if (v->metrics && http_port_check(v->metrics, v->http_open, err))
		return config_blame(c, usage, "metrics", err);
	return 0;
}
