# shellcheck shell=bash
# Units, command and configuration on the node, and their removal. Nothing that runs is touched.

UNITS=(criquet.service criquet-switch.service criquet-rollback.service)

check_node() {
  local problems=() kubelet=${KUBELET_CONFIGS%% *}
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

install_node() { # [DIRECTORY]
  local unit file
  check_node || fail "criquet cannot be put on this node"
  for unit in "${UNITS[@]}"; do
    put install "/etc/systemd/system/$unit" <"$LIBEXEC/../share/$unit"
  done
  put_link install /usr/local/bin/criquet "$(readlink -f "$LIBEXEC/../bin")/criquet"
  if [ -n "${1:-}" ]; then
    for file in config.toml node.env; do
      [ ! -e "$1/$file" ] || put install "/etc/criquet/$file" <"$1/$file"
    done
  fi
  [ -e "$CRIQUET_CONFIG" ] || put install "$CRIQUET_CONFIG" <"$LIBEXEC/../share/config.toml"
  run "$LIBEXEC/../bin/criquet" config check --config "$CRIQUET_CONFIG" >&2 || fail "the configuration is not good: nothing else was done"
  reload_units
  [ "$(state)" != absent ] || set_state installed
}

uninstall_node() {
  case $(state) in
    switching | switched) fail "the kubelet of this node is on criquet: criquet-node rollback first" ;;
  esac
  if systemd_runs; then run systemctl stop criquet.service; fi
  run systemctl disable --quiet "${UNITS[@]}" || true
  restore install
  reload_units
  # Empty where nobody has put anything else there.
  run rmdir /etc/criquet 2>/dev/null || true
  run rm -rf /var/lib/criquet /run/criquet "$STATE_DIR"
}
