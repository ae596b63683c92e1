# Completion for recordfs in bash. It reads commands, options and mount options from --help. Only the arguments of options
# are listed here.

# _recordfs_help PROGRAM KIND [COMMAND]: words of a --help, one per line. KIND: commands, options, valued (the options
# with an argument), or mount (mount options; those with a value end in =).
_recordfs_help()
{
    local program=$1 kind=$2 section='' line left word
    shift 2
    while IFS= read -r line; do
        if [[ $line == [A-Z]*: ]]; then
            section=${line,,}
            continue
        fi
        [[ $line == '  '* ]] || continue
        left=${line#"${line%%[! ]*}"}
        if [[ $left =~ ^(-.,)\ +(--.*) ]]; then left=${BASH_REMATCH[1]}${BASH_REMATCH[2]}; fi
        left=${left%%  *}
        case $kind in
            commands) [[ $section != commands* || $line == '   '* ]] || echo "${left%% *}" ;;
            mount)
                [[ $section == 'mount options'* && $line != '   '* ]] || continue
                while IFS= read -r word; do
                    word=${word#"${word%%[! ]*}"}
                    word=${word%% *}
                    [[ ! $word =~ ^[a-z_]+(=|$) ]] || echo "${BASH_REMATCH[0]}"
                done <<<"${left//,/$'\n'}"
                ;;
            options | valued)
                [[ $left == -* ]] || continue
                [[ $kind == options || $left =~ [A-Z]{2}|\ [A-Z] ]] || continue
                left=${left%%[ =]*}
                echo "${left//,/$'\n'}"
                ;;
        esac
    done < <("$program" "$@" --help 2>/dev/null)
}

# The list after -o. COMPREPLY must contain what follows the last `=`, because readline splits words there.
_recordfs_mount_list()
{
    local program=$1 cur=$2 last=${2##*,}
    local before=${cur%"$last"}
    if [[ $last == index=* ]]; then
        COMPREPLY=($(compgen -W "auto no" -- "${last#index=}"))
        cur=${last#index=}
        _filedir -d
        return
    fi
    if [[ $last == descriptors=* || $last == log=* ]]; then
        cur=${last#*=}
        _filedir
        return
    fi
    [[ $last != *=* ]] || return
    COMPREPLY=($(compgen -P "$before" -W "$(_recordfs_help "$program" mount)" -- "$last"))
    local cut=${before%"${before##*=}"}
    COMPREPLY=("${COMPREPLY[@]#"$cut"}")
    compopt -o nospace
}

# The arguments of an option. Returns 1 for options that are not listed here.
_recordfs_value()
{
    case $2 in
        -o) _recordfs_mount_list "$1" "$cur" ;;
        --index)
            COMPREPLY=($(compgen -W "auto no" -- "$cur"))
            _filedir -d
            ;;
        --state | --files0-from | --descriptors) _filedir ;;
        *) return 1 ;;
    esac
}

_recordfs()
{
    local cur prev words cword
    _init_completion -n =: || return
    local program=${1/#\~/$HOME} command='' places=0 i
    local commands valued
    commands=$(_recordfs_help "$program" commands)
    if ((cword > 1)) && grep -qxF -e "${words[1]}" <<<"$commands"; then command=${words[1]}; fi
    valued=$(_recordfs_help "$program" valued $command)

    for ((i = ${#command} ? 2 : 1; i < cword; ++i)); do
        if [[ ${words[i]} != -?* ]]; then
            ((++places))
        elif grep -qxF -e "${words[i]}" <<<"$valued"; then
            # If a pattern is given as an option, all arguments are files.
            [[ $command != grep || ! ${words[i]} =~ ^(-e|--regexp)$ ]] || ((++places))
            ((++i))
        fi
    done
    if ((i > cword)); then
        _recordfs_value "$program" "$prev"
        return
    fi
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$(_recordfs_help "$program" options $command)" -- "$cur"))
        return
    fi
    case $command:$places in
        grep:0 | cp:1 | cat:[1-9]* | ls:[1-9]* | head:[1-9]* | tail:[1-9]*) ;; # patterns and ranges
        cp:*) if ((places == 2)); then _filedir -d; else _filedir; fi ;;
        *) _filedir ;;
    esac
    if ((cword == 1)); then COMPREPLY+=($(compgen -W "$commands" -- "$cur")); fi
} &&
    complete -F _recordfs recordfs
