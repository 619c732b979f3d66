/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack push`: debug binaries, and the kernel's symbols, to the service. */
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
	PATIENCE_DEFAULT_S = 60,
	PATIENCE_MAX_S = 86400,
};

struct arguments {
	struct push_options push;
	const char *kallsyms, *build_id;
	bool kernel;
	Rawstack__V1__Label labels[LIMIT_LABELS];
	Rawstack__V1__Label *label_pointers[LIMIT_LABELS];
};

static int add_push_label(struct arguments *o, const char *text, struct err *err)
{
	const char *equals = strchr(text, '=');
	Rawstack__V1__Label *l = &o->labels[o->push.label_count];

	if (!equals || equals == text)
		return err_set(err, ERR_USAGE, "--label %s: not KEY=VALUE", text);
	if (o->push.label_count == LIMIT_LABELS)
		return err_set(err, ERR_USAGE, "--label: more than %d of them", (int)LIMIT_LABELS);
	if (strlen(equals + 1) > LIMIT_LABEL_LEN || (size_t)(equals - text) > LIMIT_LABEL_LEN)
		return err_set(err, ERR_USAGE, "--label %.40s...: longer than %d bytes", text,
			       (int)LIMIT_LABEL_LEN);
	rawstack__v1__label__init(l);
	l->key.data = (uint8_t *)(uintptr_t)text;
	l->key.len = (size_t)(equals - text);
	l->value.data = (uint8_t *)(uintptr_t)(equals + 1);
	l->value.len = strlen(equals + 1);
	o->label_pointers[o->push.label_count++] = l;
	return 0;
}

static int parse_push_arguments(int argc, char **argv, struct arguments *o, struct err *err)
{
	enum {
		OPT_SERVER = 256,
		OPT_NAME,
		OPT_VERSION,
		OPT_LABEL,
		OPT_KALLSYMS,
		OPT_BUILD_ID,
		OPT_KERNEL,
		OPT_TABLE,
		OPT_ALONE,
		OPT_PIN,
		OPT_REPLACE,
		OPT_JOBS,
		OPT_RETRY,
		OPT_JSON
	};
	static const struct option options[] = {
		{"server", required_argument, NULL, OPT_SERVER},
		{"name", required_argument, NULL, OPT_NAME},
		{"version-label", required_argument, NULL, OPT_VERSION},
		{"label", required_argument, NULL, OPT_LABEL},
		{"kallsyms", required_argument, NULL, OPT_KALLSYMS},
		{"build-id", required_argument, NULL, OPT_BUILD_ID},
		{"kernel", no_argument, NULL, OPT_KERNEL},
		{"table", no_argument, NULL, OPT_TABLE},
		{"alone", no_argument, NULL, OPT_ALONE},
		{"pin", no_argument, NULL, OPT_PIN},
		{"replace", no_argument, NULL, OPT_REPLACE},
		{"jobs", required_argument, NULL, OPT_JOBS},
		{"retry", required_argument, NULL, OPT_RETRY},
		{"json", no_argument, NULL, OPT_JSON},
		{0},
	};
	uint64_t jobs = JOBS_DEFAULT, patience = PATIENCE_DEFAULT_S;
	int c;

	while ((c = command_option(argc, argv, ":", options, err)) != -1) {
		switch (c) {
		case OPT_SERVER:
			o->push.server = optarg;
			break;
		case OPT_NAME:
			o->push.name = optarg;
			break;
		case OPT_VERSION:
			o->push.version = optarg;
			break;
		case OPT_LABEL:
			if (add_push_label(o, optarg, err))
				return ERR_USAGE;
			break;
		case OPT_KALLSYMS:
			o->kallsyms = optarg;
			break;
		case OPT_BUILD_ID:
			o->build_id = optarg;
			break;
		case OPT_KERNEL:
			o->kernel = true;
			break;
		case OPT_TABLE:
			o->push.table = true;
			break;
		case OPT_ALONE:
			o->push.alone = true;
			break;
		case OPT_PIN:
			o->push.pin = true;
			break;
		case OPT_REPLACE:
			o->push.replace = true;
			break;
		case OPT_JOBS:
			if (command_number("--jobs", optarg, 1, JOBS_MAX, &jobs, err))
				return ERR_USAGE;
			break;
		case OPT_RETRY:
			if (command_number("--retry", optarg, 0, PATIENCE_MAX_S, &patience, err))
				return ERR_USAGE;
			break;
		case OPT_JSON:
			o->push.json = true;
			break;
		default:
			return ERR_USAGE;
		}
	}
	if (o->kernel && (o->kallsyms || o->build_id))
		return command_usage(&cmd_push, "--kernel finds its file and its id itself", err);
	if (o->kallsyms && !o->build_id)
		return command_usage(&cmd_push, "--kallsyms needs --build-id", err);
	if (o->build_id && !o->kallsyms)
		return command_usage(&cmd_push, "--build-id is for --kallsyms", err);
	if (o->push.table && (o->kernel || o->kallsyms))
		return command_usage(&cmd_push, "--table is for files", err);
	o->push.jobs = (uint32_t)jobs;
	o->push.patience_ms = (uint32_t)patience * 1000;
	o->push.labels = o->label_pointers;
	if (optind == argc && !o->kernel && !o->kallsyms)
		return command_usage(&cmd_push, "no file given", err);
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
	struct arguments o = {0};
	int rc = parse_push_arguments(argc, argv, &o, err);

	for (int i = optind; i < argc && !rc; i++)
		rc = push_files_add(&files, argv[i], err);
	if (!rc && (o.kernel || o.kallsyms))
		rc = open_kallsyms(&o, &kernel, err);
	if (!rc && o.kernel)
		rc = loaded_modules_add_running(&files, err);
	kernel_fd = kernel.fd;
	return rc ? rc : push_send(&o.push, &files, kernel_fd >= 0 ? &kernel : NULL, err);
}

const struct command cmd_push = {
	.name = "push",
	.run = run_push,
	.summary = "upload debug binaries, or the kernel's symbols and modules",
	.help = "usage: rawstack push [OPTIONS] FILE|DIRECTORY|-...\n"
		"       rawstack push [OPTIONS] --kernel\n"
		"       rawstack push [OPTIONS] --kallsyms FILE --build-id ID\n"
		"\n"
		"Uploads ELF files with their debug information and prints what was understood of\n"
		"each: of a directory, every file in it that has a build id; of -, the files "
		"whose\n"
		"paths are on standard input, one a line. Kernel modules may be compressed "
		"(.ko.xz,\n"
		".ko.zst, .ko.gz) where they are named. What the service has already is not sent\n"
		"again. What goes with a file is found and sent too: the program of a debug file\n"
		"and the reverse, both by the program's name, its dwz file, its .dwp package. A\n"
		"broken connection is taken up again where it broke. Fails when anything was not\n"
		"understood, or nothing was found.\n"
		"\n"
		"  --server HOST:PORT     the service\n"
		"  --name NAME            instead of the file's name\n"
		"  --version-label V      the release it belongs to\n"
		"  --label KEY=VALUE      to find it by; up to 32\n"
		"  --pin                  never to be evicted\n"
		"  --replace              instead of what the service has of it\n"
		"  --table                build the table here and send only that\n"
		"  --alone                without the files that go with it\n"
		"  --jobs N               files at a time (4)\n"
		"  --retry SECONDS        how long to go on when nothing moves (60)\n"
		"  --kernel               symbols of the running kernel (/proc/kallsyms; root), "
		"and "
		"the\n"
		"                         files of its loaded modules (/lib/modules)\n"
		"  --kallsyms FILE        symbols of a kernel, in the format of /proc/kallsyms\n"
		"  --build-id ID          whose they are\n"
		"  --json                 one object per file\n",
};
