# shellcheck shell=bash
# Changes to files of the node that can be taken back. A file is kept as it was before the first change; SET groups those that are put back together.

# Keeps FILE, or that there is none.
keep() { # SET FILE
  local kept=$STATE_DIR/kept/$1$2
  [ ! -e "$kept" ] && [ ! -L "$kept" ] && [ ! -e "$kept.absent" ] || return 0
  if [ -n "$DRY_RUN" ]; then
    say "would keep $2"
    return
  fi
  mkdir -p "$(dirname "$kept")"
  if [ -e "$2" ] || [ -L "$2" ]; then
    # Whole or not at all, should this be cut off.
    cp -a "$2" "$kept.keeping" && mv -T "$kept.keeping" "$kept"
  else
    : >"$kept.absent"
  fi
}

# Writes standard input to FILE, with the mode and owner that it has.
put() { # SET FILE
  local content
  content=$(cat && echo .)
  content=${content%.}
  if [ -e "$2" ] && [ "$(cat "$2" && echo .)" = "$content." ]; then return; fi
  keep "$1" "$2"
  if [ -n "$DRY_RUN" ]; then
    say "would write $2:"
    # Without a file that is there, everything is new.
    printf '%s' "$content" | diff -u --label "$2" --label "$2" "$([ -e "$2" ] && echo "$2" || echo /dev/null)" - | sed 's/^/    /' >&2 || true
    return
  fi
  mkdir -p "$(dirname "$2")"
  if [ -e "$2" ]; then cp -a "$2" "$2.criquet-new"; else install -m 644 /dev/null "$2.criquet-new"; fi
  printf '%s' "$content" >"$2.criquet-new"
  mv "$2.criquet-new" "$2"
}

# Makes FILE a symbolic link.
put_link() { # SET FILE TARGET
  [ "$(readlink "$2" 2>/dev/null)" != "$3" ] || return 0
  keep "$1" "$2"
  run mkdir -p "$(dirname "$2")"
  run ln -sfn "$3" "$2"
}

# Puts everything of SET back, as it was: content, mode, owner, times.
restore() { # SET
  local directory=$STATE_DIR/kept/$1 kept file
  [ -d "$directory" ] || return 0
  while IFS= read -r -d '' kept; do
    file=${kept#"$directory"}
    case $file in
      *.keeping) ;;
      *.absent) run rm -f "${file%.absent}" ;;
      *) run cp -a --remove-destination "$kept" "$file" ;;
    esac
  done < <(find "$directory" ! -type d -print0)
  run rm -rf "$directory"
}
