/* SPDX-License-Identifier: Apache-2.0 */
#include "filter_option.h"

#include "command.h"

int filter_option(int option, const char *value, struct profile_filter *f, struct err *err)
{
	uint64_t pid;

	switch (option) {
	case FILTER_PID:
		if (command_number("--pid", value, 0, INT32_MAX, &pid, err))
			return ERR_USAGE;
		f->pid = (int64_t)pid;
		return 1;
	case FILTER_THREAD:
		f->thread = value;
		return 1;
	case FILTER_MODULE:
		f->module = value;
		return 1;
	default:
		return 0;
	}
}
