/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack push`: sends debug binaries, and the kernel's symbols, to the service. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "file_notes.h"
#include "kernel_symbols.h"
#include "limits.h"
#include "loaded_modules.h"
#include "push_send.h"

enum {
	JOBS_DEFAULT = 4,
	JOBS_MAX = 64,
	PATIENCE_USUAL_MS = 60000,
	CONTACT_USUAL_MS = 3000,
	PATIENCE_MAX_S = 86400,
};

#define PATIENCE_NOT_GIVEN UINT32_MAX

struct arguments {
	struct push_options push;
	const char *kallsyms, *build_id;
	bool kernel;
	Rawstack__V1__Label labels[LIMIT_LABELS];
	Rawstack__V1__Label *label_pointers[LIMIT_LABELS];
};

static int add_push_label(void *at, const char *option, const char *text, struct err *err)
{
	struct arguments *o = at;
	const char *equals = strchr(text, '=');
	Rawstack__V1__Label *l = &o->labels[o->push.label_count];

	if (!equals || equals == text)
		return err_set(err, ERR_USAGE, "%s %s: not KEY=VALUE", option, text);
	if (o->push.label_count == LIMIT_LABELS)
		return err_set(err, ERR_USAGE, "%s: given more than %d times", option,
			       (int)LIMIT_LABELS);
	if (strlen(equals + 1) > LIMIT_LABEL_LEN || (size_t)(equals - text) > LIMIT_LABEL_LEN)
		return err_set(err, ERR_USAGE, "%s %.40s...: longer than %d bytes", option, text,
			       (int)LIMIT_LABEL_LEN);
	rawstack__v1__label__init(l);
	l->key.data = (uint8_t *)(uintptr_t)text;
	l->key.len = (size_t)(equals - text);
	l->value.data = (uint8_t *)(uintptr_t)(equals + 1);
	l->value.len = strlen(equals + 1);
	o->label_pointers[o->push.label_count++] = l;
	return 0;
}

static const struct option_row rows[] = {
	OPTION_ROWS(struct arguments, push.service, server_option_rows),
	OPTION_TEXT(0, "name", "NAME", struct arguments, push.name,
		    "the name to store, instead of the file's name"),
	OPTION_TEXT(0, "version-label", "V", struct arguments, push.version,
		    "the release that the binary belongs to"),
	OPTION_CALL(0, "label", "KEY=VALUE", add_push_label,
		    "a label to find the binary by; may be repeated, up to 32 times"),
	OPTION_FLAG(0, "pin", struct arguments, push.pin, "never evict its table"),
	OPTION_FLAG(0, "replace", struct arguments, push.replace,
		    "replace what the service has of this binary"),
	OPTION_FLAG(0, "table", struct arguments, push.table,
		    "build the table here and send only that"),
	OPTION_FLAG(0, "alone", struct arguments, push.alone, "do not send the companion files"),
	OPTION_NUMBER(0, "jobs", "N", struct arguments, push.jobs, 1, JOBS_MAX, 1,
		      "files to send at the same time (4)"),
	OPTION_NUMBER(0, "retry", "SECONDS", struct arguments, push.patience_ms, 0, PATIENCE_MAX_S,
		      1000,
		      "try again until nothing has moved for so long, also at the first contact; "
		      "0: try once (60; 3 for a service that never answered)"),
	OPTION_FLAG(0, "kernel", struct arguments, kernel,
		    "push the symbols of the running kernel (/proc/kallsyms; needs root) and the "
		    "files of its loaded modules (/lib/modules)"),
	OPTION_TEXT(0, "kallsyms", "FILE", struct arguments, kallsyms,
		    "push the symbols of a kernel, in the format of /proc/kallsyms"),
	OPTION_TEXT(0, "build-id", "ID", struct arguments, build_id, "the build id of that kernel"),
	OPTION_FLAG(0, "json", struct arguments, push.json, "one object per file"),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack push",
	.synopsis = "[OPTIONS] FILE|DIRECTORY|-...\n"
		    "[OPTIONS] --kernel\n"
		    "[OPTIONS] --kallsyms FILE --build-id ID",
	.about = "Uploads ELF files with their debug information and prints what the service "
		 "understood of each. A directory stands for every file in it that has a build id; "
		 "- reads paths from standard input, one a line. Files of kernel modules may be "
		 "compressed (.ko.xz, .ko.zst, .ko.gz) if they are named one by one. A file that "
		 "the service has already is not sent again. Files that belong to a pushed file "
		 "are found and sent too: its debug file or its program (both by the program's "
		 "name), its dwz file, its .dwp package. After a broken connection the upload goes "
		 "on where it stopped, and on another server of --server from the beginning. Fails "
		 "if anything was not understood, or nothing was found.",
	.rows = rows,
	.operands_max = OPERANDS_ANY,
};

static int check_push_arguments(struct arguments *o, size_t file_count, struct err *err)
{
	if (o->kernel && (o->kallsyms || o->build_id))
		return options_refuse(&usage, err,
				      "--kernel takes neither files nor --kallsyms nor --build-id: "
				      "it finds the symbols and modules by itself");
	if (o->kallsyms && !o->build_id)
		return options_refuse(&usage, err, "--kallsyms needs --build-id");
	if (o->build_id && !o->kallsyms)
		return options_refuse(&usage, err, "--build-id needs --kallsyms");
	if (o->push.table && (o->kernel || o->kallsyms))
		return options_refuse(&usage, err,
				      "--table goes with files, not with --kernel or --kallsyms");
	if (!file_count && !o->kernel && !o->kallsyms)
		return options_refuse(&usage, err, "no file given");
	o->push.labels = o->label_pointers;
	/* --retry also holds for the first contact, because the service may just be starting.
	 * Without it a service that never answers is given up soon, so that a wrong address is told
	 * soon. */
	o->push.contact_ms = o->push.patience_ms;
	if (o->push.patience_ms == PATIENCE_NOT_GIVEN) {
		o->push.patience_ms = PATIENCE_USUAL_MS;
		o->push.contact_ms = CONTACT_USUAL_MS;
	}
	return 0;
}

static int open_kallsyms(const struct arguments *o, struct push_kallsyms *k, struct err *err)
{
	int rc = o->kernel ? file_notes_of_path(FILE_NOTES_KERNEL, &k->id, err)
			   : build_id_parse(&k->id, o->build_id, err);

	k->path = o->kernel ? "/proc/kallsyms" : o->kallsyms;
	return rc ? rc : kernel_symbols_open(k->path, &k->fd, err);
}

static int run_push(int argc, char **argv, struct err *err)
{
	_cleanup_(push_files_done) struct push_files files = {0};
	_cleanup_(closep) int kernel_fd = -1;
	struct push_kallsyms kernel = {.fd = -1};
	struct arguments o = {.push = {.jobs = JOBS_DEFAULT, .patience_ms = PATIENCE_NOT_GIVEN}};
	struct operands paths;

	TRY(options_parse(&usage, argc, argv, &o, &paths, err));
	TRY(check_push_arguments(&o, paths.count, err));
	for (size_t i = 0; i < paths.count; i++)
		TRY(push_files_add(&files, paths.list[i], err));
	if (o.kernel || o.kallsyms)
		TRY(open_kallsyms(&o, &kernel, err));
	kernel_fd = kernel.fd;
	if (o.kernel)
		TRY(loaded_modules_add_running(&files, err));
	return push_send(&o.push, &files, kernel_fd >= 0 ? &kernel : NULL, err);
}

const struct command cmd_push = {
	.usage = &usage,
	.run = run_push,
	.summary = "upload debug binaries, or the kernel's symbols and modules",
};
