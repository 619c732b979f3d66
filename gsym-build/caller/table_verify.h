/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_VERIFY_H
#define RAWSTACK_TABLE_VERIFY_H
/* Compares a table with its file in a process like that of table_build(). Its program is
 * rawstack-table-verifier, which reads the file through libdwarf. Safe from any thread. */
#include "table_build.h"

/*
 * Uses these members of *req: input_fd, which must be ELF; executable_fd, companions, missing and
 * the limits as for table_build(); output_fd, which receives the first LIMIT_VERIFY_PRINTED
 * differences as lines of untrusted text; and worker_path, the path of the verifier, or NULL to
 * search for it. Differences are not an error. Returns errors as table_build(), and ERR_MISMATCH if
 * the table is of another file.
 */
int table_verify(const struct table_request *req, int table_fd, struct verify_report *report,
		 struct err *err) _must_check_;

#endif
