# shellcheck shell=bash
# scripts/demo down and status.

demo_status() {
  local name
  for name in registry containerd criquet; do
    if background_runs "$DEMO_RUN" "$name"; then
      printf '%-11s runs, pid %s\n' "$name" "$(background_pid "$DEMO_RUN" "$name")"
    else
      printf '%-11s is not running\n' "$name"
    fi
  done
  if background_runs "$DEMO_RUN" criquet; then
    demo_pod ps
  fi
}

remove_demo_pods() {
  demo_pod rm --all --force --grace 2 --quiet
}

demo_down() {
  local ids
  [ -d "$DEMO" ] || { say "nothing runs: there is no $DEMO"; return; }
  [ "$(id -u)" = 0 ] || fail "scripts/demo down needs root"
  if background_runs "$DEMO_RUN" criquet && background_runs "$DEMO_RUN" containerd; then
    say "removing the pods"
    remove_demo_pods || say "  not all of them; what is left is removed by force"
  fi
  ids=$(demo_container_ids)
  say "stopping criquet, containerd and the registry"
  background_stop "$DEMO_RUN" criquet
  background_stop "$DEMO_RUN" containerd
  background_stop "$DEMO_RUN" registry
  say "removing processes, mounts, cgroups, the bridge, iptables rules and files that are left"
  sweep_processes "$DEMO"
  sweep_mounts "$DEMO"
  # shellcheck disable=SC2086
  sweep_cgroups $ids
  ip link delete "$DEMO_BRIDGE" 2>/dev/null || true
  sweep_iptables "$DEMO_NETWORK"
  restore_machine
  rm -rf "$DEMO"
  say "done: nothing is left of it (downloads stay in $CRIQUET_CACHE)"
}

# Ids of the containers that containerd still has, found in its state directory so that a dead daemon does not matter.
demo_container_ids() {
  find "$DEMO/containerd-state/io.containerd.runtime.v2.task" -mindepth 2 -maxdepth 2 -type d -printf '%f\n' 2>/dev/null || true
}

# Puts back what CNI plugins and shims changed outside this directory, where nobody else has changed it meanwhile.
restore_machine() {
  local ip_forward=1 run_containerd=there cgroup
  [ -e "$DEMO/machine-before" ] || return 0
  # shellcheck disable=SC1091
  . "$DEMO/machine-before"
  [ "$ip_forward" = 1 ] || printf '%s\n' "$ip_forward" >/proc/sys/net/ipv4/ip_forward
  if [ "$run_containerd" = absent ]; then
    # Shims keep their sockets here, whatever containerd's state directory is; rmdir leaves what is in use.
    find /run/containerd -depth -type d -exec rmdir {} + 2>/dev/null || true
  fi
  # Parents of pods' cgroups that runc made: new since the start, empty, and of the names that criquet gives.
  find /sys/fs/cgroup -depth -type d \( -name k8s.io -o -name 'kubepods*' -o -name criquet \) 2>/dev/null |
    grep -vxFf "$DEMO/cgroups-before" | while read -r cgroup; do
    rmdir "$cgroup" 2>/dev/null || true
  done || true
}
