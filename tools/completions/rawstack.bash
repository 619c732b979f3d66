# SPDX-License-Identifier: Apache-2.0
# Completion of `rawstack` for bash. The program itself says what may stand for a word: the tables that it
# reads its options by say it, so the two cannot disagree.

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

complete -F _rawstack rawstack
