# shellcheck shell=bash
# Which runtime the kubelet talks to: a key of its configuration, or a flag in one of the files that its unit reads.

# Prints the configuration on standard input with KEY set to ENDPOINT: in its place, or, with `add`, at the end.
with_key() { # KEY ENDPOINT add|replace
  awk -v key="$1" -v endpoint="$2" -v add="$3" '
    index($0, key ":") == 1 { print key ": \"" endpoint "\""; found = 1; next }
    { print }
    END { if (!found && add == "add") print key ": \"" endpoint "\"" }'
}

# Prints standard input with the value of the flag NAME set to ENDPOINT wherever it stands.
with_flag() { # NAME ENDPOINT
  sed -E "s#(--$1[= ])[^[:space:]\"']+#\1$2#g"
}

# Changes what this node's kubelet is told; it has not read it yet.
point_kubelet() { # ENDPOINT
  local file main=1 files flags
  read -ra files <<<"$KUBELET_CONFIGS"
  read -ra flags <<<"$KUBELET_FLAG_FILES"
  for file in "${files[@]}"; do
    if [ -e "$file" ]; then
      [[ $(head -c 1 "$file") != '{' ]] || fail "$file is JSON: set containerRuntimeEndpoint in it by hand, or make it YAML"
      put switch "$file" < <(configuration_with "$file" "$1" "$([ -n "$main" ] && echo add || echo replace)")
    fi
    main=
  done
  for file in "${flags[@]}"; do
    [ ! -e "$file" ] || put switch "$file" < <(flags_with "$file" "$1")
  done
}

# The key must stand in what the kubelet reads. Images go the same way as containers unless somebody says otherwise.
configuration_with() { # FILE ENDPOINT add|replace
  with_key containerRuntimeEndpoint "$2" "$3" <"$1" | with_key imageServiceEndpoint "$2" replace
}

flags_with() { # FILE ENDPOINT
  with_flag container-runtime-endpoint "$2" <"$1" | with_flag image-service-endpoint "$2"
}
