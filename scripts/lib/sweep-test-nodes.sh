# shellcheck shell=bash
# Takes away nodes of end-to-end tests that were cut off: everything below one directory, which the run made for itself.

sweep_test_nodes() { # DIRECTORY
  local conflist network bridge room
  [ -d "$1" ] || return 0
  sweep_processes "$1"
  sweep_mounts "$1"
  for conflist in "$1"/criquet-e2e-*/cni-conf/*.conflist; do
    [ -e "$conflist" ] || continue
    network=$(sed -n 's/.*"name": *"\(e2e-[0-9a-f]*\)".*/\1/p' "$conflist" | head -n 1)
    bridge=$(sed -n 's/.*"bridge": *"\(cq[0-9a-f]*\)".*/\1/p' "$conflist" | head -n 1)
    [ -z "$bridge" ] || ip link delete "$bridge" 2>/dev/null || true
    [ -z "$network" ] || sweep_iptables "$network"
    sweep_cgroups "$(basename "$(dirname "$(dirname "$conflist")")")"
  done
  for room in "$1"/criquet-e2e-room-*; do
    [ ! -e "$room" ] || sweep_cgroups "${room##*/}"
  done
  rm -rf "$1"
}

# Makes the run's own directory, CRIQUET_E2E_ROOT, and sweeps it when the script ends, after END.
own_test_nodes() { # NAME [END]
  # Below /tmp whatever TMPDIR says: sockets' paths must be short.
  CRIQUET_E2E_ROOT=$(mktemp -d "/tmp/criquet-$1.XXXXXX")
  # The root of a pod with a user namespace is nobody here and must get through to its own files.
  chmod 711 "$CRIQUET_E2E_ROOT"
  export CRIQUET_E2E_ROOT
  # shellcheck disable=SC2064
  trap "${2:+$2; }"'sweep_test_nodes "$CRIQUET_E2E_ROOT"' EXIT
  trap 'exit 130' INT TERM
}
