# shellcheck shell=bash
# What the suites under a real Kubernetes run on: its programs, built from their Go module in groups that take from one to
# ten minutes each when nothing is in Go's cache; etcd from a package; CoreDNS; and a registry that also holds the images of
# Kubernetes' own suites. Each provide_* function adds to CRIQUET_E2E_TOOLS and sets CRIQUET_E2E_KUBERNETES_IMAGES, after
# provide_e2e_environment.

# The version is compiled in, as Kubernetes' releases do: the suites parse it.
kubernetes_flags() { # VERSION
  local base=k8s.io/component-base/version client=k8s.io/client-go/pkg/version major minor
  IFS=. read -r major minor _ <<<"${1#v}"
  printf '%s' "-s -w -X $base.gitVersion=$1 -X $base.gitMajor=$major -X $base.gitMinor=$minor -X $base.gitTreeState=clean" \
    " -X $client.gitVersion=$1 -X $client.gitMajor=$major -X $client.gitMinor=$minor"
}

build_kubernetes_images() { # VERSION DIRECTORY
  local images=k8s.io/kubernetes/test/images source name
  CGO_ENABLED=0 nice go build -v -ldflags "$(kubernetes_flags "$1")" -o "$2/" "$images/agnhost" "$images/nonewprivs" || return
  CGO_ENABLED=0 nice go build -v -ldflags "-s -w" -o "$2/" ./pause ./shell || return
  # Files that those images hold, which are in the module beside the programs.
  source=$(dirname "$(go list -f '{{.Dir}}' "$images/agnhost")") || return
  mkdir "$2/files" || return
  cp "$source"/agnhost/porter/localhost.{crt,key} "$2/files/" || return
  for name in kitten nautilus; do
    cp -r "$source/$name/html" "$2/files/$name" || return
  done
  chmod -R u+w "$2/files"
}

build_kubernetes_kubelet() { # VERSION DIRECTORY
  nice go build -v -ldflags "$(kubernetes_flags "$1")" -o "$2/" k8s.io/kubernetes/cmd/kubelet
}

build_kubernetes_cluster() { # VERSION DIRECTORY
  local commands=k8s.io/kubernetes/cmd
  nice go build -v -ldflags "$(kubernetes_flags "$1")" -o "$2/" "$commands/kube-apiserver" "$commands/kube-controller-manager" \
    "$commands/kube-scheduler" "$commands/kube-proxy" "$commands/kubectl"
}

build_kubernetes_conformance() { # VERSION DIRECTORY
  nice go build -v -ldflags "-s -w" -o "$2/" github.com/onsi/ginkgo/v2/ginkgo || return
  nice go test -c -ldflags "$(kubernetes_flags "$1")" -o "$2/e2e.test" k8s.io/kubernetes/test/e2e
}

# The suite starts the kubelet that lies beside it.
build_kubernetes_node() { # VERSION DIRECTORY
  nice go test -c -ldflags "$(kubernetes_flags "$1")" -o "$2/e2e_node.test" k8s.io/kubernetes/test/e2e_node || return
  ln -s "../$(basename "$(kubernetes_tools kubelet)")/kubelet" "$2/kubelet"
}

build_coredns() { # VERSION DIRECTORY
  CGO_ENABLED=0 nice go build -v -ldflags "-s -w -X github.com/coredns/coredns/coremain.GitCommit=$1" -o "$2/coredns" .
}

kubernetes_tools() { # GROUP
  go_tools kubernetes "$KUBERNETES_VERSION" "$1"
}

# About how many seconds it takes on two cores to build what is not in the cache of GROUPs, CoreDNS with the images; 0 when everything is there.
kubernetes_build_seconds() { # GROUP...
  local group seconds=0
  local -A takes=([images]=180 [kubelet]=300 [cluster]=600 [conformance]=150 [node]=450)
  for group in "$@"; do
    go_tools_built kubernetes "$KUBERNETES_VERSION" "$group" || seconds=$((seconds + takes[$group]))
  done
  printf '%s\n' "$seconds"
}

# A kubelet, and images for its pods.
provide_kubelet() {
  local directory images
  images=$(provide_kubernetes_images) || fail "no images for Kubernetes' suites"
  export CRIQUET_E2E_KUBERNETES_IMAGES=$images
  directory=$(kubernetes_tools kubelet) || fail "the kubelet $KUBERNETES_VERSION could not be built"
  add_tools "$directory"
}

# A control plane beside it.
provide_cluster() {
  local directory
  provide_kubelet
  directory=$(kubernetes_tools cluster) || fail "Kubernetes $KUBERNETES_VERSION could not be built"
  add_tools "$directory"
  add_tools "$(go_tools coredns "$COREDNS_VERSION")" || fail "CoreDNS $COREDNS_VERSION could not be built"
  directory=$(provide_etcd) || fail "etcd is needed and is not to be had here: install etcd-server"
  add_tools "$directory"
}

# Kubernetes' conformance suite.
provide_conformance() {
  local directory
  provide_cluster
  directory=$(kubernetes_tools conformance) || fail "Kubernetes' suite $KUBERNETES_VERSION could not be built"
  add_tools "$directory"
}

# Kubernetes' node suite, which starts a control plane of its own.
provide_node_conformance() {
  local directory
  provide_kubelet
  directory=$(kubernetes_tools node) || fail "Kubernetes' node suite $KUBERNETES_VERSION could not be built"
  add_tools "$directory"
  directory=$(provide_etcd) || fail "etcd is needed and is not to be had here: install etcd-server"
  add_tools "$directory"
}

# Any of kubelet, cluster, conformance, node, as a list with commas.
provide_kubernetes() { # NAMES
  local name
  for name in ${1//,/ }; do
    case $name in
      kubelet | cluster | conformance) "provide_$name" ;;
      node) provide_node_conformance ;;
      *) fail "kubelet, cluster, conformance or node, not $name" ;;
    esac
  done
}

add_tools() { # DIRECTORY
  [ -n "$1" ] || return
  [[ ":$CRIQUET_E2E_TOOLS:" == *":$1:"* ]] || export CRIQUET_E2E_TOOLS=$CRIQUET_E2E_TOOLS:$1
}

# Prints a directory that holds etcd of version ETCD_OLDEST or newer: the machine's own, its distribution's, or Debian's.
provide_etcd() {
  local suites=(own) suite candidate directory
  if command -v etcd >/dev/null && version_at_least "$(etcd --version | sed -n 's/^etcd Version: //p')" "$ETCD_OLDEST"; then
    dirname "$(command -v etcd)"
    return
  fi
  apt_is_there || return 1
  [ "$(os_release ID)" != debian ] || suites+=("$ETCD_DEBIAN_SUITE")
  for suite in "${suites[@]}"; do
    for directory in "$CRIQUET_CACHE/etcd/$suite-"*/usr/bin; do
      [ -d "$directory" ] && printf '%s\n' "$directory" && return
    done
  done
  for suite in "${suites[@]}"; do
    apt_ready "$suite" || continue
    candidate=$(apt_candidate "$suite" etcd-server)
    if [ -n "$candidate" ] && version_at_least "$candidate" "$ETCD_OLDEST"; then
      directory=$(cached "etcd/$suite-${candidate//[^0-9a-zA-Z.+-]/_}" "unpack etcd $candidate privately (Debian package, suite: $suite)" \
        fill_etcd "$suite") || return 1
      printf '%s/usr/bin\n' "$directory"
      return
    fi
  done
  return 1
}

fill_etcd() { # SUITE DIRECTORY
  apt_unpack "$1" "$2" etcd-server || return
  "$2/usr/bin/etcd" --version
}

# Prints the storage directory of a registry that holds the suites' images and those of Kubernetes' own suites.
provide_kubernetes_images() {
  local suite packages programs coredns definitions
  suite=$(provide_suite_images) || return
  packages=$(provide_kubernetes_packages) || return
  programs=$(kubernetes_tools images) || return
  coredns=$(go_tools coredns "$COREDNS_VERSION") || return
  definitions=$({ cat test-e2e/dist/images/*.js && printf '%s\n' "${programs##*/}" "${coredns##*/}"; } | sha256sum | cut -c1-12)
  cached "registry/kubernetes-$definitions-${packages##*-}" "build the images of Kubernetes' suites" fill_kubernetes_images "$suite" "$packages" \
    "$programs" "$coredns"
}

fill_kubernetes_images() { # SUITE_IMAGES PACKAGES PROGRAMS COREDNS DIRECTORY
  cp -a "$1/." "$5/" || return
  node test-e2e/dist/images/fill-registry.js kubernetes "$2" "$(provide_registry)" "$5" "$3" "$4" "$COREDNS_VERSION"
}
