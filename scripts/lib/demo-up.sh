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
  install_dependencies "$DEMO_LOGS" || fail "step 1, install the dependencies: see $DEMO_LOGS/dependencies.log"
  build_packages "$DEMO_LOGS" || fail "step 1, build: see $DEMO_LOGS/build.log"
  install_network_commands
  CONTAINERD_BIN=$(provide_containerd) || fail "step 1: no containerd"
  RUNC_BIN=$(provide_runc) || fail "step 1: no runc"
  CNI_BIN=$(provide_cni_plugins) || fail "step 1: no CNI plugins"
  REGISTRY=$(provide_registry) || fail "step 1: no registry"
  EXAMPLE_STORAGE=$(provide_example_images) || fail "step 1: no example image"
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
  packages=$(provide_example_packages) || return
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
  # shellcheck disable=SC1091
  (. "$DEMO/env" && exec scripts/criquet pod "$@")
}

# Runs the example pod, shows its logs, fetches its page, runs a command in it. A pod of an earlier run is replaced.
run_example() {
  local ip
  if demo_pod inspect hello >/dev/null 2>&1; then
    say "  the pod of an earlier run is replaced"
    remove_demo_pods || fail "step 3, remove the pod of an earlier run: see $DEMO_RUN/criquet.log"
  fi
  demo_pod run examples/hello.yaml || fail "step 3, run examples/hello.yaml: see $DEMO_RUN/criquet.log"

  say ""
  say "  its logs (criquet pod logs -c check-page hello; -c ticker)"
  demo_pod logs -c check-page hello | sed 's/^/    /'
  sleep 1
  demo_pod logs -c ticker hello | sed 's/^/    /'

  ip=$(demo_pod_ip) || fail "step 3: the pod has no address: see $DEMO_RUN/criquet.log"
  say "  its page (http://$ip:8080/)"
  fetch_page "http://$ip:8080/" | sed 's/^/    /' || fail "step 3: http://$ip:8080/ does not answer"

  say "  a command in it (criquet pod exec -c web hello -- …)"
  # shellcheck disable=SC2016
  demo_pod exec -c web hello -- sh -c 'echo "I am process $$ on $(hostname), my limit is $(cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null) bytes"' |
    sed 's/^/    /' || fail "step 3: the command failed"
}

demo_pod_ip() {
  demo_pod inspect hello --output json |
    node -e 'let s = ""; process.stdin.on("data", (d) => (s += d)).on("end", () => {
      const [ip] = JSON.parse(s).ips; if (!ip) process.exit(1); console.log(ip); })'
}

# The server may need a moment to listen.
fetch_page() { # URL
  node -e 'const ask = (left) => fetch(process.argv[1]).then((r) => r.text()).then((t) => process.stdout.write(t)).catch((e) => {
    if (left === 0) { console.error(String(e.cause ?? e)); process.exit(1); } setTimeout(ask, 200, left - 1); }); ask(25);' "$1"
}

print_commands() {
  local ip
  ip=$(demo_pod_ip)
  cat <<TEXT

  . $DEMO/env                                    # the endpoint, for criquet and crictl alike
  scripts/criquet pod ps
  scripts/criquet pod logs -f -c ticker hello
  scripts/criquet pod exec hello -- ps
  scripts/criquet pod inspect hello
  curl http://$ip:8080/
TEXT
  if command -v crictl >/dev/null; then
    # shellcheck disable=SC2016
    printf '\n  With crictl: crictl pods; crictl ps; crictl images; crictl exec -s "$(crictl ps -q --name web)" ps\n'
  else
    printf '\n  With crictl, where it is installed: crictl pods; crictl ps; crictl images; crictl exec -s CONTAINER ps\n'
  fi
  printf '\n  scripts/demo down                              # removes every trace\n'
}
