# shellcheck shell=bash
# What the test node with its own kernel runs on: a Debian system in an ext4 image, Debian's kernel for it under QEMU, and a
# user-mode Linux kernel. Made once, from the archive that the machine's apt names, and kept in the cache by their recipes.

VM_SOURCE=${BASH_SOURCE[0]%/*}/../../test-e2e/vm

# The packages of its system, beside what Debian calls essential. libstdc++6 is for Node, libseccomp2 for runc.
VM_PACKAGES=systemd,systemd-sysv,dbus,udev,kmod,apparmor,iproute2,iptables,nftables,procps,libstdc++6,libseccomp2

# Units that a node of a few minutes does not need and that cost seconds each without hardware virtualisation.
VM_MASKED_UNITS=(
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer logrotate.timer
  systemd-timesyncd.service systemd-firstboot.service systemd-hwdb-update.service systemd-binfmt.service systemd-update-utmp.service
  systemd-tpm2-setup.service systemd-tpm2-setup-early.service systemd-pcrphase.service systemd-networkd-wait-online.service
  getty@tty1.service serial-getty@ttyS0.service dev-hugepages.mount sys-kernel-tracing.mount sys-kernel-debug.mount
  modprobe@drm.service modprobe@efi_pstore.service proc-sys-fs-binfmt_misc.automount
)

# Why a node with its own kernel cannot be had here; nothing when it can.
vm_missing_reason() {
  if [ "$(uname -m)" != x86_64 ]; then
    echo "the test node's image is made for x86_64"
  elif ! apt_is_there || [ "$(os_release ID)" != debian ]; then
    echo "its image is made of Debian's packages, and this machine's apt does not name Debian's archive"
  fi
}

# Installs and makes what is missing of ENGINES: "qemu", "uml".
provide_vm_node() { # ENGINE...
  install_vm_commands || return
  provide_vm_image || return
  [[ " $* " != *" uml "* ]] || provide_uml_kernel
}

# Exports where the image and the kernels are, once they are provided.
export_vm_node() { # ENGINE...
  local image
  image=$(provide_vm_image) || return
  export CRIQUET_VM_IMAGE=$image/node.ext4 CRIQUET_VM_KERNEL=$image/vmlinuz
  [[ " $* " == *" uml "* ]] || return 0
  CRIQUET_VM_UML=$(provide_uml_kernel)/linux || return
  export CRIQUET_VM_UML
}

# QEMU and mmdebstrap do not run from a private directory: they are installed.
install_vm_commands() {
  local missing=()
  command -v qemu-system-x86_64 >/dev/null || missing+=(qemu-system-x86)
  command -v mmdebstrap >/dev/null || missing+=(mmdebstrap)
  command -v mke2fs >/dev/null || missing+=(e2fsprogs)
  [ "${#missing[@]}" -eq 0 ] && return
  run_step "install ${missing[*]} (apt-get)" "$CRIQUET_INSTALL_LOGS/apt-install-vm.log" apt_install "${missing[@]}"
}

# Prints the directory of node.ext4 and vmlinuz.
provide_vm_image() {
  local recipe
  # Names and modes of the guest's files count as much as what is in them.
  recipe=$({ cat "${BASH_SOURCE[0]}" && (cd "$VM_SOURCE/guest" && find . -type f -printf '%P %m\n' -exec cat {} + | sort); } | sha256sum | cut -c1-12)
  cached "vm/node-$VM_DEBIAN_SUITE-$recipe" "make the image of the test node (Debian $VM_DEBIAN_SUITE)" fill_vm_image
}

fill_vm_image() { # DIRECTORY
  local directory=$1 root=$1/root kernel unit
  apt_ready "$VM_DEBIAN_SUITE" || return
  mmdebstrap --mode=root --variant=apt --format=directory --include="$VM_PACKAGES" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$VM_DEBIAN_SUITE" "$root" "$CRIQUET_CACHE/apt/$VM_DEBIAN_SUITE/sources.list" || return
  # Unpacked, not installed: installing it would make an initial RAM disk, which nothing here needs.
  kernel=$(vm_kernel_package) || return
  apt_unpack "$VM_DEBIAN_SUITE" "$directory/kernel" "$kernel" || return
  mv "$directory"/kernel/boot/vmlinuz-* "$directory/vmlinuz" || return
  cp -a "$directory"/kernel/usr/lib/modules "$root/usr/lib/" 2>/dev/null || cp -a "$directory"/kernel/lib/modules "$root/usr/lib/" || return
  chroot "$root" depmod "$(ls "$root/usr/lib/modules")" || return
  rm -rf "$directory/kernel" "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/*

  # The hundred stock profiles take half a minute to load without hardware virtualisation, and none is for a container.
  mkdir "$root/etc/apparmor.d.stock" || return
  find "$root/etc/apparmor.d" -maxdepth 1 -type f -exec mv -t "$root/etc/apparmor.d.stock" {} + || return
  : >"$root/etc/machine-id"
  : >"$root/etc/fstab"
  for unit in "${VM_MASKED_UNITS[@]}"; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit" || return
  done
  cp -r "$VM_SOURCE/guest/." "$root/" || return
  mkdir -p "$root/job" "$root/results" "$root/etc/systemd/system/multi-user.target.wants"
  ln -sf ../criquet-job.service "$root/etc/systemd/system/multi-user.target.wants/" || return
  ln -sf /usr/lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target" || return

  # Sparse: what is not used takes no place in the cache.
  mke2fs -q -F -t ext4 -O ^has_journal -E root_owner=0:0,lazy_itable_init=1 -d "$root" "$directory/node.ext4" 8G || return
  rm -rf "$root"
}

# The package that holds Debian's kernel for virtual machines: the one that this name depends on.
vm_kernel_package() {
  apt_private "$VM_DEBIAN_SUITE" apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1 | grep .
}

# Prints the directory of the user-mode Linux kernel, `linux`.
provide_uml_kernel() {
  local recipe
  recipe=$(sha256sum <"$VM_SOURCE/uml.config" | cut -c1-12)
  cached "vm/uml-${UML_SOURCE_PACKAGE#linux-source-}-$recipe" "build a user-mode Linux kernel ($UML_SOURCE_PACKAGE; about 8 minutes)" fill_uml_kernel
}

fill_uml_kernel() { # DIRECTORY
  local directory=$1 source=$1/source
  apt_install gcc libc6-dev make flex bison bc xz-utils perl || return
  apt_unpack "$UML_SOURCE_SUITE" "$directory/package" "$UML_SOURCE_PACKAGE" || return
  mkdir "$source" || return
  tar -xJf "$directory/package/usr/src/$UML_SOURCE_PACKAGE.tar.xz" -C "$source" --strip-components=1 || return
  make -s -C "$source" ARCH=um x86_64_defconfig || return
  (cd "$source" && scripts/kconfig/merge_config.sh -m .config "$(readlink -f "$OLDPWD/$VM_SOURCE/uml.config")") || return
  make -s -C "$source" ARCH=um olddefconfig || return
  nice -n 15 make -C "$source" ARCH=um -j"$(nproc)" linux || return
  strip -o "$directory/linux" "$source/linux" || return
  rm -rf "$source" "$directory/package"
}
