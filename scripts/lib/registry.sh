# shellcheck shell=bash
# A small registry: Debian's and Ubuntu's docker-registry, unpacked and not installed, so that no service starts.

# Prints the path of the registry program.
provide_registry() {
  local directory
  if command -v docker-registry >/dev/null; then
    command -v docker-registry
    return
  fi
  apt_is_there || fail "a registry is missing: install docker-registry"
  directory=$(cached "docker-registry-$(os_release VERSION_CODENAME)" "unpack docker-registry privately" fill_registry) || return 1
  printf '%s/usr/bin/docker-registry\n' "$directory"
}

fill_registry() { # DIRECTORY
  apt_unpack own "$1" docker-registry || return
  "$1/usr/bin/docker-registry" --version
}
