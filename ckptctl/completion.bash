# SPDX-License-Identifier: GPL-2.0-only
# bash completion of ckptctl and ckptrun; installed as either.
#
# Verbs and options come from --help, so that they cannot differ from what the
# program takes; jobs and generations from the daemon, without waiting long for it.
# Uses the bash-completion package where it is loaded, and works without.

_ckptctl_options()
{
	{
		"$1" ${2:+"$2"} --help 2>/dev/null </dev/null
		echo ' --help'
	} | grep -oE -- '(^|[ [,|(])--[a-z][a-z-]*' | grep -oE -- '--.*' | awk '!seen[$0]++'
}

_ckptctl_verbs()
{
	"$1" --help 2>/dev/null </dev/null |
		sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'
}

# Jobs, of all nodes with a second argument.
_ckptctl_jobs()
{
	timeout 2 "$1" ps --json ${2:+--all} 2>/dev/null </dev/null |
		sed -n 's/^ *"job": *\([0-9][0-9]*\),*$/\1/p'
}

_ckptctl_generations()
{
	timeout 2 "$1" list 2>/dev/null </dev/null | awk 'NR > 1 { print $1 ":" $4 }'
}

# Nodes of the hosts file, behind those that the word has already.
_ckptctl_nodes()
{
	local before=''

	[[ $cur == *,* ]] && before=${cur%,*},
	timeout 2 "$1" nodes 2>/dev/null </dev/null |
		awk -v before="$before" 'NR > 1 && index("," before, "," $1 ",") == 0 { print before $1 }'
}

# The verb among the words before the cursor, and where it stands.
_ckptctl_find_verb()
{
	local i

	verb='' at=0
	for ((i = 1; i < cword; i++)); do
		case ${words[i]} in
		--socket | --key | --encryption-key)
			((i++)) ;;
		-*) ;;
		*)
			verb=${words[i]} at=$i
			return ;;
		esac
	done
}

_ckptctl_reply()
{
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# Words with a colon, at which readline may have cut.
_ckptctl_reply_colon()
{
	mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$1" -- "$cur")
	if declare -F __ltrim_colon_completions >/dev/null; then
		__ltrim_colon_completions "$cur"
	fi
}

_ckptctl_reply_files()
{
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}

# The value of the option before the cursor, for the program $2; false if it has none.
_ckptctl_value()
{
	case $1 in
	--dir | --chdir)
		_ckptctl_reply_files -d ;;
	-d)
		[[ $verb == dump || $verb == restore || $verb == keygen ]] || return 1
		_ckptctl_reply_files -d ;;
	-a)
		[[ $verb == keygen ]] || return 1
		COMPREPLY=() ;;
	-l)
		[[ $verb == copy ]] || return 1
		COMPREPLY=() ;;
	-C | --base)
		_ckptctl_reply_files -d ;;
	--socket | --key | --encryption-key | --stdin | --stdout | --stderr)
		_ckptctl_reply_files -f ;;
	-i | -e)
		[[ $verb == run ]] || return 1
		_ckptctl_reply_files -f ;;
	--files)
		_ckptctl_reply 'track carry ignore' ;;
	--pidns)
		_ckptctl_reply 'auto caller new' ;;
	--mpi)
		[[ $verb == ps ]] || return 1
		_ckptctl_reply "$(_ckptctl_jobs "$2")" ;;
	--nodes | --owner)
		_ckptctl_reply "$(_ckptctl_nodes "$2")" ;;
	-o)
		case $verb in
		run)
			_ckptctl_reply_files -f ;;
		copy | store)
			_ckptctl_reply "$(_ckptctl_nodes "$2")" ;;
		*)
			return 1 ;;
		esac ;;
	--to | --from)
		_ckptctl_reply_colon "$(_ckptctl_nodes "$2" | sed 's/^/node:/')" ;;
	-t | -f)
		[[ $verb == copy ]] || return 1
		_ckptctl_reply_colon "$(_ckptctl_nodes "$2" | sed 's/^/node:/')" ;;
	--pid | -p)
		_ckptctl_reply "$(ps -eo pid= 2>/dev/null)" ;;
	--name | -N | --node | --map | --address | --generation | -g | --keep | --keep-every | --max-size | --max-pause | --timeout | --freeze-timeout | --history | -H | --limit | --external | \
	--exclude-range | --exclude-fd | --exclude-thread | \
	--every | --mtbf | --node-mtbf | --slowdown | --level)
		COMPREPLY=() ;;
	*)
		return 1 ;;
	esac
}

_ckptctl_operand()
{
	case $verb in
	checkpoint | doctor | attach)
		_ckptctl_reply "$(_ckptctl_jobs "$1")" ;;
	kill)
		if ((cword == at + 1)); then
			_ckptctl_reply "$(_ckptctl_jobs "$1")"
		else
			_ckptctl_reply "$(compgen -A signal SIG)"
		fi ;;
	auto)
		if ((cword == at + 1)); then
			_ckptctl_reply "$(_ckptctl_jobs "$1" all)"
		else
			_ckptctl_reply 'on off'
		fi ;;
	list | wait | prune | fsck | interval | stats)
		_ckptctl_reply "$(_ckptctl_jobs "$1" all)" ;;
	restart | rm | pin | unpin | merge)
		_ckptctl_reply_colon "$(_ckptctl_jobs "$1" all; _ckptctl_generations "$1")" ;;
	copy)
		_ckptctl_reply_files -d ;;
	store)
		if ((cword == at + 2)); then
			_ckptctl_reply 'list space verify rm'
		fi ;;
	show | verify | diff)
		_ckptctl_reply_files -d
		_ckptctl_reply_colon "$(_ckptctl_generations "$1")" ;;
	run)
		mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
	esac
}

_ckptctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
	local verb at i

	COMPREPLY=()
	if declare -F _init_completion >/dev/null; then
		_init_completion -n : || return
	fi
	_ckptctl_find_verb
	# what follows -- is the job's command line
	if [[ $verb == run ]]; then
		for ((i = at + 1; i < cword; i++)); do
			[[ ${words[i]} == -- ]] || continue
			if ((i + 1 == cword)); then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			else
				_ckptctl_reply_files -f
			fi
			return
		done
	fi
	_ckptctl_value "$prev" "$1" && return
	if [[ $cur == -* ]]; then
		_ckptctl_reply "$(_ckptctl_options "$1" "$verb")"
	elif [[ -z $verb ]]; then
		_ckptctl_reply "$(_ckptctl_verbs "$1")"
	else
		_ckptctl_operand "$1"
	fi
}

_ckptrun()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local verb='' i

	COMPREPLY=()
	if declare -F _init_completion >/dev/null; then
		_init_completion -n : || return
	fi
	# what follows the program is its own: the first word that is no option or its value
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-n | --ranks | --mpi | --hosts | --map | -N | --name | -i | --stdin | -o | --stdout | -e | --stderr | -C | --chdir | --socket | \
		--every | --mtbf | --node-mtbf | --collectives)
			((i++)) ;;
		--)
			((i + 1 == COMP_CWORD)) && break
			_ckptctl_reply_files -f
			return ;;
		-*) ;;
		*)
			_ckptctl_reply_files -f
			return ;;
		esac
	done
	case $prev in
	--collectives)
		_ckptctl_reply 'plain interruptible'
		return ;;
	--mpi)
		_ckptctl_reply 'mpich ompi none'
		return ;;
	--hosts)
		_ckptctl_reply "$(_ckptctl_nodes ckptctl)"
		return ;;
	-n | --ranks | -N | --name | --map | --every | --mtbf | --node-mtbf)
		return ;;
	-C | --chdir)
		_ckptctl_reply_files -d
		return ;;
	-i | --stdin | -o | --stdout | -e | --stderr | --socket)
		_ckptctl_reply_files -f
		return ;;
	esac
	if [[ $cur == -* ]]; then
		_ckptctl_reply "$(_ckptctl_options "$1" '')"
	else
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	fi
}

complete -F _ckptctl ckptctl
complete -F _ckptrun ckptrun
