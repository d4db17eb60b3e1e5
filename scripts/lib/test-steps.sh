# shellcheck shell=bash
# The steps of scripts/test: each runs with a log, takes its place in the table, and adds to the counts.

RESULTS=$PWD/results
TEST_LOGS=$RESULTS/log
PASSED=0
FAILED=0
SKIPPED=0
TABLE=()
BESIDE_PID=

# Runs a step that passes or fails as a whole: one assertion.
check() { # NAME COMMAND...
  local name=$1 started=$SECONDS status=0
  shift
  run_step "$name" "$TEST_LOGS/${name//[^0-9A-Za-z.-]/-}.log" "$@" || status=$?
  if [ "$status" -eq 0 ]; then
    PASSED=$((PASSED + 1))
    note "$name" "$((SECONDS - started))" "passed"
  else
    FAILED=$((FAILED + 1))
    note "$name" "$((SECONDS - started))" "failed"
  fi
  return "$status"
}

# Runs a step that prints TAP, and counts its assertions.
tap_suite() { # NAME DIRECTORY SECONDS TAP_ARGUMENTS...
  local name=$1 directory=$2 limit=$3 started=$SECONDS status=0 log
  shift 3
  log=$(tap_log "$name")
  CRIQUET_FAILURE_LINES=0 run_step "$name" "$log" run_tap "$directory" "$limit" "$@" || status=$?
  count_tap_suite "$name" "$log" "$((SECONDS - started))" "$status"
}

# The same for one file, beside what the script does next: for a suite that keeps one processor busy for long and shares nothing with
# others. There is at most one. Without `tap`'s own command: two of those in one directory would share what they keep below it.
begin_tap_suite() { # NAME DIRECTORY SECONDS FILE
  BESIDE_NAME=$1
  BESIDE_BEGUN=$(date +%s)
  mkdir -p "$TEST_LOGS"
  (cd "$2" && TAP_TIMEOUT=$3 exec timeout --kill-after=30 "$3" node "$4") >"$(tap_log "$BESIDE_NAME")" 2>&1 </dev/null &
  BESIDE_PID=$!
  say "  $BESIDE_NAME: begun, beside what follows"
}

# Waits for it and counts its assertions; its time in the table is its own, however late it is waited for.
end_tap_suite() {
  local status=0 started ticker log seconds
  [ -n "$BESIDE_PID" ] || return 0
  log=$(tap_log "$BESIDE_NAME")
  started=$((SECONDS - ($(date +%s) - BESIDE_BEGUN)))
  say "  $BESIDE_NAME, begun $((SECONDS - started)) s ago ..."
  tick "$log" "$started" &
  ticker=$!
  wait "$BESIDE_PID" || status=$?
  BESIDE_PID=
  end_ticker "$ticker"
  # Its last line was its end.
  seconds=$(($(stat -c %Y "$log") - BESIDE_BEGUN))
  CRIQUET_FAILURE_LINES=0 say_outcome "$BESIDE_NAME" "$log" "$((SECONDS - seconds))" "$status" || true
  count_tap_suite "$BESIDE_NAME, beside others" "$log" "$seconds" "$status"
}

# Ends it where the script itself ends early.
stop_tap_suite() {
  [ -z "$BESIDE_PID" ] || kill "$BESIDE_PID" 2>/dev/null || true
}

tap_log() { # NAME
  printf '%s/%s.tap\n' "$TEST_LOGS" "${1//[^0-9A-Za-z.-]/-}"
}

# A failure without a failed assertion counts one.
count_tap_suite() { # NAME LOG SECONDS STATUS
  local name=$1 log=$2 seconds=$3 status=$4 passed failed skipped
  read -r passed failed skipped < <(node test-e2e/dist/report/count-tap.js "$log")
  [ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
  # A suite in which nothing ran has not passed.
  [ $((passed + failed + skipped)) -gt 0 ] || failed=1
  PASSED=$((PASSED + passed))
  FAILED=$((FAILED + failed))
  SKIPPED=$((SKIPPED + skipped))
  note "$name" "$seconds" "$passed passed, $failed failed, $skipped skipped"
  if [ "$failed" -gt 0 ]; then
    node test-e2e/dist/report/count-tap.js --failures "$log" | head -n "${CRIQUET_FAILURE_LINES:-200}" | sed 's/^/    | /' >&2
  fi
}

# Takes the place of the subshell that it is called in.
run_tap() { # DIRECTORY SECONDS ARGUMENTS...
  local directory=$1 limit=$2
  shift 2
  cd "$directory" || return
  exec timeout --kill-after=30 "$limit" "$OLDPWD/node_modules/.bin/tap" --reporter=tap "$@"
}

skip_suite() { # NAME WHY
  SKIPPED=$((SKIPPED + 1))
  note "$1" 0 "skipped: $2"
  say "  $1: skipped: $2"
}

note() { # NAME SECONDS OUTCOME
  TABLE+=("$(printf '%-44s %6s s  %s' "$1" "$2" "$3")")
}

print_results() {
  printf '\nWhere the time went (logs below %s):\n' "$TEST_LOGS"
  printf '  %s\n' "${TABLE[@]}"
  printf '\n%d passed, %d failed, %d skipped\n' "$PASSED" "$FAILED" "$SKIPPED"
}
