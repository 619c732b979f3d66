# SPDX-License-Identifier: Apache-2.0
# Completion of `rawstack` for fish. Commands and options are read from --help, so that they are those of
# the program that is installed.

function __rawstack_commands
	set -l program (commandline -opc)[1]
	$program --help 2>/dev/null | string replace -rf '^  ([a-z][a-z0-9-]*) +(.*)' '$1\t$2'
	printf '%s\n' --help --version
end

function __rawstack_arguments
	set -l before (commandline -opc)
	if test (count $before) = 2 -a "$before[2]" = admin; and not string match -q -- '-*' (commandline -ct)
		printf '%s\n' backup compact verify
		return
	end
	switch $before[-1]
		case --to
			printf '%s\n' pprof folded speedscope firefox perf-script json otlp
		case --output-style
			printf '%s\n' text json llvm gnu
		case --hyperlinks
			printf '%s\n' auto always never
		case --demangle
			printf '%s\n' none short full
		case --group-by
			printf '%s\n' function file line module label:
		case --schema
			printf '%s\n' copies locks tax
			__fish_complete_path (commandline -ct)
		case --value
			printf '%s\n' samples cpu
		case --pid
			string match -r '[0-9]+$' /proc/*
		case '*'
			if string match -q -- '-*' (commandline -ct)
				# "  -n N, --rows N   what it does": the words before the gap
				$before[1] $before[2] --help 2>/dev/null | string match -r '^  -[^ ].*' |
					string replace -r '   *[^ -].*' '' | string match -ra -- '(?<![^ ,])--?[A-Za-z][A-Za-z0-9-]*' | sort -u
			else
				__fish_complete_path (commandline -ct)
			end
	end
end

complete -c rawstack -f
complete -c rawstack -n 'test (count (commandline -opc)) = 1' -a '(__rawstack_commands)'
complete -c rawstack -n 'test (count (commandline -opc)) -gt 1' -a '(__rawstack_arguments)'
