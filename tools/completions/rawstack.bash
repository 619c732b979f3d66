# SPDX-License-Identifier: Apache-2.0
# Completion of `rawstack` for bash. Commands and options are read from --help, so that they are those of
# the program that is installed.

_rawstack_words() {
	"$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z0-9-]*\)  .*/\1/p'
}

_rawstack_options() {
	# "  -n N, --rows N   what it does": the words before the gap
	"$1" "$2" --help 2>/dev/null | sed -n 's/^  \(-[^ ].*\)/\1/p' | sed 's/   *[^ -].*//' |
		grep -oE '(^|[ ,])--?[A-Za-z][A-Za-z0-9-]*' | sed 's/^[ ,]//' | sort -u
}

_rawstack() {
	local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]-} current=${COMP_WORDS[COMP_CWORD]} previous=
	[ "$COMP_CWORD" -gt 0 ] && previous=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_rawstack_words "$program") --help --version" -- "$current")
		return
	fi
	if [ "$COMP_CWORD" = 2 ] && [ "$command" = admin ] && [[ $current != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "backup compact verify" -- "$current")
		return
	fi
	case $previous in
	--to)
		mapfile -t COMPREPLY < <(compgen -W "pprof folded speedscope firefox perf-script json otlp" -- "$current")
		return ;;
	--output-style)
		mapfile -t COMPREPLY < <(compgen -W "text json llvm gnu" -- "$current")
		return ;;
	--hyperlinks)
		mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$current")
		return ;;
	--demangle)
		mapfile -t COMPREPLY < <(compgen -W "none short full" -- "$current")
		return ;;
	--group-by)
		mapfile -t COMPREPLY < <(compgen -W "function file line module label:" -- "$current")
		return ;;
	--schema)
		mapfile -t COMPREPLY < <(compgen -W "copies locks tax" -- "$current"; compgen -f -- "$current")
		return ;;
	--value)
		mapfile -t COMPREPLY < <(compgen -W "samples cpu" -- "$current")
		return ;;
	--pid)
		mapfile -t COMPREPLY < <(cd /proc && compgen -W "$(echo [0-9]*)" -- "$current")
		return ;;
	esac
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_rawstack_options "$program" "$command")" -- "$current")
	else
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
	fi
}

complete -F _rawstack rawstack
