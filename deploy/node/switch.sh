# shellcheck shell=bash
# The node's kubelet from containerd's CRI plugin to criquet, and back. No pod outlives either: one runtime does not know the other's.

switch_node() {
  case $(state) in
    switched)
      say "the kubelet is on criquet already"
      return
      ;;
    absent) fail "criquet-node install first" ;;
  esac
  systemd_runs || fail "systemd does not run here: nothing was changed"
  check_node || fail "this node cannot be switched"
  # Should the node go down in the middle, this goes on when it is up again.
  run systemctl enable --quiet criquet-switch.service
  run rm -f "$STATE_DIR/confirmed"
  set_state switching "$(attempt)"

  say "the kubelet stops, and the pods of containerd's CRI plugin"
  run systemctl stop "$KUBELET_SERVICE"
  if ! cri_plugin_is_off "$CONTAINERD_CONFIG"; then
    wait_for "$ANSWER_SECONDS" answers "$CONTAINERD_ENDPOINT" || fail "containerd's CRI plugin does not answer"
    remove_pods "$CONTAINERD_ENDPOINT" || fail "pods of containerd's CRI plugin remain"
    turn_off_cri_plugin
  fi
  # Unless a switch that was cut off had come further.
  systemctl is-active --quiet criquet.service || run systemctl restart "$CONTAINERD_SERVICE"

  say "criquet starts"
  run systemctl enable --quiet --now criquet.service
  wait_for "$ANSWER_SECONDS" answers "$CRIQUET_ENDPOINT" || fail "criquet does not answer: journalctl -u criquet"

  say "the kubelet starts on criquet, and has $CONFIRM_SECONDS s to show that the node works"
  point_kubelet "$CRIQUET_ENDPOINT"
  run systemctl start "$KUBELET_SERVICE"
  wait_for "$CONFIRM_SECONDS" test -e "$STATE_DIR/confirmed" || fail "nobody confirmed that the node works"

  set_state switched
  run systemctl disable --quiet criquet-switch.service
  say "the kubelet is on criquet"
}

confirm_node() {
  case $(state) in
    switching) run touch "$STATE_DIR/confirmed" ;;
    switched) ;;
    *) fail "no switch is under way: this node is $(state)" ;;
  esac
}

rollback_node() {
  local attempted
  case $(state) in
    switching | switched) ;;
    *)
      say "nothing to take back: this node is $(state)"
      return
      ;;
  esac
  systemd_runs || fail "systemd does not run here: nothing was changed"
  attempted=$(cut -s -d' ' -f2 "$STATE_DIR/state")
  run systemctl disable --quiet criquet-switch.service
  say "the kubelet stops, and the pods of criquet"
  run systemctl stop "$KUBELET_SERVICE"
  # One that had not begun to serve has no pods.
  if systemctl is-enabled --quiet criquet.service 2>/dev/null; then
    run systemctl start criquet.service || true
    if wait_for "$ANSWER_SECONDS" answers "$CRIQUET_ENDPOINT"; then
      remove_pods "$CRIQUET_ENDPOINT" || say "pods of criquet remain: see crictl --runtime-endpoint $CRIQUET_ENDPOINT pods"
    else
      remove_containers
    fi
    run systemctl disable --quiet --now criquet.service
  fi

  say "containerd's CRI plugin and the kubelet's configuration come back"
  restore switch
  run systemctl restart "$CONTAINERD_SERVICE"
  wait_for "$ANSWER_SECONDS" answers "$CONTAINERD_ENDPOINT" || say "containerd's CRI plugin does not answer yet: journalctl -u $CONTAINERD_SERVICE"
  run systemctl start "$KUBELET_SERVICE"
  set_state rolled-back "${attempted:-}"
  say "the kubelet is on containerd's CRI plugin"
}

# Where criquet does not answer: its containers end without it. Their network attachments and mounts stay until the node starts again.
remove_containers() {
  local container
  say "criquet does not answer: its containers are ended through containerd"
  if ! command -v ctr >/dev/null; then
    say "there is no ctr here to do it: they run until the node starts again"
    return
  fi
  for container in $(ctr --namespace k8s.io containers list --quiet); do
    run ctr --namespace k8s.io tasks delete --force "$container" || true
    run ctr --namespace k8s.io containers delete "$container" || true
  done
}
