# shellcheck shell=bash
# The workspace's own tools: Node, pnpm at the pinned version, dependencies, the compiled packages.

check_node() {
  command -v node >/dev/null || fail "Node.js is missing: install Node.js 20.11 or newer"
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 11) ? 0 : 1)' ||
    fail "Node.js $(node --version) is too old: install 20.11 or newer"
}

# Makes the function `pnpm` call the pinned version: the one on the PATH when it is that, else a private copy.
provide_pnpm() {
  local directory
  if [ "$(cd / && command pnpm --version 2>/dev/null || true)" = "$PNPM_VERSION" ]; then
    return
  fi
  directory=$(cached "pnpm-$PNPM_VERSION" "fetch pnpm $PNPM_VERSION" fill_pnpm) || fail "pnpm $PNPM_VERSION could not be fetched"
  PATH=$directory/bin:$PATH
  export PATH
}

fill_pnpm() { # DIRECTORY
  mkdir -p "$1/bin" || return
  if command -v npm >/dev/null; then
    npm install --prefix "$1" --no-audit --no-fund --no-save "pnpm@$PNPM_VERSION" || return
    ln -s ../node_modules/.bin/pnpm "$1/bin/pnpm"
  elif command -v corepack >/dev/null; then
    printf '#!/bin/sh\nexec corepack "pnpm@%s" "$@"\n' "$PNPM_VERSION" >"$1/bin/pnpm" || return
    chmod +x "$1/bin/pnpm" || return
    COREPACK_ENABLE_DOWNLOAD_PROMPT=0 "$1/bin/pnpm" --version
  else
    echo "neither npm nor corepack is there to fetch pnpm with: install npm (Debian and Ubuntu: apt-get install npm)"
    return 1
  fi
}

# Installs the dependencies when pnpm-lock.yaml or a package.json changed since the last time.
install_dependencies() { # LOG_DIRECTORY
  local stamp=node_modules/.criquet-installed manifests
  manifests=$(cat pnpm-lock.yaml package.json pnpm-workspace.yaml packages/*/package.json test-e2e/package.json | sha256sum)
  if [ "$(cat "$stamp" 2>/dev/null)" != "$manifests" ]; then
    run_step "install the dependencies" "$1/dependencies.log" pnpm install --frozen-lockfile || return 1
    printf '%s\n' "$manifests" >"$stamp"
  fi
}

# For what runs compiled files and builds none.
need_built() { # FILE
  [ -e "$1" ] || fail "this checkout is not built: run pnpm install && pnpm build"
}

# Compiles every package and bundles the command; what has not changed since the last time is left alone.
build_packages() { # LOG_DIRECTORY
  run_step "build" "$1/build.log" pnpm run build
}
