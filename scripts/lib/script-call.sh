# shellcheck shell=bash
# How a script is called: what it says to --help, and to what it does not know. The first part that a script sources, so that both are answered
# before anything is built.

# Prints what a script's head says of it: its comment up to the first line of code.
show_help() {
  awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0"
}

# Says in one line why a call cannot be carried out; exit code 2.
wrong_call() { # REASON...
  printf 'error: %s; see %s --help\n' "$*" "$0" >&2
  exit 2
}

# Prints the help and ends when it is asked for. What follows -- is somebody else's.
answer_help() { # ARGUMENT...
  local argument
  for argument in "$@"; do
    case $argument in
      -h | --help)
        show_help
        exit
        ;;
      --) return ;;
    esac
  done
}

# Sets CALL to the arguments, with `--name=value` as two; refuses options that are not in OPTIONS ("name name= ...": = where a value follows) and
# more than MOST other arguments.
# shellcheck disable=SC2034
read_call() { # OPTIONS MOST ARGUMENT...
  local options=" $1 " most=$2 others=0 name
  shift 2
  answer_help "$@"
  CALL=()
  while [ $# -gt 0 ]; do
    name=${1%%=*}
    name=${name#--}
    if [[ $1 != -* ]]; then
      others=$((others + 1))
      [ "$others" -le "$most" ] || wrong_call "unknown argument $1"
      CALL+=("$1")
    elif [[ $1 = --*=* && $options = *" $name= "* ]]; then
      [ -n "${1#*=}" ] || wrong_call "--$name: a value"
      CALL+=("--$name" "${1#*=}")
    elif [[ $1 = --* && $1 != *=* && $options = *" $name= "* ]]; then
      [[ -n ${2:-} && $2 != -* ]] || wrong_call "$1: a value"
      CALL+=("$1" "$2")
      shift
    elif [[ $1 = --* && $1 != *=* && $options = *" $name "* ]]; then
      CALL+=("$1")
    else
      wrong_call "unknown option $1"
    fi
    shift
  done
}
