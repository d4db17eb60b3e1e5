# shellcheck shell=bash
# The steps of scripts/test: each runs with a log, takes its place in the table, and adds to the counts.

RESULTS=$PWD/results
TEST_LOGS=$RESULTS/log
PASSED=0
FAILED=0
SKIPPED=0
TABLE=()

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

# Runs a step that prints TAP, and counts its assertions. A failure without a failed assertion counts one.
tap_suite() { # NAME DIRECTORY SECONDS TAP_ARGUMENTS...
  local name=$1 directory=$2 limit=$3 started=$SECONDS status=0 log passed failed skipped
  shift 3
  log=$TEST_LOGS/${name//[^0-9A-Za-z.-]/-}.tap
  CRIQUET_FAILURE_LINES=0 run_step "$name" "$log" run_tap "$directory" "$limit" "$@" || status=$?
  read -r passed failed skipped < <(node test-e2e/dist/report/count-tap.js "$log")
  [ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
  # A suite in which nothing ran has not passed.
  [ $((passed + failed + skipped)) -gt 0 ] || failed=1
  PASSED=$((PASSED + passed))
  FAILED=$((FAILED + failed))
  SKIPPED=$((SKIPPED + skipped))
  note "$name" "$((SECONDS - started))" "$passed passed, $failed failed, $skipped skipped"
  if [ "$failed" -gt 0 ]; then
    node test-e2e/dist/report/count-tap.js --failures "$log" | head -n "${CRIQUET_FAILURE_LINES:-200}" | sed 's/^/    | /' >&2
  fi
}

run_tap() { # DIRECTORY SECONDS ARGUMENTS...
  local directory=$1 limit=$2
  shift 2
  cd "$directory" || return
  timeout --kill-after=30 "$limit" "$OLDPWD/node_modules/.bin/tap" --reporter=tap "$@"
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
