/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CONFIG_CHECK_H
#define RAWSTACK_CONFIG_CHECK_H
/*
 * Checks what the values of options lead to: files, directories, servers. An error begins with the
 * place that gave the value, as config_parse() has it: "FILE:LINE: roles", the name of a variable,
 * or
 * "--roles". Nothing is made, and a check by another user than the program's may find what that one
 * will not, and the other way round.
 */
#include "config.h"

/* Puts the place of the option's value in front of the message, with a blank, and returns the code.
 * An option without a value leaves the message as it is. */
int config_blame(const struct config *c, const struct option_usage *usage, const char *name,
		 struct err *err);

/* What one option names. */
struct config_named {
	const char *option; /* its long name */
	const char *value;  /* NULL or empty: nothing, which is well */
};

/* Checks that it is a file that can be read. Returns 0 or the system's error. */
int config_check_file(const struct config *c, const struct option_usage *usage,
		      const struct config_named *named, struct err *err) _must_check_;

/* Checks that a file can be made in place of this one or beside it. */
int config_check_place(const struct config *c, const struct option_usage *usage,
		       const struct config_named *named, struct err *err) _must_check_;

/* Checks that it is no directory. Its folder may be made later, such as the one of a unit. */
int config_check_output(const struct config *c, const struct option_usage *usage,
			const struct config_named *named, struct err *err) _must_check_;

/* Checks that it is a directory that can be written to, or that there is nothing yet. */
int config_check_dir(const struct config *c, const struct option_usage *usage,
		     const struct config_named *named, struct err *err) _must_check_;

/* Checks that each name of the list is HOST:PORT, [ADDRESS]:PORT or unix:PATH. Asks nobody. */
int config_check_servers(const struct config *c, const struct option_usage *usage,
			 const struct config_named *named, struct err *err) _must_check_;

#endif
