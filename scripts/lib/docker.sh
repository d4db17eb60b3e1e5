# shellcheck shell=bash
# Programs that scripts with containers of Docker need, and that nobody installs by the way.

need_docker() {
  need_program docker "install Docker Engine"
  docker info >/dev/null 2>&1 || fail "the docker engine does not answer: start it, or see what \`docker info\` says"
}

need_program() { # PROGRAM HOW
  command -v "$1" >/dev/null || fail "$1 is missing: $2"
}
