# shellcheck shell=bash
# node.env: a line NAME=value for each setting that is not as on most nodes, with quotes around a value that has spaces; blank lines and remarks
# after # besides. It is read, not run: a mistake in it must not keep a node from its way back.
# SETTINGS_PROBLEMS is for the other parts.
# shellcheck disable=SC2034

SETTING_NAME='^[[:space:]]*([A-Za-z_][A-Za-z0-9_]*)='
SETTING_REST='[[:space:]]*$|[[:space:]]+#.*$'
PLAIN_SETTING="$SETTING_NAME([^][:space:]\"'\`\$\\\\;&|<>()]*)($SETTING_REST)"
QUOTED_SETTING="$SETTING_NAME(\"[^\"\`\$\\\\]*\"|'[^']*')($SETTING_REST)"

# Sets the variables of FILE, and SETTINGS_PROBLEMS to what is wrong with it; what is wrong counts as not written.
read_node_env() { # FILE
  local line number=0 name value wanted
  while IFS= read -r line || [ -n "$line" ]; do
    number=$((number + 1))
    if [[ $line =~ ^[[:space:]]*(#|$) ]]; then continue; fi
    if [[ $line =~ $PLAIN_SETTING ]]; then
      name=${BASH_REMATCH[1]} value=${BASH_REMATCH[2]}
    elif [[ $line =~ $QUOTED_SETTING ]]; then
      name=${BASH_REMATCH[1]} value=${BASH_REMATCH[2]:1:-1}
    else
      SETTINGS_PROBLEMS+=("$1, line $number: not NAME=value, with quotes around a value that has spaces")
      continue
    fi
    wanted=$(wanted_of "$name")
    if [ -z "$wanted" ]; then
      SETTINGS_PROBLEMS+=("$1, line $number: there is no setting $name")
    elif ! setting_is_good "$name" "$value"; then
      SETTINGS_PROBLEMS+=("$1, line $number: $name is $wanted, not \"$value\"")
    else
      printf -v "$name" %s "$value"
    fi
  done <"$1"
}

# What a setting is, in words; nothing for a name that is none.
wanted_of() { # NAME
  case $1 in
    PODS_SECONDS | ANSWER_SECONDS | CONFIRM_SECONDS) echo "a number of seconds" ;;
    CONTAINERD_SERVICE | KUBELET_SERVICE) echo "the name of a unit" ;;
    CONTAINERD_CONFIG) echo "a path that begins with /" ;;
    CONTAINERD_ENDPOINT) echo "an address as unix:///run/containerd/containerd.sock" ;;
    KUBELET_CONFIGS) echo "one path or several, each of which begins with /" ;;
    KUBELET_FLAG_FILES) echo "paths, each of which begins with /" ;;
  esac
}

setting_is_good() { # NAME VALUE
  case $1 in
    *_SECONDS) [[ $2 =~ ^[1-9][0-9]{0,5}$ ]] ;;
    *_SERVICE) [[ $2 =~ ^[A-Za-z0-9:_.@-]+$ ]] ;;
    CONTAINERD_CONFIG) [[ $2 =~ ^/[^[:space:]]+$ ]] ;;
    CONTAINERD_ENDPOINT) [[ $2 =~ ^unix:///[^[:space:]]+$ ]] ;;
    KUBELET_CONFIGS) [[ $2 =~ ^/[^[:space:]]+(\ +/[^[:space:]]+)*$ ]] ;;
    KUBELET_FLAG_FILES) [[ $2 =~ ^(/[^[:space:]]+(\ +/[^[:space:]]+)*)?$ ]] ;;
  esac
}

warn_of_settings() {
  local problem
  for problem in "${SETTINGS_PROBLEMS[@]}"; do say "warning: $problem; what most nodes have is taken"; done
}
