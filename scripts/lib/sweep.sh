# shellcheck shell=bash
# Takes away what pods of a private node left on the machine when their runtime could not: by the node's directory, its
# containers' ids, its bridge and its CNI network, never by a program's name.

# Processes that name DIRECTORY in their command line, or whose root directory is made of what lies in it, as a container's is.
# That another mount namespace shows it somewhere says nothing: mounts also spread into those of the machine's own services.
processes_of() { # DIRECTORY
  local directory=$1 process pid
  for process in /proc/[0-9]*; do
    pid=${process#/proc/}
    [ "$pid" = "$$" ] || [ "$pid" = "$BASHPID" ] && continue
    if tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -F -- "$directory/" >/dev/null ||
      # By its last part: the path within a file system of its own has no more.
      awk '$5 == "/"' "$process/mountinfo" 2>/dev/null | grep -F -- "/${directory##*/}/" >/dev/null; then
      printf '%s\n' "$pid"
    fi
  done
}

sweep_processes() { # DIRECTORY
  local pids _
  for _ in 1 2 3 4 5; do
    pids=$(processes_of "$1")
    [ -n "$pids" ] || return 0
    # shellcheck disable=SC2086
    kill -9 $pids 2>/dev/null || true
    sleep 0.2
  done
}

sweep_mounts() { # DIRECTORY
  local mount
  awk -v directory="$1/" 'index($5, directory) == 1 { print $5 }' /proc/self/mountinfo | sort -r |
    while read -r mount; do umount --lazy "$mount" || true; done
}

# Removes cgroups named after the given ids, with what is below them, in every hierarchy.
sweep_cgroups() { # ID...
  local id cgroup
  for id in "$@"; do
    find /sys/fs/cgroup -depth -type d -path "*$id*" 2>/dev/null | while read -r cgroup; do rmdir "$cgroup" 2>/dev/null || true; done
  done
}

# Removes the rules and chains that CNI plugins made for NETWORK, and portmap's own chains when no pod uses them.
sweep_iptables() { # NETWORK
  local iptables chain chains
  for iptables in iptables ip6tables; do
    command -v "$iptables-save" >/dev/null || continue
    chains=$("$iptables-save" -t nat 2>/dev/null | sed -n "s/^-A .*name: \\\\*\"$1\\\\*\".* -j \(CNI-[^ ]*\).*/\1/p" | sort -u)
    for chain in $chains; do
      delete_chain "$iptables" "$chain"
    done
    # Read to its end: grep -q would leave iptables-save with a broken pipe, which pipefail takes for "none" where the table is large.
    if ! "$iptables-save" -t nat 2>/dev/null | grep -- '^-A CNI-HOSTPORT-DNAT ' >/dev/null; then
      for chain in CNI-HOSTPORT-DNAT CNI-HOSTPORT-MASQ CNI-HOSTPORT-SETMARK; do
        delete_chain "$iptables" "$chain"
      done
    fi
  done
}

# Deletes a chain of the nat table with every rule that jumps to it.
delete_chain() { # IPTABLES CHAIN
  local rule
  "$1-save" -t nat 2>/dev/null | grep -- "^:$2 " >/dev/null || return 0
  "$1-save" -t nat 2>/dev/null | sed -n "s/^-A \(.* -[jg] $2\( .*\)\{0,1\}\)$/-D \1/p" | while read -r rule; do
    eval "$1 -w 5 -t nat $rule" || true
  done
  "$1" -w 5 -t nat -F "$2" || true
  "$1" -w 5 -t nat -X "$2" || true
}
