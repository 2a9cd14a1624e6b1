#!/usr/bin/env bash
# A Docker engine for the tests of the sandbox, apart from any other on this machine.
#
#   scripts/docker_engine.sh install       what such an engine and its image need, where root and apt-get can have it
#   scripts/docker_engine.sh run FOLDER    the engine itself, all it keeps in FOLDER; it ends with whoever started it
#
# The engine listens on FOLDER/docker.sock alone, and changes neither firewall nor network: containers have none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly log=.cache/docker-engine.log

main() {
    case "${1:-}" in
        install) install_packages ;;
        run) run_engine "${2:?the folder of the engine}" ;;
        *) fail "what to do is '${1:-}'" "scripts/docker_engine.sh install, or run FOLDER" ;;
    esac
}

install_packages() {
    local wanted=()
    command -v dockerd >/dev/null || wanted+=(docker.io)
    command -v debootstrap >/dev/null || wanted+=(debootstrap)
    [ ${#wanted[@]} != 0 ] || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || ! may_mount; then
        echo "not installed: ${wanted[*]}; tests of the docker sandbox take the engine of DOCKER_HOST, or are skipped"
        return 0
    fi
    echo "missing for tests of the docker sandbox: ${wanted[*]}; installing with apt-get"
    mkdir -p .cache
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${wanted[@]}"; } \
        >"$log" 2>&1 </dev/null ||
        fail "apt-get could not install ${wanted[*]}: see $log" "as root: apt-get install ${wanted[*]}"
}

may_mount() { # the 21st capability: root in most containers is without, and no engine runs there
    (((0x$(awk '/^CapEff/ { print $2 }' /proc/self/status) >> 21) & 1))
}

run_engine() { # folder
    mkdir -p "$1"
    exec setpriv --pdeathsig TERM dockerd --data-root "$1/data" --exec-root "$1/exec" --pidfile "$1/pid" \
        --host "unix://$1/docker.sock" --bridge=none --iptables=false --ip6tables=false --ip-forward=false \
        --ip-masq=false
}

fail() { # what, remedy
    printf 'error: %s\n  remedy:   %s\n' "$1" "$2" >&2
    exit 1
}

main "$@"
