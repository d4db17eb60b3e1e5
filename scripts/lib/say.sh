# shellcheck shell=bash
# What a script says while it works: plain lines on standard error, so that standard output stays for results.

say() { printf '%s\n' "$*" >&2; }

fail() { # MESSAGE...
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Runs a step with its output in a log file. Says the step's name, how long it took, and that it still runs every few
# seconds; on failure the step, its last lines and the log file.
run_step() { # NAME LOG COMMAND...
  local name=$1 log=$2 started=$SECONDS ticker status=0
  shift 2
  mkdir -p "$(dirname "$log")"
  say "  $name ..."
  (
    trap 'kill "$pause" 2>/dev/null; exit 0' TERM
    while :; do
      sleep "${CRIQUET_PROGRESS_SECONDS:-10}" &
      pause=$!
      wait "$pause"
      printf '    still at it after %d s: %s\n' "$((SECONDS - started))" "$(tail -n 1 "$log" 2>/dev/null | cut -c1-100)" >&2
    done
  ) </dev/null &
  ticker=$!
  # A subshell: what the step changes (directory, options) stays its own. A function that is a step says `|| return` after
  # each of its commands: errexit does not hold in one whose outcome is tested.
  ("$@") >"$log" 2>&1 </dev/null || status=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  if [ "$status" -ne 0 ]; then
    say "  $name: failed with exit code $status after $((SECONDS - started)) s. The last lines of $log:"
    tail -n "${CRIQUET_FAILURE_LINES:-25}" "$log" | sed 's/^/    | /' >&2
    return "$status"
  fi
  say "  $name: done in $((SECONDS - started)) s"
}
