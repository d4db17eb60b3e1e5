# shellcheck shell=bash
# Provides what the end-to-end suites run on and exports where it is: provide_e2e_environment; for scripts, from a checkout's root. By hand: scripts/e2e.

for part in say cache apt containerd pod-tools registry image-packages build-tools criu kubernetes; do
  # shellcheck disable=SC1090
  . "${BASH_SOURCE[0]%/*}/$part.sh"
done
# shellcheck source=scripts/versions.env
. "${BASH_SOURCE[0]%/*}/../versions.env"

provide_e2e_environment() {
  # What is left behind is looked for in nftables too.
  install_network_commands nft=nftables
  CRIQUET_E2E_CONTAINERD_21=$(containerd_from_apt) || fail "no containerd $CONTAINERD_OLDEST package is to be had here"
  CRIQUET_E2E_REGISTRY=$(provide_registry) || fail "no registry"
  CRIQUET_E2E_IMAGES=$(provide_suite_images) || fail "no test images"
  if go_is_there; then
    install_build_requirements
    CRIQUET_E2E_TOOLS=$(go_tools runc "$RUNC_VERSION") || fail "runc $RUNC_VERSION could not be built"
    CRIQUET_E2E_TOOLS+=:$(go_tools cri-tools "$CRI_TOOLS_VERSION") || fail "crictl and critest could not be built"
    CRIQUET_E2E_CNI_BIN=$(go_tools cni-plugins "$CNI_PLUGINS_VERSION") || fail "the CNI plugins could not be built"
    CRIQUET_E2E_CONTAINERD_24=$(go_tools containerd "$CONTAINERD_VERSION") || fail "containerd could not be built"
    export CRIQUET_E2E_CONTAINERD_24
  else
    CRIQUET_E2E_TOOLS=$(provide_runc) || fail "no runc"
    CRIQUET_E2E_CNI_BIN=$(provide_cni_plugins) || fail "no CNI plugins"
  fi
  CRIQUET_E2E_CRUN=$(provide_crun) || fail "no crun"
  export CRIQUET_E2E_CRUN
  # Without it the checkpoint suite says what it leaves out.
  CRIQUET_E2E_CRIU=$(provide_criu) || CRIQUET_E2E_CRIU=
  export CRIQUET_E2E_CRIU
  export CRIQUET_E2E_CONTAINERD_21 CRIQUET_E2E_REGISTRY CRIQUET_E2E_IMAGES CRIQUET_E2E_TOOLS CRIQUET_E2E_CNI_BIN
}

# Prints the storage directory of a registry that holds the suites' images. Needs the compiled test-e2e package.
provide_suite_images() {
  provide_image_set suite "build the suites' images"
}

# The same with the image of 130 MB that scripts/bench pulls.
provide_bench_images() {
  provide_image_set bench "build the images of scripts/bench"
}

provide_image_set() { # SET DESCRIPTION
  local packages definitions
  packages=$(provide_suite_packages) || return
  definitions=$(cat test-e2e/dist/images/*.js | sha256sum | cut -c1-12)
  cached "registry/$1-$definitions-${packages##*-}" "$2" \
    node test-e2e/dist/images/fill-registry.js "$1" "$packages" "$(provide_registry)"
}
