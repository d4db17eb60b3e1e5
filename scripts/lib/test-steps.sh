# shellcheck shell=bash
# The steps of scripts/test: each runs with a log, takes its place in the table, and adds to the counts.

RESULTS=$PWD/results
TEST_LOGS=$RESULTS/log
PASSED=0
FAILED=0
SKIPPED=0
TABLE=()
COVERED=()
FAILURES=()
BESIDE=()
declare -A LANES=()

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
    FAILURES+=("$name")
  fi
  return "$status"
}

# Runs files that print TAP, JOBS of them at once and each for SECONDS at most, and counts their assertions.
tap_suite() { # NAME DIRECTORY SECONDS JOBS FILE...
  local name=$1
  shift
  counted_step "$name" run_test_files "$@"
}

# The same by `tap`'s own command, which measures coverage and takes a second of a processor for each file.
covered_suite() { # NAME DIRECTORY SECONDS
  local name=$1
  shift
  counted_step "$name" run_tap "$@"
}

counted_step() { # NAME COMMAND...
  local name=$1 started=$SECONDS status=0 log
  shift
  log=$(tap_log "$name")
  CRIQUET_FAILURE_LINES=0 run_step "$name" "$log" "$@" || status=$?
  count_tap_suite "$name" "$log" "$((SECONDS - started))" "$status"
}

# Takes the place of the subshell that it is called in.
run_tap() { # DIRECTORY SECONDS
  local limit=$2
  cd "$1" || return
  exec timeout --kill-after=30 "$limit" "$OLDPWD/node_modules/.bin/tap" --reporter=tap --coverage-report=json-summary
}

run_test_files() { # DIRECTORY SECONDS JOBS FILE...
  local limit=$2 jobs=$3 status=0
  cd "$1" || return
  shift 3
  TEST_LOCK=$(mktemp)
  export TEST_LOCK
  export -f run_test_file
  echo 'TAP version 14'
  # shellcheck disable=SC2016
  printf '%s\0' "$@" | xargs -0 -P "$jobs" -I '{}' bash -c 'run_test_file "$@"' bash "$limit" '{}' || status=$?
  rm -f "$TEST_LOCK"
  return "$status"
}

# As a subtest of its name, in one piece.
run_test_file() { # SECONDS FILE
  local output ok=ok
  output=$(mktemp)
  TAP_TIMEOUT=$1 timeout --kill-after=30 "$1" node --enable-source-maps "$2" >"$output" 2>&1 </dev/null || ok="not ok"
  {
    flock 9
    printf '# Subtest: %s\n' "$2"
    sed 's/^/    /' "$output"
    printf '%s - %s\n' "$ok" "$2"
  } 9>"$TEST_LOCK"
  rm -f "$output"
  [ "$ok" = ok ]
}

# The same for single files beside what the script does next, those of a lane one after another: for suites that share nothing with others.
add_beside() { # LANE NAME DIRECTORY SECONDS FILE
  BESIDE+=("$1" "$2" "$3" "$4" "$5")
}

begin_beside() {
  local lane
  [ ${#BESIDE[@]} -gt 0 ] || return 0
  mkdir -p "$TEST_LOGS"
  for lane in $(printf '%s\n' "${BESIDE[@]}" | sed -n 1~5p | sort -u); do
    run_lane "$lane" </dev/null &
    LANES[$lane]=$!
  done
  say "  begun, beside what follows: $(printf '%s\n' "${BESIDE[@]}" | sed -n 2~5p | paste -sd , | sed 's/,/, /g')"
}

# Leaves "STATUS SECONDS" of each suite beside its log.
run_lane() { # LANE
  local log started status pid=
  trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; exit 143' TERM
  set -- "$1" "${BESIDE[@]}"
  while [ $# -gt 1 ]; do
    if [ "$1" = "$2" ]; then
      log=$(tap_log "$3") started=$SECONDS status=0
      (cd "$4" && TAP_TIMEOUT=$5 exec timeout --kill-after=30 "$5" node --enable-source-maps "$6") >"$log" 2>&1 &
      pid=$!
      wait "$pid" || status=$?
      pid=
      printf '%d %d\n' "$status" "$((SECONDS - started))" >"$log.outcome"
    fi
    set -- "$1" "${@:7}"
  done
}

# Waits for all of them and counts their assertions; the time of each in the table is its own, however late it is waited for.
end_beside() {
  local log status seconds
  [ ${#BESIDE[@]} -gt 0 ] || return 0
  set -- "${BESIDE[@]}"
  while [ $# -gt 0 ]; do
    log=$(tap_log "$2")
    await_beside "$1" "$2" "$log"
    read -r status seconds <"$log.outcome" || status=1 seconds=0
    CRIQUET_FAILURE_LINES=0 say_outcome "$2, beside others" "$log" "$((SECONDS - seconds))" "$status" || true
    count_tap_suite "$2, beside others" "$log" "$seconds" "$status"
    shift 5
  done
  wait "${LANES[@]}" || true
  LANES=()
  BESIDE=()
}

await_beside() { # LANE NAME LOG
  local ticker
  [ ! -e "$3.outcome" ] || return 0
  say "  $2 ..."
  tick "$3" "$SECONDS" &
  ticker=$!
  while [ ! -e "$3.outcome" ] && kill -0 "${LANES[$1]}" 2>/dev/null; do sleep 0.5; done
  end_ticker "$ticker"
}

# Ends them where the script itself ends early.
stop_beside() {
  [ ${#LANES[@]} -eq 0 ] || kill "${LANES[@]}" 2>/dev/null || true
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
    note_failures "$name" "$log"
    node test-e2e/dist/report/count-tap.js --failures "$log" | head -n "${CRIQUET_FAILURE_LINES:-200}" | sed 's/^/    | /' >&2
  fi
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

# The beginning of each failed assertion of a suite, for the end of the output, where nobody has to look for it.
note_failures() { # NAME LOG
  local line
  FAILURES+=("$1")
  while IFS= read -r line; do FAILURES+=("    ${line:0:200}"); done < <(node test-e2e/dist/report/count-tap.js --brief "$2" | head -n 60)
}

print_results() {
  printf '\nWhere the time went (logs below %s):\n' "$TEST_LOGS"
  printf '  %s\n' "${TABLE[@]}"
  if [ ${#COVERED[@]} -gt 0 ]; then
    printf '\nWhat was covered:\n'
    printf '  %s\n' "${COVERED[@]}"
  fi
  if [ ${#FAILURES[@]} -gt 0 ]; then
    printf '\nWhat failed:\n'
    printf '  %s\n' "${FAILURES[@]}"
  fi
  printf '\n%d passed, %d failed, %d skipped\n' "$PASSED" "$FAILED" "$SKIPPED"
}
