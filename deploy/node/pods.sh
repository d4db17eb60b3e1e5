# shellcheck shell=bash
# The pods of a runtime, whichever it is, over CRI: criquet's command is a client of any endpoint.

cri() { # ENDPOINT COMMAND...
  local endpoint=$1
  shift
  # Volumes and logs are the kubelet's and stay: directories that are not there stand for them.
  "$LIBEXEC/../bin/criquet" pod "$@" --runtime-endpoint "$endpoint" --pods-dir "$STATE_DIR/no-pods" --logs-dir "$STATE_DIR/no-logs"
}

answers() { # ENDPOINT
  [ -S "${1#unix://}" ] && cri "$1" ps --quiet --timeout 5s
}

has_no_pods() { # ENDPOINT
  [ -z "$(cri "$1" ps --quiet --timeout 30s)" ]
}

# Stops and removes all pods of a runtime, each with the time that it asks for; those that take too long at once.
remove_pods() { # ENDPOINT
  run cri "$1" rm --all --force --quiet --timeout "${PODS_SECONDS}s" || run cri "$1" rm --all --force --quiet --grace 0 --timeout "${PODS_SECONDS}s"
  [ -n "$DRY_RUN" ] || has_no_pods "$1"
}
