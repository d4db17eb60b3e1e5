# shellcheck shell=bash
# The steps of scripts/test: each runs with a log, takes its place in the table, and adds to the counts.

RESULTS=$PWD/results
TEST_LOGS=$RESULTS/log
PASSED=0
FAILED=0
SKIPPED=0
TABLE=()
COVERED=()
BESIDE=()
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

# The same for single files one after another, beside what the script does next: for suites that share nothing with others. Without `tap`'s
# own command: two of those in one directory would share what they keep below it.
add_beside() { # NAME DIRECTORY SECONDS FILE
  BESIDE+=("$1" "$2" "$3" "$4")
}

begin_beside() {
  [ ${#BESIDE[@]} -gt 0 ] || return 0
  mkdir -p "$TEST_LOGS"
  run_beside "${BESIDE[@]}" </dev/null &
  BESIDE_PID=$!
  say "  begun, beside what follows: $(printf '%s\n' "${BESIDE[@]}" | sed -n 1~4p | paste -sd , | sed 's/,/, /g')"
}

# Leaves "STATUS SECONDS" of each beside its log.
run_beside() { # [NAME DIRECTORY SECONDS FILE]...
  local log started status pid=
  trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; exit 143' TERM
  while [ $# -gt 0 ]; do
    log=$(tap_log "$1") started=$SECONDS status=0
    (cd "$2" && TAP_TIMEOUT=$3 exec timeout --kill-after=30 "$3" node "$4") >"$log" 2>&1 &
    pid=$!
    wait "$pid" || status=$?
    pid=
    printf '%d %d\n' "$status" "$((SECONDS - started))" >"$log.outcome"
    shift 4
  done
}

# Waits for them and counts their assertions; the time of each in the table is its own, however late it is waited for.
end_beside() {
  local log status seconds
  [ -n "$BESIDE_PID" ] || return 0
  set -- "${BESIDE[@]}"
  while [ $# -gt 0 ]; do
    log=$(tap_log "$1")
    await_beside "$1" "$log"
    read -r status seconds <"$log.outcome" || status=1 seconds=0
    CRIQUET_FAILURE_LINES=0 say_outcome "$1, beside others" "$log" "$((SECONDS - seconds))" "$status" || true
    count_tap_suite "$1, beside others" "$log" "$seconds" "$status"
    shift 4
  done
  wait "$BESIDE_PID" || true
  BESIDE_PID=
  BESIDE=()
}

await_beside() { # NAME LOG
  local ticker
  [ ! -e "$2.outcome" ] || return 0
  say "  $1 ..."
  tick "$2" "$SECONDS" &
  ticker=$!
  while [ ! -e "$2.outcome" ] && kill -0 "$BESIDE_PID" 2>/dev/null; do sleep 0.5; done
  end_ticker "$ticker"
}

# Ends them where the script itself ends early.
stop_beside() {
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
  note_covered "$name" "$log"
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

# What a suite says that it covered: its comments that begin so.
note_covered() { # NAME LOG
  local line
  while read -r line; do COVERED+=("${1%, beside others}: $line"); done < <(sed -n 's/^ *# covered: //p' "$2")
}

print_results() {
  printf '\nWhere the time went (logs below %s):\n' "$TEST_LOGS"
  printf '  %s\n' "${TABLE[@]}"
  if [ ${#COVERED[@]} -gt 0 ]; then
    printf '\nWhat was covered:\n'
    printf '  %s\n' "${COVERED[@]}"
  fi
  printf '\n%d passed, %d failed, %d skipped\n' "$PASSED" "$FAILED" "$SKIPPED"
}
