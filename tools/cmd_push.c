/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack push`: debug binaries, and the kernel's symbols, to the service. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "json.h"
#include "kernel_symbols.h"
#include "limits.h"
#include "log.h"
#include "table_build.h"
#include "text.h"
#include "upload.h"

struct push_options {
	const char *server, *name, *version, *kallsyms, *build_id;
	bool kernel, json;
	Rawstack__V1__Label labels[LIMIT_LABELS];
	Rawstack__V1__Label *label_pointers[LIMIT_LABELS];
	size_t label_count;
};

static int add_label(struct push_options *o, const char *text, struct err *err)
{
	const char *equals = strchr(text, '=');
	Rawstack__V1__Label *l = &o->labels[o->label_count];

	if (!equals || equals == text)
		return err_set(err, ERR_USAGE, "--label %s: not KEY=VALUE", text);
	if (o->label_count == LIMIT_LABELS)
		return err_set(err, ERR_USAGE, "--label: more than %d of them", (int)LIMIT_LABELS);
	if (strlen(equals + 1) > LIMIT_LABEL_LEN || (size_t)(equals - text) > LIMIT_LABEL_LEN)
		return err_set(err, ERR_USAGE, "--label %.40s...: longer than %d bytes", text,
			       (int)LIMIT_LABEL_LEN);
	rawstack__v1__label__init(l);
	l->key.data = (uint8_t *)(uintptr_t)text;
	l->key.len = (size_t)(equals - text);
	l->value.data = (uint8_t *)(uintptr_t)(equals + 1);
	l->value.len = strlen(equals + 1);
	o->label_pointers[o->label_count++] = l;
	return 0;
}

static int parse(int argc, char **argv, struct push_options *o, struct err *err)
{
	enum {
		OPT_SERVER = 256,
		OPT_NAME,
		OPT_VERSION,
		OPT_LABEL,
		OPT_KALLSYMS,
		OPT_BUILD_ID,
		OPT_KERNEL,
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
		{"json", no_argument, NULL, OPT_JSON},
		{0},
	};
	int c;

	while ((c = command_option(argc, argv, ":", options, err)) != -1) {
		switch (c) {
		case OPT_SERVER:
			o->server = optarg;
			break;
		case OPT_NAME:
			o->name = optarg;
			break;
		case OPT_VERSION:
			o->version = optarg;
			break;
		case OPT_LABEL:
			if (add_label(o, optarg, err))
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
		case OPT_JSON:
			o->json = true;
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
	if (optind == argc && !o->kernel && !o->kallsyms)
		return command_usage(&cmd_push, "no file given", err);
	return 0;
}

static int print_line(const struct push_options *o, const char *shown, const struct build_id *id,
		      const struct upload_result *r, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(MIB);
	char hex[BUILD_ID_HEX_MAX];

	if (o->json) {
		json_open(&out, '{');
		json_key_cstr(&out, "file", shown);
		json_key_cstr(&out, "build_id", build_id_hex(id, hex));
		json_key_bool(&out, "already_there", r->present);
		json_key_number(&out, "functions", (int64_t)r->functions);
		json_key_number(&out, "inlined_calls", (int64_t)r->inline_nodes);
		json_key_bool(&out, "dwarf", r->has_dwarf);
		json_key_number(&out, "units", (int64_t)r->units);
		json_key_number(&out, "units_skipped", (int64_t)r->units_skipped);
		json_key_number(&out, "symbols", (int64_t)r->symbols);
		json_key_number(&out, "table_bytes", (int64_t)r->table_bytes);
		json_close(&out, '}');
	} else {
		text_cstr(&out, shown);
		buf_printf(&out,
			   ": %s build id %s: %" PRIu64 " functions, %" PRIu64
			   " inlined calls, %s, table ",
			   r->present ? "already there," : "pushed,", build_id_hex(id, hex),
			   r->functions, r->inline_nodes, r->has_dwarf ? "DWARF" : "symbols only");
		text_bytes(&out, r->table_bytes);
		if (r->units_skipped)
			buf_printf(&out, " (%" PRIu64 " of %" PRIu64 " units could not be read)",
				   r->units_skipped, r->units);
	}
	buf_str(&out, "\n");
	if (out.failed)
		return err_set(err, ERR_MEMORY, "out of memory");
	fwrite(out.p, 1, out.len, stdout);
	fflush(stdout);
	return 0;
}

static int push(struct rpc_client *c, const struct push_options *o, struct upload *u,
		struct err *err)
{
	struct upload_result result;
	int rc;

	u->version = o->version;
	u->labels = (Rawstack__V1__Label **)(uintptr_t)o->label_pointers;
	u->label_count = o->label_count;
	rc = upload_run(c, u, &result, err);
	if (rc)
		return err_prefix(err, "%s", u->shown);
	return print_line(o, u->shown, &u->id, &result, err);
}

static int push_file(struct rpc_client *c, const struct push_options *o, const char *path,
		     struct err *err)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *slash = strrchr(path, '/');
	struct upload u = {.fd = fd, .shown = path};
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st))
		return err_sys(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_UNSUPPORTED, "%s: not a regular file", path);
	rc = table_identify(fd, &u.id, err);
	if (rc)
		return err_prefix(err, "%s", path);
	u.name = o->name ? o->name : slash ? slash + 1 : path;
	return push(c, o, &u, err);
}

static int push_kallsyms(struct rpc_client *c, const struct push_options *o, struct err *err)
{
	_cleanup_(closep) int fd = -1;
	const char *path = o->kernel ? "/proc/kallsyms" : o->kallsyms;
	struct upload u = {
		.shown = path,
		.name = o->name ? o->name : "kernel",
		.kind = RAWSTACK__V1__BINARY_KIND__BINARY_KIND_KALLSYMS,
	};
	int rc = o->kernel ? kernel_id(&u.id, err) : build_id_parse(&u.id, o->build_id, err);

	if (!rc)
		rc = kernel_symbols_open(path, &fd, err);
	if (rc)
		return rc;
	u.fd = fd;
	return push(c, o, &u, err);
}

/* Keeps the last failure for main() to print; prints the one before it. */
static void note(struct err *pending, const struct err *now)
{
	if (pending->code)
		log_error("%s", pending->message);
	*pending = *now;
}

static int run_push(int argc, char **argv, struct err *err)
{
	_cleanup_(rpc_client_closep) struct rpc_client *c = NULL;
	struct push_options o = {0};
	struct err pending = {0};
	int rc = parse(argc, argv, &o, err);

	if (!rc)
		rc = remote_open(&c, o.server, err);
	if (rc)
		return rc;
	if (o.kernel || o.kallsyms) {
		rc = push_kallsyms(c, &o, err);
		if (rc)
			note(&pending, err);
	}
	/* One bad file does not stop the others; a service that is away does. */
	for (int i = optind; i < argc && rc != ERR_UNAVAILABLE; i++) {
		rc = push_file(c, &o, argv[i], err);
		if (rc)
			note(&pending, err);
	}
	if (pending.code)
		*err = pending;
	return pending.code;
}

const struct command cmd_push = {
	.name = "push",
	.run = run_push,
	.summary = "upload debug binaries, or the kernel's symbols",
	.help = "usage: rawstack push [OPTIONS] FILE...\n"
		"       rawstack push [OPTIONS] --kernel\n"
		"       rawstack push [OPTIONS] --kallsyms FILE --build-id ID\n"
		"\n"
		"Uploads ELF files with their debug information and prints what was understood of\n"
		"each. What the service has already is not sent again.\n"
		"\n"
		"  --server HOST:PORT     the service\n"
		"  --name NAME            instead of the file's name\n"
		"  --version-label V      the release it belongs to\n"
		"  --label KEY=VALUE      to find it by; up to 32\n"
		"  --kernel               symbols of the running kernel (/proc/kallsyms; root)\n"
		"  --kallsyms FILE        symbols of a kernel, in the format of /proc/kallsyms\n"
		"  --build-id ID          whose they are\n"
		"  --json                 one object per file\n",
};
