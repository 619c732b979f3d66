/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UPLOAD_CHECK_H
#define RAWSTACK_UPLOAD_CHECK_H
/*
 * Checks that a complete upload is what its BeginRequest declares, before it is built. Reads the
 * part only, and changes nothing. Safe from any thread; the upload belongs to the caller meanwhile.
 *
 * Each function returns 0 or a negative code: ERR_DATA when the upload differs from the
 * declaration.
 */
#include "store.h"
#include "table_inspect.h"
#include "uploads.h"

/* Returns whether files of this kind come from the memory of a running host: symbols of its kernel
 * or its vDSO. Nothing proves what they are, and the role host may upload them, so they neither
 * take the place of files of other kinds nor keep those away. */
bool upload_kind_is_of_host(Rawstack__V1__BinaryKind kind);

/* Checks the SHA-256 of all bytes. Other errors: ERR_MEMORY, or those of reading. */
int upload_check_digest(const struct upload *up, struct err *err);

/* Checks the build id that the worker finds in the file; *ret holds the rest of its summary. Kinds
 * without an id, or with a check of their own, pass. A code other than ERR_DATA means that the file
 * could not be identified. worker_path may be NULL: see struct build_queue_config. */
int upload_check_id(const struct upload *up, const char *worker_path, struct image_summary *ret,
		    struct err *err);

/* Checks that the declared id is not the hash of a file which the store has by its build id. Other
 * errors are those of the store. */
int upload_check_id_alias(const struct upload *up, struct store *store, struct err *err);

#endif
