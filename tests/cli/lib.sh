# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests beside it. Each check prints what it saw when it fails.
set -u
failures=0 skipped=

fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# holds FILE TEXT: the file has a line with this text
holds() {
	grep -qF -- "$2" "$1" || { fail "$1 does not hold: $2"; sed 's/^/  | /' "$1" | head -n 40; }
}

lacks() {
	if grep -qF -- "$2" "$1"; then fail "$1 holds: $2"; fi
}

# refuses STATUS TEXT COMMAND...: exits so, says one line on stderr with TEXT in it, and nothing on stdout
refuses() {
	local want=$1 text=$2 status=0
	shift 2
	"$@" >refused.out 2>refused.err || status=$?
	[ "$status" = "$want" ] || fail "$*: exit status $status, not $want: $(cat refused.err)"
	[ "$(wc -l <refused.err)" = 1 ] || fail "$*: not one line: $(cat refused.err)"
	[ -s refused.out ] && fail "$*: prints on stdout"
	holds refused.err "$text"
}

# until_ COMMAND...: waits until it succeeds; what never does ends at the time limit of the test
until_() {
	until "$@" >/dev/null 2>&1; do sleep 0.1; done
}

# start_service [ARGUMENT...]: one with its data in ./data; sets $service and $server
start_service() {
	rm -f port
	"$RAWSTACK_BIN/rawstack-symbolizer" --data data --port-file port "$@" 2>>service.err &
	service=$!
	until [ -s port ]; do
		kill -0 "$service" 2>/dev/null || { fail "the service does not start: $(cat service.err)"; finish; }
		sleep 0.1
	done
	server=127.0.0.1:$(cat port)
}

# untried REASON: a part that this machine cannot run. The rest runs, and the test ends as skipped.
untried() {
	skipped=${skipped:-$*}
	echo "not tried: $*"
}

finish() {
	[ "$failures" = 0 ] || { echo "$failures failures"; exit 1; }
	[ -z "$skipped" ] || { echo "SKIP: $skipped"; exit 77; }
	echo "ok"
	exit 0
}
