# shellcheck shell=bash
# CRIU for the checkpoint suite: the machine's own where it works, else a Debian package unpacked privately.

# Prints a directory that holds a `criu` that works with this kernel; fails where there is none.
provide_criu() {
  local on_path suite candidate directory suites=(own)
  on_path=$(command -v criu || true)
  if [ -n "$on_path" ] && "$on_path" check >/dev/null 2>&1; then
    dirname "$on_path"
    return
  fi
  apt_is_there || return 1
  [ "$(os_release ID)" != debian ] || suites+=("$CRIU_DEBIAN_SUITE")
  for suite in "${suites[@]}"; do
    for directory in "$CRIQUET_CACHE/criu/$suite-"*/bin; do
      [ -x "$directory/criu" ] && "$directory/criu" check >/dev/null 2>&1 && printf '%s\n' "$directory" && return
    done
  done
  for suite in "${suites[@]}"; do
    apt_ready "$suite" || continue
    candidate=$(apt_candidate "$suite" criu)
    [ -n "$candidate" ] || continue
    directory=$(cached "criu/$suite-${candidate//[^0-9a-zA-Z.+-]/_}" \
      "unpack CRIU $candidate privately (Debian package, suite: $suite)" fill_criu "$suite") || continue
    # An older CRIU does not know the layout of a newer kernel's vDSO, for one.
    "$directory/bin/criu" check >/dev/null 2>&1 && printf '%s/bin\n' "$directory" && return
    say "  CRIU $candidate does not work with this kernel"
  done
  return 1
}

# With the libraries and the dynamic loader that it was built for: those of the machine may be older.
fill_criu() { # SUITE DIRECTORY
  local suite=$1 directory=$2 libraries
  # shellcheck disable=SC2207
  libraries=($(apt_libraries "$suite" criu)) || return
  apt_unpack "$suite" "$directory" criu "${libraries[@]}" || return
  mkdir -p "$directory/bin" || return
  cat >"$directory/bin/criu" <<END || return
#!/bin/sh
root=\$(dirname "\$(dirname "\$(readlink -f "\$0")")")
for libraries in "\$root"/usr/lib/*-linux-gnu "\$root"/lib/*-linux-gnu; do
  path=\${path:+\$path:}\$libraries
done
for loader in "\$root"/usr/lib/*-linux-gnu/ld-linux-*.so.* "\$root"/lib/*-linux-gnu/ld-linux-*.so.*; do
  [ -x "\$loader" ] && exec "\$loader" --library-path "\$path" "\$root/usr/sbin/criu" "\$@"
done
echo "no dynamic loader below \$root" >&2
exit 127
END
  chmod 755 "$directory/bin/criu" && "$directory/bin/criu" --version
}
