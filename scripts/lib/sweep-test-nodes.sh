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
