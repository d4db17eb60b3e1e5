# shellcheck shell=bash
# Where things are on a node, its state, and how a step is said and done.
# The other parts use what is set here.
# shellcheck disable=SC2034

STATE_DIR=/var/lib/criquet-node
NODE_ENV=/etc/criquet/node.env
CRIQUET_CONFIG=/etc/criquet/config.toml
CRIQUET_ENDPOINT=unix:///run/criquet/criquet.sock
CONTAINERD_OLDEST=2.1

# What a node may have elsewhere. FILE is by default the node's own node.env.
read_settings() { # [FILE]
  local file=${1:-$NODE_ENV}
  CONTAINERD_SERVICE=containerd.service
  CONTAINERD_CONFIG=/etc/containerd/config.toml
  CONTAINERD_ENDPOINT=unix:///run/containerd/containerd.sock
  KUBELET_SERVICE=kubelet.service
  # The kubelet's configuration, and kubeadm's note for this node, of which it makes the former at an upgrade.
  KUBELET_CONFIGS='/var/lib/kubelet/config.yaml /var/lib/kubelet/instance-config.yaml'
  # Files of flags; a flag counts more than the configuration.
  KUBELET_FLAG_FILES='/var/lib/kubelet/kubeadm-flags.env /etc/default/kubelet /etc/sysconfig/kubelet'
  # Seconds that the pods of the runtime that is left have to end, that a daemon has to answer, and that the node has to work on the new one.
  PODS_SECONDS=120
  ANSWER_SECONDS=60
  CONFIRM_SECONDS=300
  SETTINGS_PROBLEMS=()
  if [ -f "$file" ]; then read_node_env "$file"; fi
}

say() { printf 'criquet-node: %s\n' "$*" >&2; }

fail() {
  say "error: $*"
  exit 1
}

# Does a step, or says it.
run() { # COMMAND...
  if [ -n "$DRY_RUN" ]; then
    say "would run: $*"
  else
    "$@"
  fi
}

# absent, installed, switching, switched or rolled-back. With another release or configuration than the one that was rolled back, a node is
# merely installed: it is worth another try.
state() {
  local state attempted
  read -r state attempted 2>/dev/null <"$STATE_DIR/state" || state=absent
  [ "$state" != rolled-back ] || [ "$attempted" = "$(attempt)" ] || state=installed
  printf '%s\n' "$state"
}

set_state() { # STATE [ATTEMPT]
  if [ -n "$DRY_RUN" ]; then
    say "would be $1"
    return
  fi
  mkdir -p "$STATE_DIR"
  printf '%s\n' "$*" >"$STATE_DIR/state.new"
  mv "$STATE_DIR/state.new" "$STATE_DIR/state"
}

# A name for what a switch is tried with.
attempt() {
  cat "$LIBEXEC/../release" "$CRIQUET_CONFIG" "$NODE_ENV" 2>/dev/null | sha256sum | cut -c1-16
}

# The commands that change something wait for one another, but for `confirm`, which `switch` waits for.
one_at_a_time() { # COMMAND
  { [ -z "$DRY_RUN" ] && [ "$1" != confirm ]; } || return 0
  mkdir -p "$STATE_DIR"
  exec 9>"$STATE_DIR/lock"
  flock 9
}

# Whether this system runs systemd: not in an image that is being built.
systemd_runs() { [ -d /run/systemd/system ]; }

reload_units() {
  if systemd_runs; then run systemctl daemon-reload; fi
}

# Waits until COMMAND succeeds, for at most SECONDS.
wait_for() { # SECONDS COMMAND...
  local end=$((SECONDS + $1))
  shift
  [ -z "$DRY_RUN" ] || return 0
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 1
  done
}
