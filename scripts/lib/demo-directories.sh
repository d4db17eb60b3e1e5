# shellcheck shell=bash
# Where scripts/demo keeps everything, and the configuration files it writes there.

DEMO=$PWD/.criquet
DEMO_LOGS=$DEMO/log
DEMO_RUN=$DEMO/run
DEMO_CONTAINERD=$DEMO_RUN/containerd.sock
DEMO_ENDPOINT=unix://$DEMO_RUN/criquet.sock
# Names of this checkout's own, so that two demos on one machine do not meet.
DEMO_TAG=$(printf '%s' "$PWD" | sha256sum | cut -c1-6)
DEMO_NETWORK=criquet-demo-$DEMO_TAG
DEMO_BRIDGE=criquet$DEMO_TAG

# A unix socket's path has at most 107 bytes.
check_demo_path() {
  [ "${#DEMO_CONTAINERD}" -le 100 ] ||
    fail "this checkout's path is too long for a unix socket below it ($DEMO_CONTAINERD): move it to a shorter one"
  case $DEMO in *[[:space:]\"\\]*) fail "this checkout's path has characters that a configuration file cannot carry: $PWD" ;; esac
}

write_demo_configuration() { # REGISTRY_PORT CNI_BIN_DIR
  local host
  mkdir -p "$DEMO_RUN" "$DEMO_LOGS" "$DEMO/cni-conf" "$DEMO/criquet"
  cat >"$DEMO/containerd.toml" <<TOML
version = 3
root = "$DEMO/containerd-root"
state = "$DEMO/containerd-state"
# criquet serves CRI; the other two would use places outside this directory.
disabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri",
                    "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]
[grpc]
  address = "$DEMO_CONTAINERD"
[ttrpc]
  address = "$DEMO_CONTAINERD.ttrpc"
TOML
  cat >"$DEMO/registry.yml" <<YAML
version: 0.1
log: { level: warn, accesslog: { disabled: true } }
storage:
  filesystem: { rootdirectory: $DEMO/registry }
  maintenance: { readonly: { enabled: true }, uploadpurging: { enabled: false } }
http: { addr: "127.0.0.1:$1" }
YAML
  host=$DEMO/hosts/${EXAMPLE_IMAGE%%/*}
  mkdir -p "$host"
  cat >"$host/hosts.toml" <<TOML
server = "http://127.0.0.1:$1"
[host."http://127.0.0.1:$1"]
  capabilities = ["pull", "resolve"]
TOML
  cat >"$DEMO/cni-conf/10-demo.conflist" <<JSON
{
  "cniVersion": "1.0.0",
  "name": "$DEMO_NETWORK",
  "plugins": [
    {
      "type": "bridge", "bridge": "$DEMO_BRIDGE", "isGateway": true, "ipMasq": true, "hairpinMode": true,
      "ipam": {
        "type": "host-local", "ranges": [[{ "subnet": "$(demo_subnet)" }]], "routes": [{ "dst": "0.0.0.0/0" }],
        "dataDir": "$DEMO/cni-ipam"
      }
    },
    { "type": "portmap", "capabilities": { "portMappings": true } }
  ]
}
JSON
  cat >"$DEMO/env" <<SH
export CONTAINER_RUNTIME_ENDPOINT=$DEMO_ENDPOINT
export CRIQUET_PODS_DIR=$DEMO/pods
export CRIQUET_LOGS_DIR=$DEMO/pod-logs
SH
  cat >"$DEMO/criquet/config.toml" <<TOML
listen = "$DEMO_ENDPOINT"
state_dir = "$DEMO/criquet-state"
root_dir = "$DEMO/criquet-root"
[containerd]
address = "unix://$DEMO_CONTAINERD"
[cni]
conf_dir = "$DEMO/cni-conf"
bin_dirs = ["$2"]
cache_dir = "$DEMO/cni-cache"
[image]
hosts_dir = "$DEMO/hosts"
TOML
}

# A subnet that no route of this machine leads to; CRIQUET_DEMO_SUBNET names another.
demo_subnet() {
  local routes start step third
  if [ -n "${CRIQUET_DEMO_SUBNET:-}" ]; then
    printf '%s\n' "$CRIQUET_DEMO_SUBNET"
    return
  fi
  routes=$(ip -4 route show table all)
  start=$((16#${DEMO_TAG:0:2}))
  for ((step = 0; step < 256; step++)); do
    third=$(((start + step) % 256))
    case $routes in *"10.88.$third."*) ;; *) printf '10.88.%d.0/24\n' "$third" && return ;; esac
  done
  fail "no subnet below 10.88.0.0/16 is free: name one by CRIQUET_DEMO_SUBNET"
}

# A loopback port that nobody listens on.
free_port() {
  node -e 'const s = require("net").createServer(); s.listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'
}
