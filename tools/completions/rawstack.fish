# SPDX-License-Identifier: Apache-2.0
# Completion of Rawstack's programs for fish: the program says what may stand for a word (see rawstack.bash).

function __rawstack_complete
	set -l words (commandline -opc)
	set -l program $words[1]
	set -l begun (commandline -ct)
	set -e words[1]
	for line in ($program --complete $words "$begun" 2>/dev/null)
		if test "$line" = :files
			__fish_complete_path "$begun"
		else
			printf '%s\n' $line
		end
	end
end

for program in rawstack rawstack-gsym-build rawstack-sampler rawstack-ship rawstack-symbolizer
	complete -c $program -f -a '(__rawstack_complete)'
end
