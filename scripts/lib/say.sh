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
  tick "$log" "$started" &
  ticker=$!
  # A subshell: what the step changes (directory, options) stays its own. A function that is a step says `|| return` after
  # each of its commands: errexit does not hold in one whose outcome is tested.
  ("$@") >"$log" 2>&1 </dev/null || status=$?
  end_ticker "$ticker"
  say_outcome "$name" "$log" "$started" "$status"
}

# Says every few seconds that a step still runs, with the last line of its log.
tick() { # LOG STARTED
  local log=$1 started=$2 pause=
  exec </dev/null
  trap 'kill "$pause" 2>/dev/null; exit 0' TERM
  while :; do
    sleep "${CRIQUET_PROGRESS_SECONDS:-10}" &
    pause=$!
    wait "$pause"
    printf '    still at it after %d s: %s\n' "$((SECONDS - started))" "$(tail -n 1 "$log" 2>/dev/null | cut -c1-100)" >&2
  done
}

end_ticker() { # PID
  kill "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}

# Says how a step ended; returns its exit code.
say_outcome() { # NAME LOG STARTED STATUS
  if [ "$4" -ne 0 ]; then
    say "  $1: failed with exit code $4 after $((SECONDS - $3)) s. The last lines of $2:"
    tail -n "${CRIQUET_FAILURE_LINES:-25}" "$2" | sed 's/^/    | /' >&2
    return "$4"
  fi
  say "  $1: done in $((SECONDS - $3)) s"
}
