# SPDX-License-Identifier: Apache-2.0
# Completion of Rawstack's programs for bash. The program says what may stand for a word: its answer comes from
# the tables by which it reads its options, so the two cannot disagree.

_rawstack() {
	local line
	COMPREPLY=()
	while IFS= read -r line; do
		if [ "$line" = :files ]; then
			compopt -o filenames 2>/dev/null
			mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
		else
			COMPREPLY+=("${line%%$'\t'*}")
		fi
	done < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}

complete -F _rawstack rawstack rawstack-gsym-build rawstack-sampler rawstack-ship rawstack-symbolizer
