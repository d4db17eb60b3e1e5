# shellcheck shell=bash
# A containerd that can serve criquet, found or unpacked or built, never installed.

# Prints a directory that holds containerd, containerd-shim-runc-v2 and ctr of version CONTAINERD_OLDEST or newer.
provide_containerd() {
  local on_path candidate
  on_path=$(command -v containerd || true)
  if [ -n "$on_path" ] && command -v containerd-shim-runc-v2 >/dev/null && command -v ctr >/dev/null &&
    version_at_least "$(containerd_version "$on_path")" "$CONTAINERD_OLDEST"; then
    say "  containerd: the machine's own program ($("$on_path" --version | cut -d' ' -f3)), with private directories"
    dirname "$on_path"
    return
  fi
  if apt_is_there; then
    containerd_from_apt && return
    say "  containerd: no package of $CONTAINERD_OLDEST or newer here"
  fi
  if go_is_there; then
    containerd_from_go && return
  fi
  fail "containerd $CONTAINERD_OLDEST or newer is needed and is not to be had here.
  Install it (the project's releases at containerd.io, or a distribution that has it) so that containerd,
  containerd-shim-runc-v2 and ctr are on the PATH, or install Go $GO_OLDEST or newer to have it built, and run this again."
}

# As above, from this distribution's packages or, on Debian, those of CONTAINERD_DEBIAN_SUITE. One that an earlier run
# unpacked is taken as it is, so that a second run asks no mirror.
containerd_from_apt() {
  local suites=(own) suite candidate directory
  [ "$(os_release ID)" != debian ] || suites+=("$CONTAINERD_DEBIAN_SUITE")
  for suite in "${suites[@]}"; do
    for directory in "$CRIQUET_CACHE/containerd/$suite-"*/usr/bin; do
      [ -d "$directory" ] && printf '%s\n' "$directory" && return
    done
  done
  for suite in "${suites[@]}"; do
    apt_ready "$suite" || continue
    candidate=$(apt_candidate "$suite" containerd)
    if [ -n "$candidate" ] && version_at_least "$candidate" "$CONTAINERD_OLDEST"; then
      directory=$(cached "containerd/$suite-${candidate//[^0-9a-zA-Z.+-]/_}" \
        "unpack containerd $candidate privately (Debian package, suite: $suite)" fill_containerd "$suite") || return 1
      printf '%s/usr/bin\n' "$directory"
      return
    fi
  done
  return 1
}

fill_containerd() { # SUITE DIRECTORY
  apt_unpack "$1" "$2" containerd || return
  "$2/usr/bin/containerd" --version || return
  "$2/usr/bin/containerd-shim-runc-v2" -v
}

containerd_version() { # BINARY
  "$1" --version | awk '{ sub(/^v/, "", $3); print $3 }'
}

version_at_least() { # VERSION OLDEST
  [ "$(printf '%s\n' "$2" "${1#*:}" | sort -V | head -n 1)" = "$2" ]
}
