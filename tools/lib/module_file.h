/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_MODULE_FILE_H
#define RAWSTACK_MODULE_FILE_H
/* Expands files of kernel modules, which distributions compress. */
#include "err.h"

/* Returns whether a path has the ending of a compressed module: .ko.xz, .ko.zst or .ko.gz. */
bool module_file_is_compressed(const char *path);

/* Expands such a file into a memfd that the caller closes. Returns ERR_DATA if it is damaged,
 * ERR_LIMIT if it exceeds LIMIT_MODULE_FILE_LEN, packed or not, ERR_IO or ERR_MEMORY. Messages name
 * the path. */
int module_file_expand(const char *path, int *ret_fd, struct err *err) _must_check_;

#endif
