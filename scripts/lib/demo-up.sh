# shellcheck shell=bash
# scripts/demo up: provide, start, run, show.

demo_up() {
  local started=$SECONDS
  [ "$(id -u)" = 0 ] || fail "scripts/demo needs root: it makes network namespaces and mounts"
  check_node
  check_demo_path
  mkdir -p "$DEMO_LOGS" "$DEMO_RUN"

  say "1. What is needed"
  provide_pnpm
  install_dependencies "$DEMO_LOGS"
  build_packages "$DEMO_LOGS"
  install_network_commands
  CONTAINERD_BIN=$(provide_containerd)
  RUNC_BIN=$(provide_runc)
  CNI_BIN=$(provide_cni_plugins)
  REGISTRY=$(provide_registry)
  EXAMPLE_STORAGE=$(provide_example_images)
  say "  containerd $("$CONTAINERD_BIN/containerd" --version | cut -d' ' -f3), $("$RUNC_BIN/runc" --version | head -n 1), CNI plugins in $CNI_BIN"

  say "2. A private containerd, a registry with an example image, criquet"
  remember_machine
  start_daemons
  say "  criquet serves CRI on $DEMO_ENDPOINT"

  say "3. examples/hello.yaml"
  run_example

  say ""
  say "The pod runs. It took $((SECONDS - started)) s. Look at it:"
  print_commands
}

# Prints the storage directory of a registry that holds the example image.
provide_example_images() {
  local packages definitions
  packages=$(provide_example_packages)
  definitions=$(cat test-e2e/dist/images/*.js | sha256sum | cut -c1-12)
  cached "registry/example-$definitions-${packages##*-}" "build the example image $EXAMPLE_IMAGE" \
    node test-e2e/dist/images/fill-registry.js example "$packages" "$REGISTRY"
}

# What `down` must put back: kept from the first start on, until `down`.
remember_machine() {
  [ -e "$DEMO/machine-before" ] && return
  {
    printf 'ip_forward=%s\n' "$(cat /proc/sys/net/ipv4/ip_forward)"
    printf 'run_containerd=%s\n' "$([ -e /run/containerd ] && echo there || echo absent)"
  } >"$DEMO/machine-before.new"
  find /sys/fs/cgroup -type d 2>/dev/null | sort >"$DEMO/cgroups-before"
  mv "$DEMO/machine-before.new" "$DEMO/machine-before"
}

start_daemons() {
  local port
  if ! background_runs "$DEMO_RUN" registry; then
    port=$(free_port)
    rm -rf "$DEMO/registry"
    cp -a "$EXAMPLE_STORAGE" "$DEMO/registry"
    write_demo_configuration "$port" "$CNI_BIN"
    OTEL_TRACES_EXPORTER=none background_start "$DEMO_RUN" registry "$REGISTRY" serve "$DEMO/registry.yml"
    background_wait "$DEMO_RUN" registry 20 node -e "fetch('http://127.0.0.1:$port/v2/').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))" ||
      fail "step 2, start the registry: see $DEMO_RUN/registry.log"
  fi
  PATH="$CONTAINERD_BIN:$RUNC_BIN:$PATH" background_start "$DEMO_RUN" containerd "$CONTAINERD_BIN/containerd" --config "$DEMO/containerd.toml"
  background_wait "$DEMO_RUN" containerd 30 "$CONTAINERD_BIN/ctr" --address "$DEMO_CONTAINERD" version ||
    fail "step 2, start containerd: see $DEMO_RUN/containerd.log"
  background_start "$DEMO_RUN" criquet scripts/criquet serve --config "$DEMO/criquet/config.toml"
  background_wait "$DEMO_RUN" criquet 30 demo_pod ps || fail "step 2, start criquet: see $DEMO_RUN/criquet.log"
}

# `criquet pod …` against the demo's endpoint.
demo_pod() {
  scripts/criquet pod --runtime-endpoint "$DEMO_ENDPOINT" "$@"
}
