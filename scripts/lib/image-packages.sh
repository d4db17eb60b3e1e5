# shellcheck shell=bash
# The packages that images are made from, unpacked into one directory each: programs below `programs`, the shared
# libraries they need below `libraries`.

# Prints the directory of the packages for the example image: busybox.
provide_example_packages() {
  cached "image-packages/example-$(os_release VERSION_CODENAME)" "unpack busybox privately" fill_image_packages busybox
}

# Prints the directory of the packages for the images of critest and the other suites.
provide_suite_packages() {
  cached "image-packages/suite-$(os_release VERSION_CODENAME)" "unpack the packages of the test images privately" \
    fill_image_packages busybox nginx coreutils procps util-linux
}

# Prints the directory of the packages for the images of Kubernetes' own suites. dig's libraries are in a package that is
# not named like one.
provide_kubernetes_packages() {
  cached "image-packages/kubernetes-$(os_release VERSION_CODENAME)" "unpack the packages of Kubernetes' test images privately" \
    fill_image_packages busybox nginx bash util-linux bind9-dnsutils bind9-host curl netcat-openbsd iproute2 iperf socat hostname libc-bin
}

fill_image_packages() { # PACKAGE... DIRECTORY
  local directory=${*: -1} packages=("${@:1:$#-1}") libraries
  apt_ready own || return
  # shellcheck disable=SC2207
  libraries=($(apt_libraries own "${packages[@]}")) || return
  mkdir -p "$directory/programs" "$directory/libraries" || return
  apt_unpack own "$directory/programs" "${packages[@]}" || return
  apt_unpack own "$directory/libraries" "${libraries[@]}"
}
