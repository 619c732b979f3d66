/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_VERIFY_H
#define RAWSTACK_TABLE_VERIFY_H
/*
 * A table compared with its file, in a process as table_build() has one; but it is another program,
 * rawstack-table-verifier, which reads the file by libdwarf. Safe from any thread.
 */
#include "table_build.h"

/*
 * Of *req: input_fd, which must be ELF, and executable_fd, companions, missing and the limits as
 * for table_build(). output_fd gets the first LIMIT_VERIFY_PRINTED differences as lines of text,
 * untrusted bytes. worker_path is the path of the verifier; NULL: it is searched. Differences are
 * no error. Errors as table_build(); ERR_MISMATCH: the table is of another file.
 */
int table_verify(const struct table_request *req, int table_fd, struct verify_report *report,
		 struct err *err) _must_check_;

#endif
