/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_identity.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "file_stamp.h"
#include "io.h"
#include "log.h"
#include "token.h"

#define BEARER "Bearer "

static const uint64_t LOOK_NS = UINT64_C(1000000000); /* between two looks at the token */

struct rpc_identity {
	atomic_uint refs;
	char *ca, *cert, *key, *token_path; /* NULL: none */
	pthread_mutex_t lock;               /* protects the members below */
	struct tls_watch *watch;            /* NULL: not loaded, or no TLS */
	char *authorization;                /* likewise */
	struct file_stamp token_stamp;
	uint64_t token_looked_ns;
};

static bool copy_path(char **to, const char *path)
{
	*to = path ? strdup(path) : NULL;
	return *to || !path;
}

int rpc_identity_new(struct rpc_identity **ret, const struct rpc_client_files *files,
		     struct err *err)
{
	_cleanup_(rpc_identity_unrefp) struct rpc_identity *id = calloc(1, sizeof(*id));

	if (!id)
		return err_no_memory(err);
	atomic_init(&id->refs, 1);
	pthread_mutex_init(&id->lock, NULL);
	if (!copy_path(&id->ca, files->tls.ca) || !copy_path(&id->cert, files->tls.cert) ||
	    !copy_path(&id->key, files->tls.key) || !copy_path(&id->token_path, files->token_file))
		return err_no_memory(err);
	if ((id->cert || id->key) && !id->ca)
		return err_set(
			err, ERR_USAGE,
			"a certificate is shown over TLS only: --ca FILE has the CAs that the "
			"service's is of");
	*ret = TAKE_PTR(id);
	return 0;
}

struct rpc_identity *rpc_identity_ref(struct rpc_identity *id)
{
	if (id)
		atomic_fetch_add(&id->refs, 1);
	return id;
}

void rpc_identity_unref(struct rpc_identity *id)
{
	if (!id || atomic_fetch_sub(&id->refs, 1) != 1)
		return;
	tls_watch_close(id->watch);
	token_free(id->authorization);
	pthread_mutex_destroy(&id->lock);
	free(id->ca);
	free(id->cert);
	free(id->key);
	free(id->token_path);
	free(id);
}

bool rpc_identity_has_tls(const struct rpc_identity *id)
{
	return id && id->ca;
}

bool rpc_identity_has_token(const struct rpc_identity *id)
{
	return id && id->token_path;
}

const char *rpc_identity_ca(const struct rpc_identity *id)
{
	return id->ca;
}

/* Reads the token. The caller holds the lock. */
static int read_authorization(struct rpc_identity *id, struct err *err)
{
	char *token = NULL, *text = NULL;
	int rc;

	id->token_stamp = file_stamp_of(id->token_path);
	id->token_looked_ns = io_mono_ns();
	rc = token_read(id->token_path, &token, err);
	if (!rc && asprintf(&text, BEARER "%s", token) < 0)
		rc = err_no_memory(err);
	token_free(token);
	if (rc)
		return rc;
	file_tell_open_secret(id->token_path);
	token_free(id->authorization);
	id->authorization = text;
	return 0;
}

int rpc_identity_load(struct rpc_identity *id, struct err *err)
{
	int rc = 0;

	pthread_mutex_lock(&id->lock);
	if (id->ca && !id->watch)
		rc = tls_watch_open(&id->watch, &(struct tls_files){id->cert, id->key, id->ca},
				    err);
	if (!rc && id->token_path && !id->authorization)
		rc = read_authorization(id, err);
	pthread_mutex_unlock(&id->lock);
	return rc;
}

/* Reads the token again if its file has changed. The caller holds the lock. */
static void refresh_token(struct rpc_identity *id)
{
	struct file_stamp stamp;
	struct err err;

	if (!id->token_path || io_mono_ns() - id->token_looked_ns < LOOK_NS)
		return;
	id->token_looked_ns = io_mono_ns();
	stamp = file_stamp_of(id->token_path);
	if (!file_stamp_same(&stamp, &id->token_stamp) && read_authorization(id, &err))
		log_warn("%s; the token from before stays", err.message);
}

uint64_t rpc_identity_refresh(struct rpc_identity *id)
{
	struct err err;

	pthread_mutex_lock(&id->lock);
	refresh_token(id);
	pthread_mutex_unlock(&id->lock);
	if (!id->watch)
		return 0;
	if (tls_watch_look(id->watch, false, &err) < 0)
		log_warn("%s; the certificates from before stay", err.message);
	return tls_watch_version(id->watch);
}

int rpc_identity_texts(struct rpc_identity *id, struct tls_texts *ret, uint64_t *ret_version,
		       struct err *err)
{
	return tls_watch_texts(id->watch, ret, ret_version, err);
}

char *rpc_identity_authorization(struct rpc_identity *id)
{
	char *text;

	pthread_mutex_lock(&id->lock);
	text = id->authorization ? strdup(id->authorization) : NULL;
	pthread_mutex_unlock(&id->lock);
	return text;
}
