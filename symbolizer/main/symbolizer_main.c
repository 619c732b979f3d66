/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-symbolizer: keeps tables, and answers raw stacks with functions, files and lines. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "config.h"
#include "config_check.h"
#include "http_pages.h"
#include "io.h"
#include "limits.h"
#include "listen_list.h"
#include "log.h"
#include "process_limits.h"
#include "rpc_accept.h"
#include "rpc_health.h"
#include "rpc_reflection.h"
#include "rpc_server.h"
#include "service.h"
#include "service_rpc.h"
#include "sighup.h"
#include "start_check.h"
#include "stdout_end.h"
#include "store_check.h"
#include "store_fault.h"
#include "symbolizer_admin.h"
#include "watchdog.h"

/* The smallest budget of a store: its own trees, and a table or two. */
#define LIMIT_STORE_MIN (MIB / 2)

enum {
	/* After a signal, calls have STOP_GRACE_MS to end. END_MS leaves some time for the rest,
	 * builders among it. */
	STOP_GRACE_MS = 3000,
	END_MS = 5000,
	STUCK_SECONDS = 30,
};

struct options {
	struct listen_list listen;
	const char *port_file;
	const char *http, *http_port_file;
	const char *metrics, *metrics_port_file; /* the names of version 0.1 */
	bool http_open;
	struct service_config service;
	struct rpc_server_config server;
	uint64_t stuck_seconds;
	uint32_t log_level;  /* enum log_level */
	uint32_t local_role; /* an index */
};

#define DISK_MAX     (UINT64_C(1) << 46)
#define SECONDS_MAX  86400 /* a day */
#define WORKERS_MAX  256
#define BUILDERS_MAX 64

#define VARIABLE_PREFIX "RAWSTACK_SYMBOLIZER_"

/* admin is for those who are known. */
static const char *const local_role_words[] = {"none", "read", "host", "write", NULL};
static const unsigned int local_roles[] = {ROLE_ANONYMOUS, ROLE_READ, ROLE_HOST, ROLE_WRITE};

static const struct option_row rows[] = {
	OPTION_TEXT(0, "data", "DIR", struct options, service.data_dir,
		    "the data directory; made if it does not exist"),
	OPTION_CALL(0, "listen", "ADDRESS[,ADDRESS...]", listen_list_add,
		    "an address to serve (" LISTEN_LIST_DEFAULT
		    "): HOST:PORT, [HOST]:PORT with IPv6, "
		    "or unix:PATH; may be repeated. 0.0.0.0 and [::] are all addresses, IPv4 and "
		    "IPv6; beyond loopback with TLS only; port 0 takes any free one",
		    .offset = offsetof(struct options, listen), .check = listen_list_check_argument,
		    .usual = LISTEN_LIST_DEFAULT),
	OPTION_TEXT(0, "tls-cert", "FILE", struct options, server.tls.cert,
		    "speak TLS on HOST:PORT, with this certificate (PEM); certificates that lead "
		    "to a CA follow it in the file. The service takes a new one when the file "
		    "changes, and at SIGHUP"),
	OPTION_TEXT(0, "tls-key", "FILE", struct options, server.tls.key,
		    "the key of that certificate, without a passphrase"),
	OPTION_TEXT(0, "tls-client-ca", "FILE", struct options, server.tls.ca,
		    "each client has to present a certificate that one of these CAs signed (mTLS)"),
	OPTION_TEXT(0, "roles", "FILE", struct options, server.access.roles,
		    "which roles clients have: lines \"ROLE NAME\", where ROLE is read, host, "
		    "write or admin, and NAME spiffe://..., URI:..., DNS:... or token:...; and "
		    "what they may take: lines \"quota NAME bytes-a-day=N requests=N builds=N\", "
		    "where NAME may also be default, local or anonymous; without it each known "
		    "client has read and write"),
	OPTION_TEXT(0, "tokens", "FILE", struct options, server.access.tokens,
		    "the tokens that clients may show instead of a certificate: lines "
		    "\"NAME TOKEN\" or \"NAME sha256:HEX\""),
	OPTION_WORD(0, "local-role", "ROLE", struct options, local_role, local_role_words,
		    "the role of clients on this machine that show neither: none, read, host or "
		    "write (write)"),
	OPTION_FLAG(0, "insecure", struct options, server.insecure,
		    "serve plain text beyond loopback, to everybody who reaches it"),
	OPTION_TEXT(0, "port-file", "FILE", struct options, port_file,
		    "write the port of each --listen to a line of FILE once the service listens; "
		    "0 for a Unix socket"),
	OPTION_TEXT(
		0, "http", "ADDRESS", struct options, http,
		"serve /metrics, /healthz, /readyz and /status over HTTP: PORT, 127.0.0.1:PORT or "
		"[::1]:PORT"),
	OPTION_FLAG(0, "http-open", struct options, http_open,
		    "--http may be an address beyond loopback: whoever reaches it reads those "
		    "pages, in plain text and unasked, but for /status, which names "
		    "binaries and clients and is for this machine"),
	OPTION_TEXT(0, "http-port-file", "FILE", struct options, http_port_file,
		    "write the port of --http to FILE"),
	OPTION_TEXT(0, "metrics", "ADDRESS", struct options, metrics, "the older name of --http"),
	OPTION_TEXT(0, "metrics-port-file", "FILE", struct options, metrics_port_file,
		    "the older name of --http-port-file"),
	OPTION_BYTES(0, "store-bytes", "N", struct options, service.store_bytes, LIMIT_STORE_MIN,
		     DISK_MAX,
		     "disk space for tables (10G); K, M or G may follow N. Tables, uploads and "
		     "kept files leave 256 MiB of the disk free: what would take them is refused"),
	OPTION_FLAG(0, "keep-debug", struct options, service.keep_debug,
		    "keep every uploaded file, so that damaged, evicted and outdated tables can be "
		    "made again; otherwise only files that wait for a companion are kept",
		    .is_live = true),
	OPTION_FLAG(0, "keep-failed", struct options, service.keep_failed,
		    "keep a file if no table can be made of it, as DIR/kept/ID.failed, compressed "
		    "with zstd",
		    .is_live = true),
	OPTION_BYTES(0, "kept-bytes", "N", struct options, service.kept_bytes, 1, DISK_MAX,
		     "disk space for kept files (2G)", .is_live = true),
	OPTION_CALL(
		0, "retain", "RULE[,RULE...]", retain_rules_add,
		"remove tables, and the files kept for them, before there is no room for them; "
		"may be repeated. RULE is age TIME (since the upload), unused TIME (since the "
		"last use), count N (those used last stay), releases N (of each name the "
		"versions uploaded last stay), or forever (no other rule takes them), and "
		"behind it label KEY=VALUE and name NAME narrow it. TIME is a number with s, m, "
		"h, d or w. Pinned tables stay, and do not count",
		.offset = offsetof(struct options, service.retain), .check = retain_rules_check,
		.is_live = true),
	OPTION_NUMBER(0, "workers", "N", struct options, server.workers, 1, WORKERS_MAX, 1,
		      "threads that answer requests (4)"),
	OPTION_NUMBER(0, "builds", "N", struct options, service.builders, 1, BUILDERS_MAX, 1,
		      "tables that are built of uploads at once (2), besides one that is made "
		      "again. Builds run at idle priority, and at nice 10 if they get almost no "
		      "CPU there. One client has at most all but one of them"),
	OPTION_BYTES(0, "build-memory", "N", struct options, service.build_memory, 1, DISK_MAX,
		     "memory of one build (8G); less for a small file: 512M and 16 times its size",
		     .is_live = true),
	OPTION_NUMBER(0, "build-cpu", "SECONDS", struct options, service.build_cpu_seconds, 1,
		      SECONDS_MAX, 1,
		      "CPU time of one build (600); less for a small file: 20 s, and 1 s per MiB",
		      .is_live = true),
	OPTION_NUMBER(0, "build-wall", "SECONDS", struct options, service.build_wall_ms, 1,
		      SECONDS_MAX, 1000, "time of one build from its start (1800)",
		      .is_live = true),
	OPTION_NUMBER(0, "keepalive", "SECONDS", struct options, server.keepalive_ms, 1,
		      SECONDS_MAX, 1000, "ask a silent peer for a sign of life after so long (20)"),
	OPTION_NUMBER(0, "connection-age", "SECONDS", struct options, server.age_ms, 0, SECONDS_MAX,
		      1000,
		      "a connection ends after so long, a tenth more or less, and its client "
		      "makes another without losing a call, so that clients spread over the "
		      "services of a name (3600); 0: it may stay"),
	OPTION_NUMBER(0, "connection-grace", "SECONDS", struct options, server.grace_ms, 1,
		      SECONDS_MAX, 1000,
		      "time for the calls that a connection has at that age; then they end with "
		      "UNAVAILABLE (600)"),
	OPTION_NUMBER(0, "connection-idle", "SECONDS", struct options, server.idle_ms, 0,
		      SECONDS_MAX, 1000,
		      "a connection without a call for so long ends; 0: it may stay (0)"),
	OPTION_NUMBER(0, "watchdog", "SECONDS", struct options, stuck_seconds, 1, SECONDS_MAX, 1,
		      "log each thread that has been at one thing for so long (30); when all "
		      "threads of a kind have, health says NOT_SERVING, and the service stops "
		      "feeding systemd's watchdog (WatchdogSec=)"),
	OPTION_WORD(0, "log-level", "LEVEL", struct options, log_level, log_level_words,
		    "the least important lines that are logged: error, warning, info or debug, "
		    "which has each call (info)",
		    .is_live = true),
	OPTION_TEXT(0, "table-worker", "PATH", struct options, service.worker_path,
		    "the program that reads debug files (found beside this one)"),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack-symbolizer",
	.synopsis = "[--config FILE] [--data DIR] [--listen ADDRESS] ...\n"
		    "backup|compact|verify|salvage --data DIR ...",
	.about = "Receives debug binaries, keeps lookup tables of them, and answers raw stacks "
		 "with functions, files and lines, over gRPC (rawstack.v1).",
	.rows = rows,
	.notes = "The unit reads /etc/rawstack/symbolizer.conf. The variable of the option "
		 "--store-bytes is " VARIABLE_PREFIX "STORE_BYTES.\n"
		 "\n"
		 "SIGHUP makes the service read the file again and apply keep-debug, keep-failed, "
		 "kept-bytes, retain, build-memory, build-cpu, build-wall and log-level; it logs "
		 "which "
		 "other options "
		 "need a restart. A file with an error changes nothing. Certificates, "
		 "roles and tokens are read again, too. SIGTERM and SIGINT end the service. Exit "
		 "status: 0 done, 1 failed, "
		 "2 wrong usage.",
	.version = RAWSTACK_VERSION,
	.config = &(const struct option_config){.prefix = VARIABLE_PREFIX},
};

static const struct command_table table = {
	.name = "rawstack-symbolizer",
	.version = RAWSTACK_VERSION,
	.commands = symbolizer_admin_commands,
	.usage = &usage,
};

/* The parts around the service, in the order of opening. */
struct program {
	struct rpc_server *server;
	struct rpc_health *health;
	struct rpc_reflection *reflection;
	struct service *service;
	struct service_rpc *rpc;
	struct http_pages *http;
	struct watchdog *watchdog;
};

static atomic_bool store_failed;

static void on_failed(void *ctx _unused_)
{
	atomic_store(&store_failed, true);
	(void)kill(getpid(), SIGTERM); /* the watchdog waits for it */
}

static void on_changed(void *ctx, bool is_well)
{
	const struct program *p = ctx;

	rpc_health_set(p->health, is_well);
	http_pages_set_well(p->http, is_well);
}

/* Opens the HTTP port. It comes before anything is made or opened, so that a wrong option has no
 * other effect, and probes hear of a start that takes long. */
static int open_http(struct program *p, const struct options *o, struct err *err)
{
	const struct http_pages_config config = {
		.option = o->http ? "--http" : "--metrics",
		.address = o->http ? o->http : o->metrics,
		.port_file = o->http_port_file ? o->http_port_file : o->metrics_port_file,
		.is_open = o->http_open,
	};

	return config.address ? http_pages_open(&p->http, &config, err) : 0;
}

static int listen_everywhere(struct rpc_server *server, const struct listen_list *l, int *ports,
			     struct err *err)
{
	for (size_t i = 0; i < l->count; i++)
		TRY(rpc_server_listen(server, l->texts[i], &ports[i], err));
	return 0;
}

static int start_service(struct program *p, const struct options *o, struct err *err)
{
	size_t len;
	const void *set = rpc_reflection_descriptors(&len);
	struct rpc_server_config server = o->server;
	char quotas[LIMIT_PATH_LEN];
	int ports[RPC_LISTEN_MAX], rc;

	if (snprintf(quotas, sizeof(quotas), "%s/quotas", o->service.data_dir) >=
	    (int)sizeof(quotas))
		return err_set(err, ERR_USAGE, "%s: the path is too long", o->service.data_dir);
	server.quotas = quotas;
	if ((rc = start_check_files(o->service.worker_path, &o->server, err)) ||
	    (rc = open_http(p, o, err)) || (rc = store_check_by_child(o->service.data_dir, err)) ||
	    (rc = service_open(&p->service, &o->service, err)) ||
	    (rc = rpc_server_open(&p->server, &server, err)) ||
	    (rc = service_rpc_open(&p->rpc, p->server, p->service, err)) ||
	    (rc = rpc_health_open(&p->health, p->server, service_rpc_names, err)) ||
	    (rc = rpc_reflection_open(&p->reflection, p->server, set, len, err)) ||
	    (rc = listen_everywhere(p->server, &o->listen, ports, err)) ||
	    (rc = rpc_server_start(p->server, err)))
		return rc;
	http_pages_serve(p->http, p->service, p->server, p->watchdog);
	rpc_health_set(p->health, true);
	watchdog_ready(p->watchdog);
	service_tell_empty(p->service);
	listen_list_tell(&o->listen, ports);
	if (!o->port_file)
		return 0;
	rc = listen_list_write_ports(&o->listen, ports, o->port_file, err);
	return rc ? err_prefix(err, "--port-file") : 0;
}

/* Stops the parts in reverse order. Returns false if a build still runs that cannot be waited for.
 */
static bool stop_service(struct program *p)
{
	if (p->health && p->server)
		rpc_health_stop(p->health);
	if (p->service)
		service_stop(p->service);
	rpc_server_close(p->server); /* drains, then cancels */
	rpc_reflection_close(p->reflection);
	rpc_health_close(p->health);
	service_rpc_close(p->rpc);
	http_pages_close(p->http);
	return service_close(p->service);
}

static int check_tls(const struct options *o, struct err *err)
{
	const struct tls_files *tls = &o->server.tls;

	if (!tls->cert != !tls->key)
		return options_refuse(&usage, err, "--tls-cert and --tls-key go together");
	if (tls->ca && !tls->cert)
		return options_refuse(&usage, err, "--tls-client-ca is for --tls-cert");
	if (o->server.access.tokens && o->server.insecure)
		return options_refuse(&usage, err,
				      "--tokens is not for --insecure: plain text "
				      "shows them to the network");
	if (tls->cert && o->server.insecure)
		return options_refuse(&usage, err, "--insecure is for a service without TLS");
	return 0;
}

/* --- configuration --------------------------------------------------------------------------- */

/* Reads the options from the command line, the environment and the file. Returns 0, 1 or an error
 * as config_parse() does. */
static int read_options(int argc, char **argv, struct options *ret, struct config *config,
			struct err *err)
{
	int rc;

	*ret = (struct options){
		.service =
			{
				.store_bytes = 10 * GIB,
				.kept_bytes = LIMIT_KEPT_LEN,
				.builders = SERVICE_BUILDERS,
				.build_memory = LIMIT_WORKER_MEMORY,
				.build_cpu_seconds = LIMIT_WORKER_CPU_SECONDS,
				.build_wall_ms = LIMIT_WORKER_WALL_MS,
				.version = RAWSTACK_VERSION,
				.failed = on_failed,
				.connected = rpc_accept_has,
			},
		.server = {.workers = RPC_SERVER_WORKERS,
			   .keepalive_ms = RPC_SERVER_KEEPALIVE_MS,
			   .age_ms = RPC_SERVER_AGE_MS,
			   .grace_ms = RPC_SERVER_GRACE_MS},
		.stuck_seconds = STUCK_SECONDS,
		.log_level = LOG_INFO,
		.local_role = ARRAY_LEN(local_roles) - 1,
	};
	rc = config_parse(&usage, argc, argv, ret, config, err);
	if (rc)
		return rc;
	ret->server.access.local_roles = local_roles[ret->local_role];
	if (ret->http && ret->metrics)
		return options_refuse(&usage, err,
				      "--metrics is the older name of --http: one of them");
	if (!ret->service.data_dir)
		return options_refuse(&usage, err, "--data DIR is required");
	TRY(check_tls(ret, err));
	if (listen_list_complete(&ret->listen, ret->server.tls.cert || ret->server.insecure, err))
		return config_blame(config, &usage, "listen", err);
	return start_check_values(
		&(struct start_values){
			.server = &ret->server,
			.data_dir = ret->service.data_dir,
			.worker_path = ret->service.worker_path,
			.http = ret->http,
			.metrics = ret->metrics,
			.http_open = ret->http_open,
			.port_files = {ret->port_file, ret->http_port_file, ret->metrics_port_file},
		},
		config, &usage, err);
}

/* Looks at addresses and at the content of files, for --check-config. */
static int check_surroundings(const struct options *o, const struct config *config, struct err *err)
{
	TRY(start_check_files(o->service.worker_path, &o->server, err));
	return listen_list_try(&o->listen, err) ? config_blame(config, &usage, "listen", err) : 0;
}

static void tell_live(void *ctx _unused_, const struct option_row *row)
{
	if (row->is_live)
		log_info("%s has changed", row->name);
}

static void tell_restart(void *ctx _unused_, const struct option_row *row)
{
	if (!row->is_live)
		log_warn("%s has changed, which needs a restart", row->name);
}

/* The configurations that were read. `first` holds the texts of what only a restart changes. */
struct configuration {
	int argc;
	char **argv;
	struct config first, last;
	bool is_reloaded; /* `last` is valid */
};

static void configuration_done(struct configuration *c)
{
	config_done(&c->first);
	config_done(&c->last);
}

/* Reads the configuration again, after SIGHUP. A mistake in it changes nothing. */
static void reload_configuration(struct program *p, struct configuration *c)
{
	struct config config = {0};
	struct options o;
	struct err err;

	rpc_server_reload(p->server);
	if (read_options(c->argc, c->argv, &o, &config, &err)) {
		log_error("%s: nothing is changed", err.message);
		config_done(&config);
		return;
	}
	config_compare(&usage, c->is_reloaded ? &c->last : &c->first, &config, tell_live, NULL);
	config_compare(&usage, &c->first, &config, tell_restart, NULL);
	service_configure(p->service, &o.service);
	log_set_level(o.log_level);
	config_done(&c->last);
	c->last = config;
	c->is_reloaded = true;
	if (config.path)
		log_info("%s was read again", config.path);
	else
		log_info("there is no file of --config: nothing was read");
}

/* Reads the options, and answers those that ask about the configuration. Returns 1 if nothing is
 * left to do then. */
static int take_options(int argc, char **argv, struct options *o, struct config *config,
			struct err *err)
{
	TRY(read_options(argc, argv, o, config, err));
	if (config->wants_check)
		TRY(check_surroundings(o, config, err));
	return config_answer(config, &usage, o, err);
}

int main(int argc, char **argv)
{
	_cleanup_(configuration_done) struct configuration configuration = {.argc = argc,
									    .argv = argv};
	struct options o;
	struct program program = {0};
	struct err err = {0};
	int rc;

	sighup_block();
	log_init("rawstack-symbolizer");
	if (argc == 3 && !strcmp(argv[1], STORE_CHECK_WORD))
		return store_check_main(argv[2]);
	store_fault_install("rawstack-symbolizer");
	if (argc > 1 && (argv[1][0] != '-' || !strcmp(argv[1], "--complete"))) {
		sighup_unblock();
		return stdout_end(commands_run(&table, argc, argv, &err), &err);
	}
	rc = take_options(argc, argv, &o, &configuration.first, &err);
	if (rc)
		return stdout_end(rc, &err);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* beyond RLIMIT_FSIZE the write fails instead */

	log_set_level(o.log_level);
	process_share_memory(o.server.workers);
	/* The watchdog comes before any other thread, so that all of them leave the signals to it.
	 */
	rc = watchdog_open(&program.watchdog,
			   &(struct watchdog_config){.patience_ns = o.stuck_seconds * 1000000000,
						     .changed = on_changed,
						     .ctx = &program,
						     .end_ms = END_MS,
						     .failed = &store_failed},
			   &err);
	if (!rc)
		rc = process_limits_raise(o.service.builders, &err);
	if (!rc)
		rc = start_service(&program, &o, &err);
	if (rc) {
		log_error("%s", err.message);
	} else {
		while (watchdog_wait(program.watchdog))
			reload_configuration(&program, &configuration);
		watchdog_quiet(program.watchdog);
		http_pages_stop(program.http);
		rpc_health_stop(program.health);
		service_stop(program.service);
		rpc_server_stop(program.server, STOP_GRACE_MS);
		/* The exit status makes a supervisor start the service again. */
		rc = atomic_load(&store_failed) ? ERR_IO : 0;
	}
	if (!stop_service(&program))
		_exit(err_exit_status(rc));
	return err_exit_status(rc);
}
