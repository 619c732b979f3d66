/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UPLOAD_CHECK_H
#define RAWSTACK_UPLOAD_CHECK_H
/*
 * Whether a complete upload is what its BeginRequest declares, before a table is made of it. Reads
 * the part only, and changes nothing. Safe from any thread; the upload is the caller's meanwhile.
 *
 * Each returns 0 or a negative code, and ERR_DATA when the upload is something else than declared.
 */
#include "store.h"
#include "table_inspect.h"
#include "uploads.h"

/* The SHA-256 of all bytes. Otherwise ERR_MEMORY, or that of reading. */
int upload_check_digest(const struct upload *up, struct err *err);

/* The build id, as the worker finds it in the file; *ret is what else it says of the file. Kinds
 * that have no id, or a check of their own, pass. Another code than ERR_DATA: nobody can tell what
 * the file is. worker_path may be NULL: see struct build_queue_config. */
int upload_check_id(const struct upload *up, const char *worker_path, struct image_summary *ret,
		    struct err *err);

/* That the declared id is not the hash of a file which the store has by its build id. Otherwise
 * the code of reading the store. */
int upload_check_id_alias(const struct upload *up, struct store *store, struct err *err);

#endif
