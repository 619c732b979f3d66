/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_failure.h"

#include <string.h>

#include "rpc_codec.h"

/* gRPC puts this text first when there is no connection; a server's own text does not begin so. */
static const char no_connection[] = "failed to connect to all addresses";

/* gRPC's words for a connection that took longer than RPC_CONNECT_MS: at connect(2), during TLS,
 * and while waiting for the first frame of HTTP/2. */
static const char *const timed_out[] = {"connect() timed out", "tcp handshaker shutdown",
					"andshake timed out", "Handshake read failed",
					"timed out before receiving SETTINGS frame"};

/* gRPC's words for a connection that breaks under a call. */
static const char *const broken[] = {"Socket closed",    "Connection reset by peer",
				     "Broken pipe",      "Connection timed out",
				     "Stream removed",   "Endpoint read failed",
				     "Transport closed", "keepalive watchdog timeout",
				     "GOAWAY",           "tcp handshaker shutdown"};

static bool holds_one_of(const char *text, const char *const *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(text, parts[i]))
			return true;
	return false;
}

/* Finds the reason in gRPC's text, which repeats the address twice and the lack of a connection
 * three times. */
static const char *why_away(const char *text)
{
	static const char said[] = "Failed to connect to remote host: ";
	const char *at = strstr(text, said);

	if (at)
		return at + sizeof(said) - 1;
	if (holds_one_of(text, timed_out, ARRAY_LEN(timed_out)))
		return "no answer in time, as behind a firewall or from a host that is held up";
	return NULL;
}

/* Explains why there is no connection. */
static int explain_unconnected(const struct rpc_failure *f, enum rpc_reach *ret, struct err *err)
{
	const char *why = strstr(f->text, RPC_FAILURE_REFUSED);
	const char *last = strrchr(f->text, ':');

	*ret = RPC_UNCONNECTED;
	if (why)
		return err_set(err, ERR_DENIED, "%s: %s", f->target,
			       why + sizeof(RPC_FAILURE_REFUSED) - 1);
	if (strstr(f->text, "wrong version number"))
		return err_set(err, ERR_UNAVAILABLE, "%s: does not speak TLS (without --ca FILE?)",
			       f->target);
	if (strstr(f->text, "Socket closed"))
		return err_set(err, ERR_UNAVAILABLE, "%s: ends the connection (%s?)", f->target,
			       f->has_tls ? "does it ask for another certificate: --cert, --key"
					  : "does it speak TLS: --ca FILE");
	if (strstr(f->text, "http1.x") || strstr(f->text, "Failed parsing HTTP/2"))
		return err_set(err, ERR_UNAVAILABLE,
			       "%s: something else than the service answers there (another port?)",
			       f->target);
	*ret = RPC_UNREACHABLE;
	why = why_away(f->text);
	if (!why)
		why = last && last[1] ? last + 1 + (last[1] == ' ') : f->text;
	return err_set(err, ERR_UNAVAILABLE, "%s: cannot connect: %s", f->target, why);
}

/* Finds the reason of a resolver, which is the last part of gRPC's text. When RESOLVE_MS have
 * passed, the resolver says that its query was cancelled. */
static const char *why_no_address(const char *text)
{
	static const char said[] = "DNS resolution failed";
	const char *last = strrchr(text, ':');

	if (strncmp(text, said, sizeof(said) - 1) != 0)
		return NULL;
	if (!last || last[1] != ' ')
		return "no reason is known";
	return strcmp(last + 2, "DNS query cancelled") ? last + 2 : "no name server answers";
}

int rpc_failure_explain(const struct rpc_failure *f, enum rpc_reach *ret, struct err *err)
{
	const char *why = why_no_address(f->text);

	*ret = RPC_CUT;
	if (f->status == GRPC_STATUS_DEADLINE_EXCEEDED)
		return err_set(err, ERR_UNAVAILABLE, "%s: no answer in time", f->target);
	if (strncmp(f->text, no_connection, sizeof(no_connection) - 1) == 0)
		return explain_unconnected(f, ret, err);
	if (why) {
		*ret = RPC_UNRESOLVED;
		return err_set(err, ERR_UNAVAILABLE, "%s: cannot resolve %.*s: %s", f->target,
			       (int)(strrchr(f->target, ':') - f->target), f->target, why);
	}
	if (!f->is_told &&
	    (f->status == GRPC_STATUS_UNAVAILABLE || f->status == GRPC_STATUS_UNKNOWN) &&
	    holds_one_of(f->text, broken, ARRAY_LEN(broken)))
		return err_set(err, ERR_UNAVAILABLE,
			       "%s: the connection broke before the answer came; try again",
			       f->target);
	*ret = RPC_ANSWERED;
	return err_set(err, rpc_code_of_status(f->status), "%s: %s", f->target,
		       f->text[0] ? f->text : "failed without a reason");
}
