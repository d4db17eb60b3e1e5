# shellcheck shell=bash
# Packages taken from the machine's own Debian or Ubuntu mirror and unpacked into a directory, not installed: nothing
# of the system changes and no service starts. Package lists are kept in the cache, apart from the machine's.

# How old the private package lists may be.
APT_LISTS_MAX_AGE_MINUTES=1440

apt_is_there() { command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; }

os_release() { # FIELD
  sed -n "s/^$1=//p" /etc/os-release | tr -d '"'
}

# The machine's own archive as lines "URI RELEASE COMPONENT", as its apt configuration names it.
apt_own_archive() {
  local codename
  codename=$(os_release VERSION_CODENAME)
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v codename="$codename" '$2 == codename || index($2, codename "-") == 1' | sort -u
}

apt_keyring() {
  local keyring
  for keyring in /usr/share/keyrings/"$(os_release ID)"-archive-keyring.{gpg,pgp}; do
    [ -e "$keyring" ] && printf '[signed-by=%s] ' "$keyring" && return
  done
  return 0
}

# Options that make apt work in a directory of the cache. SUITE is "own" for the machine's release.
apt_private() { # SUITE COMMAND...
  local suite=$1 home=$CRIQUET_CACHE/apt/$1 program=$2
  shift 2
  "$program" -o Dir::State::Lists="$home/lists" -o Dir::Cache="$home/cache" -o Dir::Etc::SourceList="$home/sources.list" \
    -o Dir::Etc::SourceParts=/dev/null -o Acquire::Languages=none -o APT::Sandbox::User=root -o Acquire::Retries=3 \
    -o APT::Get::List-Cleanup=false -o quiet::NoProgress=true -q "$@"
}

# Fetches the package lists of SUITE: "own", or the name of a newer suite of the same archive.
apt_refresh() { # SUITE
  local suite=$1 home=$CRIQUET_CACHE/apt/$1 archive
  mkdir -p "$home/lists/partial" "$home/cache/archives/partial" || return
  archive=$(apt_own_archive)
  [ -n "$archive" ] || { say "apt names no archive for release $(os_release VERSION_CODENAME)"; return 1; }
  if [ "$suite" = own ]; then
    awk -v key="$(apt_keyring)" '{ print "deb " key $1 " " $2 " " $3 }' <<<"$archive" >"$home/sources.list"
  else
    awk -v key="$(apt_keyring)" -v suite="$suite" -v codename="$(os_release VERSION_CODENAME)" \
      '$2 == codename && $3 == "main" { print "deb " key $1 " " suite " main" }' <<<"$archive" >"$home/sources.list"
  fi
  apt_private "$suite" apt-get update || return
  : >"$home/refreshed"
}

apt_ready() { # SUITE
  local refreshed=$CRIQUET_CACHE/apt/$1/refreshed
  if [ -z "$(find "$refreshed" -mmin "-$APT_LISTS_MAX_AGE_MINUTES" 2>/dev/null)" ]; then
    run_step "read the package lists ($1)" "$CRIQUET_CACHE/log/apt-$1.log" apt_refresh "$1"
  fi
}

# The version that SUITE offers of PACKAGE; empty when it has none.
apt_candidate() { # SUITE PACKAGE
  apt_private "$1" apt-cache policy "$2" | sed -n 's/^  Candidate: //p' | grep -v '^(none)$' || true
}

# The shared libraries that PACKAGEs depend on, and those that they depend on, as package names.
apt_libraries() { # SUITE PACKAGE...
  local suite=$1
  shift
  apt_private "$suite" apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
    --no-enhances "$@" | sed -n 's/^ *|\{0,1\}\(Pre\)\{0,1\}-\{0,1\}Depends: //p' | grep -E '^(lib|zlib1g)|-libs$' | grep -vE ':|perl' | sort -u
}

# Downloads PACKAGEs of SUITE and unpacks them into DIRECTORY.
apt_unpack() { # SUITE DIRECTORY PACKAGE...
  local suite=$1 directory=$2 downloads package
  shift 2
  apt_ready "$suite" || return
  downloads=$(mktemp -d) || return
  # A list that is a little old may name a package that the mirror has replaced meanwhile.
  (cd "$downloads" && apt_private "$suite" apt-get download "$@") ||
    { apt_refresh "$suite" && (cd "$downloads" && apt_private "$suite" apt-get download "$@"); } || { rm -rf "$downloads"; return 1; }
  for package in "$downloads"/*.deb; do
    dpkg-deb -x "$package" "$directory" || return
  done
  rm -rf "$downloads"
}
