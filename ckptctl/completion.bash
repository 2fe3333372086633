# SPDX-License-Identifier: GPL-2.0-only
# bash completion of ckptctl; installed as ckptctl.

# Numbers of jobs, and with "all" also of those that do not run.
_ckptctl_jobs()
{
	local opts=()

	[ "$1" = all ] && opts=(--all)
	ckptctl ps "${opts[@]}" 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_ckptctl_generations()
{
	ckptctl list 2>/dev/null | awk 'NR > 1 { print $1 ":" $4 }'
}

_ckptctl_options()
{
	case $1 in
	run) echo --name --detach --host-ns --stdin --stdout --stderr --tty --chdir --dry-run ;;
	ps) echo --all ;;
	checkpoint) echo --kill --dry-run --stop-and-copy --max-pause --files ;;
	restart) echo --generation --attach --dry-run --accept-changed --node-lost --files ;;
	rm) echo --force --dry-run ;;
	attach) echo --history --input ;;
	doctor) echo --pid ;;
	show) echo --records --runs ;;
	verify) echo --deep ;;
	dump) echo --pid --dir --kill --leave-running --dry-run --stop-and-copy --files \
		--max-pause --freeze-timeout --external ;;
	restore) echo --dir --detach --dry-run --pidns --files --accept-changed --external ;;
	esac
	echo --json --socket --standalone --key --help
}

_ckptctl()
{
	local cur prev words cword verb='' i
	local verbs='run ps checkpoint restart list rm attach wait kill doctor
		show verify diff dump restore'

	_init_completion -n : || return
	for ((i = 1; i < cword; i++)); do
		case ${words[i]} in
		--socket|--key) ((i++)) ;;
		-*) ;;
		*) verb=${words[i]}; break ;;
		esac
	done
	case $prev in
	--files) mapfile -t COMPREPLY < <(compgen -W 'track carry ignore' -- "$cur"); return ;;
	--pidns) mapfile -t COMPREPLY < <(compgen -W 'auto caller new' -- "$cur"); return ;;
	--dir|-d|--chdir|-C) _filedir -d; return ;;
	--stdin|--stdout|--stderr|-i|-o|-e|--socket|--key) _filedir; return ;;
	--pid|-p) _pids; return ;;
	--name|-N|--max-pause|--freeze-timeout|--history|-H|--generation|-g|--external) return ;;
	esac
	if [ -z "$verb" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$verbs --json --socket --standalone
			--key --help --version" -- "$cur")
		return
	fi
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_ckptctl_options "$verb")" -- "$cur")
		return
	fi
	case $verb in
	run) _command_offset "$i" ;;
	checkpoint|attach|doctor)
		mapfile -t COMPREPLY < <(compgen -W "$(_ckptctl_jobs)" -- "$cur") ;;
	wait|list)
		mapfile -t COMPREPLY < <(compgen -W "$(_ckptctl_jobs all)" -- "$cur") ;;
	kill)
		if [ $((cword - i)) -eq 1 ]; then
			mapfile -t COMPREPLY < <(compgen -W "$(_ckptctl_jobs)" -- "$cur")
		else
			_signals
		fi ;;
	restart|rm)
		mapfile -t COMPREPLY < <(compgen -W "$(_ckptctl_jobs all) $(_ckptctl_generations)" \
			-- "$cur")
		__ltrim_colon_completions "$cur" ;;
	show|verify|diff)
		_filedir -d
		mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$(_ckptctl_generations)" \
			-- "$cur")
		__ltrim_colon_completions "$cur" ;;
	esac
} && complete -F _ckptctl ckptctl
