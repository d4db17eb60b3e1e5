# shellcheck shell=bash
# Daemons that outlive the script that starts them: started in a session of their own, found and ended by pid.

# Starts COMMAND unless it runs; writes DIRECTORY/NAME.pid and appends to DIRECTORY/NAME.log.
background_start() { # DIRECTORY NAME COMMAND...
  local directory=$1 name=$2
  shift 2
  background_runs "$directory" "$name" && return
  setsid "$@" </dev/null >>"$directory/$name.log" 2>&1 &
  # The start time tells the daemon from a later process that was given the same pid.
  printf '%s %s\n' "$!" "$(process_start "$!")" >"$directory/$name.pid"
  disown "$!"
}

background_pid() { # DIRECTORY NAME
  cut -d' ' -f1 "$1/$2.pid" 2>/dev/null
}

background_runs() { # DIRECTORY NAME
  local pid started
  read -r pid started 2>/dev/null <"$1/$2.pid" || return 1
  [ -n "$started" ] && [ "$(process_start "$pid")" = "$started" ]
}

# Ends it: SIGTERM, and SIGKILL when it is still there after SECONDS (default 10).
background_stop() { # DIRECTORY NAME [SECONDS]
  local pid tries=$((${3:-10} * 10))
  if background_runs "$1" "$2"; then
    pid=$(background_pid "$1" "$2")
    kill "$pid" 2>/dev/null || true
    while background_runs "$1" "$2" && [ "$tries" -gt 0 ]; do
      sleep 0.1
      tries=$((tries - 1))
    done
    background_runs "$1" "$2" && kill -9 "$pid" 2>/dev/null
  fi
  rm -f "$1/$2.pid"
}

# Waits until COMMAND succeeds, for at most SECONDS; fails at once when the daemon has ended.
background_wait() { # DIRECTORY NAME SECONDS COMMAND...
  local directory=$1 name=$2 tries=$(($3 * 10))
  shift 3
  until "$@" >/dev/null 2>&1; do
    tries=$((tries - 1))
    if [ "$tries" -le 0 ] || ! background_runs "$directory" "$name"; then
      say "  $name does not serve; the last lines of $directory/$name.log:"
      tail -n 20 "$directory/$name.log" | sed 's/^/    | /' >&2
      return 1
    fi
    sleep 0.1
  done
}

# When a process started, in clock ticks since boot; nothing for one that has ended, reaped by its parent or not.
process_start() { # PID
  sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" { print $20 }'
}
