# shellcheck shell=bash
# What pods need beside containerd: runc, CNI plugins, iptables. Taken from the machine where it has them, else from
# its distribution's packages.

# Prints a directory that holds a working runc.
provide_runc() {
  local directory
  if command -v runc >/dev/null; then
    dirname "$(command -v runc)"
    return
  fi
  apt_is_there || fail "runc is missing: install it"
  directory=$(cached "runc-$(os_release VERSION_CODENAME)" "unpack runc privately" fill_runc) || return 1
  printf '%s/usr/sbin\n' "$directory"
}

fill_runc() { # DIRECTORY
  apt_unpack own "$1" runc || return
  if [ ! -e "$1/usr/sbin/runc" ]; then
    { mkdir -p "$1/usr/sbin" && ln -s ../bin/runc "$1/usr/sbin/runc"; } || return
  fi
  # It needs libseccomp, which apt itself depends on, so that it is there on every Debian and Ubuntu.
  "$1/usr/sbin/runc" --version
}

# Prints a directory that holds the CNI plugins.
provide_cni_plugins() {
  local directory
  for directory in /opt/cni/bin /usr/lib/cni; do
    if [ -x "$directory/bridge" ] && [ -x "$directory/host-local" ] && [ -x "$directory/portmap" ] && [ -x "$directory/loopback" ]; then
      printf '%s\n' "$directory"
      return
    fi
  done
  apt_is_there || fail "the CNI plugins are missing: install containernetworking-plugins"
  directory=$(cached "cni-plugins-$(os_release VERSION_CODENAME)" "unpack the CNI plugins privately" fill_cni_plugins) || return 1
  printf '%s/usr/lib/cni\n' "$directory"
}

fill_cni_plugins() { # DIRECTORY
  apt_unpack own "$1" containernetworking-plugins || return
  test -x "$1/usr/lib/cni/bridge"
}

# iptables (for the portmap and bridge plugins) and ip cannot run from a private directory: they are installed, and further packages whose commands are missing.
install_network_commands() { # [COMMAND=PACKAGE...]
  local missing=() further
  command -v iptables >/dev/null || missing+=(iptables)
  command -v ip >/dev/null || missing+=(iproute2)
  for further in "$@"; do
    command -v "${further%=*}" >/dev/null || missing+=("${further#*=}")
  done
  [ "${#missing[@]}" -eq 0 ] && return
  apt_is_there || fail "missing: ${missing[*]}"
  run_step "install ${missing[*]} (apt-get)" "$CRIQUET_INSTALL_LOGS/apt-install.log" apt_install "${missing[@]}" ||
    fail "could not install ${missing[*]}"
}

apt_install() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y --no-install-recommends "$@" || { apt-get update && apt-get install -y --no-install-recommends "$@"; }
}

# Prints a directory that holds crun, another OCI runtime.
provide_crun() {
  local directory
  if command -v crun >/dev/null; then
    dirname "$(command -v crun)"
    return
  fi
  apt_is_there || return 1
  directory=$(cached "crun-$(os_release VERSION_CODENAME)" "unpack crun privately" fill_crun) || return 1
  printf '%s/usr/bin\n' "$directory"
}

# It needs a library that other packages rarely bring. A script in its place finds it beside itself, wherever the directory is.
fill_crun() { # DIRECTORY
  local program=$1/usr/bin/crun
  apt_unpack own "$1" crun libyajl2 || return
  mkdir -p "$1/usr/libexec" && mv "$program" "$1/usr/libexec/crun" || return
  # shellcheck disable=SC2016
  printf '%s\n' '#!/bin/sh' 'root=${0%/bin/crun}' "for library in \"\$root\"/lib/*/libyajl.so.2; do :; done" \
    'LD_LIBRARY_PATH=${library%/*} exec "$root/libexec/crun" "$@"' >"$program" || return
  chmod 755 "$program" && "$program" --version
}
