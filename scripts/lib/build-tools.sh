# shellcheck shell=bash
# Tools built from Go modules by name and version, through the small modules in test-e2e/tools, which pin every
# dependency by its sum. Kept in the cache under their version, Go's version and the sums. A module whose programs take
# long is built in groups, each with a directory of its own.

TOOLS_SOURCE=${BASH_SOURCE[0]%/*}/../../test-e2e/tools

# The package that containerd's and runc's own version variables live in is set by -ldflags, as their releases do.
CONTAINERD_MODULE=github.com/containerd/containerd/v2

go_is_there() {
  local found
  command -v go >/dev/null || return 1
  found=$(go env GOVERSION)
  version_at_least "${found#go}" "$GO_OLDEST"
}

# Why the suites that need these tools cannot run here.
go_missing_reason() {
  if command -v go >/dev/null; then
    printf 'Go %s is too old: %s or newer is needed\n' "$(go env GOVERSION)" "$GO_OLDEST"
  else
    printf 'Go is not installed: %s or newer is needed\n' "$GO_OLDEST"
  fi
}

# Prints the directory of the tools NAME, or of one GROUP of them, building them when they are not in the cache.
go_tools() { # NAME VERSION [GROUP]
  local name=$1 version=$2 group=${3:-}
  grep -qE "^\s*(require )?\S+ ${version//./\\.}( |$)" "$TOOLS_SOURCE/$name/go.mod" ||
    fail "test-e2e/tools/$name/go.mod does not name $version, which scripts/versions.env pins"
  cached "$(go_tools_key "$@")" "build $name $version${group:+ ($group)} from its Go module" build_go_tools "$@"
}

# Whether they are in the cache.
go_tools_built() { # NAME VERSION [GROUP]
  [ -d "$CRIQUET_CACHE/$(go_tools_key "$@")" ]
}

go_tools_key() { # NAME VERSION [GROUP]
  local name=$1 version=$2 group=${3:-} sums
  # Programs of this project's own beside the pins; what is only there for the sums is in tests.
  sums=$(cd "$TOOLS_SOURCE/$name" && { cat go.mod go.sum && find . -name '*.go' ! -name '*_test.go' | LC_ALL=C sort | xargs -r cat; } | sha256sum | cut -c1-12)
  printf 'tools/%s-%s-%s-%s\n' "$name${group:+-$group}" "$version" "$(go env GOVERSION)" "$sums"
}

build_go_tools() { # NAME VERSION [GROUP] DIRECTORY
  local name=$1 version=$2 directory=${*: -1} group=
  [ "$#" -lt 4 ] || group=$3
  cd "$TOOLS_SOURCE/$name" || return
  export GOFLAGS='-buildvcs=false -mod=readonly -trimpath'
  # A build that shares the machine with its user: niced, and said package by package for the progress line.
  name=$name${group:+-$group}
  "build_${name//-/_}" "$version" "$directory"
}

build_cri_tools() { # VERSION DIRECTORY
  local flags="-s -w -X sigs.k8s.io/cri-tools/pkg/version.Version=$1"
  nice go build -v -ldflags "$flags" -o "$2/" sigs.k8s.io/cri-tools/cmd/crictl || return
  nice go build -v -ldflags "-s -w" -o "$2/" github.com/onsi/ginkgo/v2/ginkgo || return
  nice go test -c -ldflags "$flags" -o "$2/critest" sigs.k8s.io/cri-tools/cmd/critest
}

# With seccomp where libseccomp's header is there; every test that needs it then runs.
build_runc() { # VERSION DIRECTORY
  local tags=()
  if pkg-config --exists libseccomp 2>/dev/null; then
    tags=(-tags seccomp)
  else
    echo "libseccomp-dev or pkg-config is missing"
    return 1
  fi
  nice go build -v "${tags[@]}" -ldflags "-s -w -X main.version=${1#v}" -o "$2/" github.com/opencontainers/runc
}

build_cni_plugins() { # VERSION DIRECTORY
  local flags="-s -w -X github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion=$1"
  nice go build -v -ldflags "$flags" -o "$2/" tool
}

build_containerd() { # VERSION DIRECTORY
  local flags="-s -w -X $CONTAINERD_MODULE/version.Version=${1#v} -X $CONTAINERD_MODULE/version.Package=$CONTAINERD_MODULE"
  nice go build -v -ldflags "$flags" -o "$2/" "$CONTAINERD_MODULE/cmd/containerd" "$CONTAINERD_MODULE/cmd/ctr" || return
  # The shim is linked statically, as its releases are: a pod then carries no C library of its own in memory.
  CGO_ENABLED=0 nice go build -v -ldflags "$flags" -o "$2/" "$CONTAINERD_MODULE/cmd/containerd-shim-runc-v2"
}

# What building runc needs beside Go.
install_build_requirements() {
  pkg-config --exists libseccomp 2>/dev/null && command -v gcc >/dev/null && return
  apt_is_there || fail "missing: gcc, pkg-config, libseccomp-dev"
  run_step "install gcc, pkg-config and libseccomp-dev (apt-get)" "$CRIQUET_INSTALL_LOGS/apt-install-build.log" \
    apt_install gcc libc6-dev pkg-config libseccomp-dev || fail "could not install what building runc needs"
}

containerd_from_go() {
  go_tools containerd "$CONTAINERD_VERSION"
}
