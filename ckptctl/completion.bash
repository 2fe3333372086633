# SPDX-License-Identifier: GPL-2.0-only
# bash completion of ckptctl, ckptrun, ckptweb, ckpt-batch, ckpt-slurm-run, ckpt-slurm-drain and
# ckpt-slurm-move; installed as each.
#
# Verbs and options come from --help, so that they cannot differ from what the
# program takes; jobs and generations from the daemon, without waiting long for it.
# Needs nothing of the bash-completion package.

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

# By the depth of the fields: names may be anything.
_ckptctl_generations()
{
	timeout 2 "$1" list --json 2>/dev/null </dev/null | awk '
		/^        "job": [0-9]/ { job = $2 + 0 }
		/^            "generation": [0-9]/ { generation[n++] = $2 + 0 }
		/^      }/ { for (i = 0; i < n; i++) print job ":" generation[i]; n = 0 }'
}

# Nodes of the hosts file, behind those that the word has already.
_ckptctl_nodes()
{
	local before=''

	[[ $cur == *,* ]] && before=${cur%,*},
	timeout 2 "$1" nodes 2>/dev/null </dev/null |
		awk -v before="$before" 'NR > 1 && index("," before, "," $1 ",") == 0 { print before $1 }'
}

# Levels of this node.
_ckptctl_levels()
{
	timeout 2 "$1" dev list --interval 100ms --json 2>/dev/null </dev/null |
		grep -o '"level": *"[^"]*"' | cut -d '"' -f 4
}

# The words up to the cursor, as the program would get them: readline cuts at = and :, too.
_ckptctl_words()
{
	local line=${COMP_LINE-} rest word before='' i

	words=()
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		rest=${line#"${line%%[![:blank:]]*}"}
		if [[ -n ${COMP_LINE-} && $rest == "$line" && ($word == [=:]* || $before == *[=:]) ]] && ((i)); then
			words[-1]+=$word
		else
			words+=("$word")
		fi
		line=${rest#"$word"} before=$word
	done
	cword=$((${#words[@]} - 1)) cur=${words[-1]} prev=${words[-2]} option=''
	if [[ $cur == --*=* ]]; then
		option=${cur%%=*}= prev=${cur%%=*} cur=${cur#*=}
	fi
}

# Of what is offered readline puts in only what is behind the last of its cuts.
_ckptctl_cut()
{
	local before=''

	[[ $COMP_WORDBREAKS == *:* && $cur == *:* ]] && before=${cur%"${cur##*:}"}
	if [[ -n $before ]]; then
		COMPREPLY=("${COMPREPLY[@]#"$before"}")
	elif [[ -n $option && $COMP_WORDBREAKS != *=* ]]; then
		COMPREPLY=("${COMPREPLY[@]/#/$option}")
	fi
}

# The command of a job begins at the word $1 or behind its options, which $2 knows: completes what is of it; or false.
_ckptctl_command()
{
	local i

	for ((i = $1; i < cword; i++)); do
		case ${words[i]} in
		--)
			if ((i + 1 == cword)); then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			else
				_ckptctl_reply_files -f
			fi
			return 0 ;;
		-*=*) ;;
		-*)
			"$2" "${words[i]}" false && ((i++)) ;;
		*)
			_ckptctl_reply_files -f
			return 0 ;;
		esac
	done
	COMPREPLY=()
	return 1
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
	--map-path)
		cur=${cur##*=}
		_ckptctl_reply_files -f ;;
	-C | --base)
		_ckptctl_reply_files -d ;;
	--socket | --key | --encryption-key | --stdin | --stdout | --stderr | --private | --unix)
		_ckptctl_reply_files -f ;;
	--user)
		_ckptctl_reply "$(compgen -u -- "$cur")" ;;
	-i | -e)
		if [[ $verb == keys ]]; then
			_ckptctl_reply_files -d
			return
		fi
		[[ $verb == run ]] || return 1
		_ckptctl_reply_files -f ;;
	--files)
		_ckptctl_reply 'keep track carry ignore' ;;
	--pidns)
		_ckptctl_reply 'auto caller new' ;;
	--mpi)
		[[ $verb == ps ]] || return 1
		_ckptctl_reply "$(_ckptctl_jobs "$2")" ;;
	-N | --node)
		[[ $verb == keys ]] && _ckptctl_reply "$(_ckptctl_nodes "$2")" || COMPREPLY=() ;;
	--image)
		_ckptctl_reply_files -d ;;
	-s)
		[[ $verb == keys ]] || return 1
		_ckptctl_reply_files -f ;;
	--secret)
		_ckptctl_reply_files -f ;;
	--nodes | --lost-nodes | --owner | --lost)
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
		_ckptctl_reply "$(_ckptctl_nodes "$2" | sed 's/^/node:/')" ;;
	-t | -f)
		[[ $verb == copy ]] || return 1
		_ckptctl_reply "$(_ckptctl_nodes "$2" | sed 's/^/node:/')" ;;
	--pid | -p)
		_ckptctl_reply "$(ps -eo pid= 2>/dev/null)" ;;
	--name | --map | --env | --address | --generation | -g | --keep | --keep-every | --max-size | --max-pause | --timeout | --scrub-every | --replicas | --freeze-timeout | --history | -H | --limit | --external | \
	--exclude-range | --exclude-fd | --exclude-thread | \
	--every | --mtbf | --node-mtbf | --slowdown | --level | --max-recoveries | --samples | \
	--interval | --patience | --grace | --rank | --last | --before | --port | --since)
		COMPREPLY=() ;;
	--scrub)
		_ckptctl_reply 'off report stop repair' ;;
	--sockets)
		_ckptctl_reply 'refuse close reset' ;;
	--recover)
		_ckptctl_reply 'auto off' ;;
	--out)
		COMPREPLY=() ;;
	--format)
		_ckptctl_reply 'tree folded dot' ;;
	*)
		return 1 ;;
	esac
}

_ckptctl_operand()
{
	case $verb in
	checkpoint | doctor | attach | replicate | vote)
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
	diag)
		if ((cword == at + 1)); then
			_ckptctl_reply 'run stacks colls show diff incidents bundle'
		else
			_ckptctl_reply "$(_ckptctl_jobs "$1"; _ckptctl_generations "$1")"
		fi ;;
	io)
		if ((cword == at + 1)); then
			_ckptctl_reply 'report anomalies top watch'
		elif ((cword == at + 2)) && [[ ${words[at + 1]} != top ]]; then
			_ckptctl_reply "$(_ckptctl_jobs "$1" all)"
		elif ((cword == at + 3)) && [[ ${words[at + 1]} == watch ]]; then
			_ckptctl_reply 'on off'
		fi ;;
	dev)
		if ((cword == at + 1)); then
			_ckptctl_reply 'list replay forget'
		elif ((cword == at + 2)) && [[ ${words[at + 1]} =~ ^(replay|forget)$ ]]; then
			_ckptctl_reply "$(_ckptctl_levels "$1")"
		fi ;;
	list | wait | prune | fsck | interval | stats | recover)
		_ckptctl_reply "$(_ckptctl_jobs "$1" all)" ;;
	restart | rollback | rm | pin | unpin | merge)
		_ckptctl_reply "$(_ckptctl_jobs "$1" all; _ckptctl_generations "$1")" ;;
	copy)
		_ckptctl_reply_files -d ;;
	keys)
		if ((cword == at + 1)); then
			_ckptctl_reply 'list wrap take remove recover'
		else
			_ckptctl_reply "$(_ckptctl_jobs "$1" all)"
		fi ;;
	store)
		if ((cword == at + 2)); then
			_ckptctl_reply 'list space verify rm'
		fi ;;
	show | verify | diff)
		_ckptctl_reply_files -d
		mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$(_ckptctl_generations "$1")" -- "$cur") ;;
	run | resume)
		mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
	esac
}

_ckptctl()
{
	local words cword cur prev option verb at

	COMPREPLY=()
	_ckptctl_words
	_ckptctl_find_verb
	if [[ $prev == *[\<\>]* ]]; then
		_ckptctl_reply_files -f
		return
	fi
	[[ $verb == run || $verb == resume ]] && _ckptctl_command $((at + 1)) _ckptctl_value && return
	if _ckptctl_value "$prev" "$1"; then
		:
	elif [[ $cur == -* ]]; then
		_ckptctl_reply "$(_ckptctl_options "$1" "$verb")"
	elif [[ -z $verb ]]; then
		_ckptctl_reply "$(_ckptctl_verbs "$1")"
	else
		_ckptctl_operand "$1"
	fi
	_ckptctl_cut
}

# As _ckptctl_value, of ckptrun.
_ckptrun_value()
{
	case $1 in
	--collectives)
		_ckptctl_reply 'plain interruptible' ;;
	--bind-to)
		_ckptctl_reply 'none hwthread core l1cache l2cache l3cache numa socket' ;;
	--map-by)
		_ckptctl_reply 'slot node hwthread core l1cache l2cache l3cache numa socket' ;;
	--hostfile)
		_ckptctl_reply_files ;;
	--mpi)
		_ckptctl_reply 'mpich ompi none' ;;
	--hosts)
		_ckptctl_reply "$(_ckptctl_nodes "$2")" ;;
	-n | --ranks | --ppn | -N | --name | --map | --every | --mtbf | --node-mtbf | \
	--keep | --max-recoveries | --spares | --replicas)
		COMPREPLY=() ;;
	--recover)
		_ckptctl_reply 'auto oversubscribe off' ;;
	-C | --chdir)
		_ckptctl_reply_files -d ;;
	-i | --stdin | -o | --stdout | -e | --stderr | --socket | --private)
		_ckptctl_reply_files -f ;;
	*)
		return 1 ;;
	esac
}

_ckpt-slurm-run_value()
{
	case $1 in
	--step | --margin | --look | --requeues)
		COMPREPLY=() ;;
	--hook | --script)
		_ckptctl_reply_files -f ;;
	*)
		return 1 ;;
	esac
}

# Of the program $1, which starts a command; $2 knows the values of its options.
_ckptctl_launcher()
{
	local words cword cur prev option

	COMPREPLY=()
	_ckptctl_words
	if [[ $prev == *[\<\>]* ]]; then
		_ckptctl_reply_files -f
		return
	fi
	_ckptctl_command 1 "$2" && return
	if "$2" "$prev" ckptctl; then
		:
	elif [[ $cur == -* ]]; then
		_ckptctl_reply "$(_ckptctl_options "$1" '')"
	else
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	fi
	_ckptctl_cut
}

_ckptrun()
{
	_ckptctl_launcher "$1" _ckptrun_value
}

_ckpt-slurm-run()
{
	_ckptctl_launcher "$1" _ckpt-slurm-run_value
}

_ckpt-batch()
{
	local words='save resume status clean --help --version'

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$2")
	elif [[ ${COMP_WORDS[1]} == status && $2 == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W --json -- "$2")
	elif [[ ${COMP_WORDS[1]} == resume ]] && ((COMP_CWORD > 2)); then
		mapfile -t COMPREPLY < <(compgen -c -- "$2")
	fi
}

_ckpt-slurm-drain()
{
	local words cword cur prev option

	COMPREPLY=()
	_ckptctl_words
	if [[ $prev == --reason || $prev == -r ]]; then
		:
	elif [[ $cur == -* ]]; then
		_ckptctl_reply "$(_ckptctl_options "$1" '')"
	else
		_ckptctl_reply "$(sinfo -h -N -o %N 2>/dev/null | sort -u)"
	fi
	_ckptctl_cut
}

_ckpt-slurm-move()
{
	local words cword cur prev option

	COMPREPLY=()
	_ckptctl_words
	if [[ $prev == --wait || $prev == -w ]]; then
		:
	elif [[ $cur == -* ]]; then
		_ckptctl_reply "$(_ckptctl_options "$1" '')"
	elif [[ $prev =~ ^[0-9]+$ ]]; then
		_ckptctl_reply "$(sinfo -h -N -o %N 2>/dev/null | sort -u)"
	else
		_ckptctl_reply "$(squeue -h --me -t R -o %A 2>/dev/null)"
	fi
	_ckptctl_cut
}

_ckptweb()
{
	local words cword cur prev option

	COMPREPLY=()
	_ckptctl_words
	case $prev in
	--unix | --socket)
		_ckptctl_reply_files -f ;;
	--user)
		_ckptctl_reply "$(compgen -u -- "$cur")" ;;
	--port | --timeout) ;;
	*)
		_ckptctl_reply "$(_ckptctl_options "$1" '')" ;;
	esac
	_ckptctl_cut
}

complete -F _ckptctl ckptctl
complete -F _ckptweb ckptweb
complete -F _ckpt-batch ckpt-batch
complete -F _ckptrun ckptrun
complete -F _ckpt-slurm-run ckpt-slurm-run
complete -F _ckpt-slurm-drain ckpt-slurm-drain
complete -F _ckpt-slurm-move ckpt-slurm-move
