# shellcheck shell=bash
# Directories that are filled once and kept between runs, named after what is in them and its version.

CRIQUET_CACHE=${CRIQUET_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/criquet}
CRIQUET_INSTALL_LOGS=$CRIQUET_CACHE/log

# Prints the cached directory KEY. When it is absent, runs `COMMAND... DIRECTORY` to fill a new one, which takes its
# name only when it is complete: an interrupted run leaves nothing that looks whole. Two runs do not fill it at once.
cached() { # KEY DESCRIPTION COMMAND...
  local key=$1 description=$2 directory=$CRIQUET_CACHE/$1 filling
  shift 2
  if [ ! -d "$directory" ]; then
    mkdir -p "$CRIQUET_CACHE/lock" "$(dirname "$directory")"
    exec {cache_lock}>"$CRIQUET_CACHE/lock/${key//\//-}"
    flock "$cache_lock"
    if [ ! -d "$directory" ]; then
      filling=$CRIQUET_CACHE/filling/${key//\//-}
      rm -rf "$filling"
      mkdir -p "$filling"
      run_step "$description" "$CRIQUET_INSTALL_LOGS/${key//\//-}.log" "$@" "$filling" {cache_lock}>&- || return 1
      mv -T "$filling" "$directory"
    fi
    exec {cache_lock}>&-
  fi
  printf '%s\n' "$directory"
}
