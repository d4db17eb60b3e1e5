# shellcheck shell=bash
# Units, command and configuration on the node, and their removal. Nothing that runs is touched.

UNITS=(criquet.service criquet-switch.service criquet-rollback.service)

check_node() {
  local problems=("${SETTINGS_PROBLEMS[@]}") kubelet=${KUBELET_CONFIGS%% *}
  if ! command -v containerd >/dev/null; then
    problems+=("containerd is not on the PATH")
  elif ! version_at_least "$(containerd_version)" "$CONTAINERD_OLDEST"; then
    problems+=("containerd $(containerd_version) is too old: $CONTAINERD_OLDEST or newer is needed")
  fi
  # A program of another C library or processor does not start.
  "$LIBEXEC/../bin/criquet" --version >/dev/null 2>&1 ||
    problems+=("criquet does not start here: $("$LIBEXEC/../bin/criquet" --version 2>&1 | tail -n 1)")
  if systemd_runs; then
    [ -e "$kubelet" ] || problems+=("the kubelet's configuration is not at $kubelet: name it by KUBELET_CONFIGS in $NODE_ENV")
    for unit in "$CONTAINERD_SERVICE" "$KUBELET_SERVICE"; do
      systemctl cat "$unit" >/dev/null 2>&1 || problems+=("there is no unit $unit")
    done
  fi
  [ "${#problems[@]}" -eq 0 ] && return
  for problem in "${problems[@]}"; do say "$problem"; done
  return 1
}

# Whether criquet can be put on this node, with config.toml and node.env of DIRECTORY, if given.
check_install() { # [DIRECTORY]
  if [ $# -gt 0 ]; then
    [ -d "$1" ] || fail "$1 is not a directory"
    [ -f "$1/config.toml" ] || [ -f "$1/node.env" ] || fail "there is neither config.toml nor node.env in $1"
    [ ! -f "$1/node.env" ] || read_settings "$1/node.env"
  fi
  check_node || fail "criquet cannot be put on this node: nothing was done"
  check_configuration "${1:-}" || fail "the configuration is not good: nothing was done"
}

# Everything is looked at before anything is changed.
install_node() { # [DIRECTORY]
  local unit file
  check_install "$@"
  for unit in "${UNITS[@]}"; do
    put install "/etc/systemd/system/$unit" <"$LIBEXEC/../share/$unit"
  done
  put_link install /usr/local/bin/criquet "$(readlink -f "$LIBEXEC/../bin")/criquet"
  if [ -n "${1:-}" ]; then
    for file in config.toml node.env; do
      [ ! -f "$1/$file" ] || put install "/etc/criquet/$file" <"$1/$file"
    done
  fi
  [ -e "$CRIQUET_CONFIG" ] || put install "$CRIQUET_CONFIG" <"$LIBEXEC/../share/config.toml"
  reload_units
  [ "$(state)" != absent ] || set_state installed
}

# Whether criquet takes the configuration that it is going to have, with what the node has in config.d beside it: a copy, in its place and order.
check_configuration() { # DIRECTORY or nothing
  local given=$CRIQUET_CONFIG trial said status=0
  if [ -n "$1" ] && [ -f "$1/config.toml" ]; then
    given=$1/config.toml
  elif [ ! -e "$given" ]; then
    given=$LIBEXEC/../share/config.toml
  fi
  trial=$(mktemp -d)
  { cp "$given" "$trial/config.toml" && { [ ! -d "${CRIQUET_CONFIG%.toml}.d" ] || cp -rL "${CRIQUET_CONFIG%.toml}.d" "$trial/config.d"; }; } &&
    said=$("$LIBEXEC/../bin/criquet" config check --config "$trial/config.toml" 2>&1) || status=$?
  rm -rf "$trial"
  said=${said//"$trial/config.toml"/"$given"}
  say "${said//"$trial"/"${CRIQUET_CONFIG%/*}"}"
  return "$status"
}

uninstall_node() {
  case $(state) in
    switching) fail "a switch is under way on this node: criquet-node rollback first" ;;
    switched) fail "the kubelet of this node is on criquet: criquet-node rollback first" ;;
  esac
  if systemd_runs; then run systemctl stop criquet.service; fi
  run systemctl disable --quiet "${UNITS[@]}" || true
  restore install
  reload_units
  # Empty where nobody has put anything else there.
  run rmdir /etc/criquet 2>/dev/null || true
  run rm -rf /var/lib/criquet /run/criquet "$STATE_DIR"
}
