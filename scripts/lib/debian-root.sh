# shellcheck shell=bash
# A root directory of Debian packages in which the suite of deploy/ runs what would otherwise run in containers: what kind's node image and Node.js' own
# are made from. Nothing is started in it.

# kind's node, beside what Debian calls essential: images/base/Dockerfile of kind. libstdc++6 comes there with apt.
DEBIAN_ROOT_PACKAGES=systemd,iptables,iproute2,mount,kmod,libseccomp2,jq,procps,libstdc++6

# Prints the directory; fails where it cannot be had.
provide_debian_root() {
  local recipe
  recipe=$(sha256sum <"${BASH_SOURCE[0]}" | cut -c1-12)
  command -v mmdebstrap >/dev/null ||
    run_step "install mmdebstrap (apt-get)" "$CRIQUET_INSTALL_LOGS/apt-install-mmdebstrap.log" apt_install mmdebstrap || return
  cached "debian-root/$VM_DEBIAN_SUITE-$recipe" "make a root directory of Debian packages ($VM_DEBIAN_SUITE)" fill_debian_root
}

fill_debian_root() { # DIRECTORY
  apt_ready "$VM_DEBIAN_SUITE" || return
  mmdebstrap --mode=root --variant=essential --format=directory --include="$DEBIAN_ROOT_PACKAGES" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$VM_DEBIAN_SUITE" "$1" "$CRIQUET_CACHE/apt/$VM_DEBIAN_SUITE/sources.list" || return
  rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*
}
