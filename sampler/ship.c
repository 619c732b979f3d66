/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program `rawstack-ship`: unprivileged, sees the spool, the service and the sink, nothing
 * else. Says one line whenever its state changes (shipping, waiting and why), not more.
 */
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

#include "log.h"
#include "rpc_client.h"
#include "ship_back_off.h"
#include "shipper.h"

#define NS_PER_MS    UINT64_C(1000000)
#define POLL_MS      1000 /* how often an empty spool is looked at */
#define STOP_MS      9000 /* from SIGTERM on, after the call under way (10 s at most) */
#define STOP_CALL_MS 4000

static volatile sig_atomic_t stopping;

static void on_signal(int signum _unused_)
{
	stopping = 1;
}

struct ship_options {
	const char *spool, *server, *out;
	bool once;
};

static const char help_text[] =
	"usage: rawstack-ship --spool DIR --server HOST:PORT --out DIR [--once]\n"
	"\n"
	"Ships what a sampler spools: each batch is symbolized by the service, written as a pprof\n"
	"file into the output directory, and only then acknowledged. While the service is away\n"
	"nothing is lost; it goes on when the service is back.\n"
	"\n"
	"  --spool DIR         the sampler's spool\n"
	"  --server HOST:PORT  the service\n"
	"  --out DIR           where <batch id>.pb.gz files go; made if needed\n"
	"  --once              ship what is there now, then exit\n"
	"\n"
	"SIGTERM and SIGINT do what --once does: exit status 0 when everything that was there is\n"
	"delivered, 1 (and how many samples stay in the spool) when it could not be.\n";

/* 1: done, exit 0; 0: go on; negative: usage. */
static int parse(int argc, char **argv, struct ship_options *o, struct err *err)
{
	static const struct option options[] = {
		{"spool", required_argument, NULL, 's'}, {"server", required_argument, NULL, 'S'},
		{"out", required_argument, NULL, 'o'},   {"once", no_argument, NULL, '1'},
		{"help", no_argument, NULL, 'h'},        {0},
	};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 's':
			o->spool = optarg;
			break;
		case 'S':
			o->server = optarg;
			break;
		case 'o':
			o->out = optarg;
			break;
		case '1':
			o->once = true;
			break;
		case 'h':
			fputs(help_text, stdout);
			return 1;
		default:
			return err_set(err, ERR_USAGE,
				       "%s: unknown option, or no value (see --help)",
				       argv[optind - 1]);
		}
	}
	if (optind < argc)
		return err_set(err, ERR_USAGE, "%s: unexpected argument (see --help)",
			       argv[optind]);
	if (!o->spool || !o->server || !o->out)
		return err_set(err, ERR_USAGE,
			       "--spool, --server and --out are needed (see --help)");
	return 0;
}

static int call_service(void *ctx, const Rawstack__V1__StackBatch *request, uint32_t timeout_ms,
			Rawstack__V1__SymbolizedBatch **ret, struct err *err)
{
	ProtobufCMessage *reply = NULL;
	int rc = rpc_client_call(ctx, "/rawstack.v1.Symbolizer/Symbolize", &request->base,
				 &rawstack__v1__symbolized_batch__descriptor, timeout_ms, &reply,
				 err);

	if (rc)
		return rc;
	*ret = (Rawstack__V1__SymbolizedBatch *)reply;
	return 0;
}

/* What was said last. Only a change is worth a line. */
struct state {
	bool waiting;
	int code;
};

static void say_waiting(struct state *state, const struct err *err)
{
	if (!state->waiting || state->code != err->code)
		log_info("waiting: %s", err->message);
	*state = (struct state){true, err->code};
}

static void say_shipping(struct state *state, const char *server)
{
	if (state->waiting)
		log_info("shipping to %s again", server);
	*state = (struct state){0};
}

/* Sleeps until a signal comes. Signals are blocked elsewhere, in the threads of gRPC for good: so
 * none gets lost between a look at `stopping` and the sleep. */
static void pause_ms(uint32_t ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
	sigset_t none;

	sigemptyset(&none);
	ppoll(NULL, 0, &time, &none);
}

static uint64_t now_ms(void)
{
	const struct io *io = io_system();

	return io->mono_ns(io->ctx) / NS_PER_MS;
}

/* Until a signal comes. */
static void ship_on(struct shipper *s, const struct ship_options *o)
{
	const struct io *io = io_system();
	struct state state = {0};
	unsigned int failures = 0;
	uint32_t random;

	while (!stopping) {
		struct err err = {0};
		int rc = shipper_step(s, &err);

		if (rc < 0) {
			say_waiting(&state, &err);
			io->random(io->ctx, &random, sizeof(random));
			pause_ms(ship_back_off_ms(++failures, random));
			continue;
		}
		if (rc > 0 || failures) {
			say_shipping(&state, o->server);
			failures = 0;
		}
		pause_ms(rc ? 0 : POLL_MS);
	}
}

/* Ships what is there now. A failure is tried again until STOP_MS are over; when asked to stop,
 * success has no more time either. */
static int drain(struct shipper *s, struct err *err)
{
	uint64_t until = now_ms() + STOP_MS, left;
	int rc;

	shipper_set_timeout(s, STOP_CALL_MS);
	while ((rc = shipper_step(s, err)) != 0) {
		if (rc < 0 && now_ms() + BACK_OFF_FIRST_MS + STOP_CALL_MS >= until)
			break;
		if (rc > 0 && stopping && now_ms() >= until)
			break;
		pause_ms(rc < 0 ? BACK_OFF_FIRST_MS : 0);
	}
	if (!rc || shipper_backlog(s, &left, NULL) || (rc > 0 && !left))
		return rc < 0 ? rc : 0;
	if (rc > 0)
		return err_set(err, ERR_UNAVAILABLE,
			       "no more time: %" PRIu64 " samples stay in the spool", left);
	return err_prefix(err, "%" PRIu64 " samples stay in the spool", left);
}

static int run(const struct ship_options *o, struct err *err)
{
	_cleanup_(rpc_client_closep) struct rpc_client *client = NULL;
	_cleanup_(sink_closep) struct sink *sink = NULL;
	_cleanup_(shipper_closep) struct shipper *s = NULL;
	int rc = sink_open(&sink, o->out, NULL, err);

	if (!rc)
		rc = rpc_client_open(&client, o->server, err);
	if (!rc)
		rc = shipper_open(&s,
				  &(struct shipper_options){
					  .spool = o->spool,
					  .sink = sink,
					  .call = call_service,
					  .call_ctx = client,
				  },
				  err);
	if (rc)
		return rc;
	if (!o->once)
		ship_on(s, o);
	rc = drain(s, err);
	if (!rc)
		log_info("%" PRIu64 " samples delivered to %s", shipper_delivered(s), o->out);
	return rc;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct ship_options o = {0};
	struct err err = {0};
	sigset_t blocked;
	int rc;

	log_init("rawstack-ship");
	rc = parse(argc, argv, &o, &err);
	if (rc > 0)
		return 0;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGINT);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (!rc)
		rc = run(&o, &err);
	if (!rc)
		return 0;
	log_error("%s", err.message);
	return err_exit_status(rc);
}
