# shellcheck shell=bash
# containerd's CRI plugin, turned off in its configuration: it would take criquet's pods for its own.

CRI_PLUGINS='"io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri"'

# Prints standard input, a configuration of containerd, with the CRI plugin turned off; everything else stays as it is written.
without_cri_plugin() {
  awk -v plugins="$CRI_PLUGINS" '
    # What stands before the first table belongs to none.
    /^[[:space:]]*\[/ { tables = 1 }
    !tables && !off && match($0, /^[[:space:]]*disabled_plugins[[:space:]]*=[[:space:]]*\[/) {
      $0 = substr($0, 1, RLENGTH) plugins ", " substr($0, RLENGTH + 1)
      off = 1
    }
    { lines[NR] = $0 }
    END {
      if (NR == 0) print "version = 3"
      if (!off) print "disabled_plugins = [" plugins "]"
      for (line = 1; line <= NR; line++) print lines[line]
    }'
}

# Whether the configuration FILE, with what it imports, turns the plugin off.
cri_plugin_is_off() { # FILE
  local disabled plugin
  disabled=$(containerd --config "$1" config dump 2>/dev/null | sed -n '/^disabled_plugins = \[/,/\]/p') || return 1
  for plugin in ${CRI_PLUGINS//[\",]/}; do
    [[ $disabled = *"$plugin"* ]] || return 1
  done
}

# Changes the configuration of this node; containerd has not read it yet.
turn_off_cri_plugin() {
  local current=/dev/null new
  [ ! -e "$CONTAINERD_CONFIG" ] || current=$CONTAINERD_CONFIG
  new=$(mktemp)
  without_cri_plugin <"$current" >"$new"
  if ! cri_plugin_is_off "$new"; then
    rm -f "$new"
    fail "$CONTAINERD_CONFIG: could not turn the CRI plugin off; add to it: disabled_plugins = [$CRI_PLUGINS]"
  fi
  put switch "$CONTAINERD_CONFIG" <"$new"
  rm -f "$new"
}

containerd_version() { containerd --version | awk '{ sub(/^v/, "", $3); print $3 }'; }

version_at_least() { # VERSION OLDEST
  [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}
