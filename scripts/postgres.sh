#!/usr/bin/env bash
# A PostgreSQL server for the tests of the results store, apart from any other on this machine.
#
#   scripts/postgres.sh install       the server's programs, where root and apt-get can have them
#   scripts/postgres.sh run FOLDER    the server itself, all it keeps in FOLDER; it ends with whoever started it
#
# It listens on a socket in FOLDER alone: postgresql://postgres@/postgres?host=FOLDER, for whoever may enter FOLDER.
# PostgreSQL refuses to run as root, so for root it runs as the user `postgres`, who then owns FOLDER.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly log=.cache/postgres.log

main() {
    case "${1:-}" in
        install) install_packages ;;
        run) run_server "${2:?the folder of the server}" ;;
        *) fail "what to do is '${1:-}'" "scripts/postgres.sh install, or run FOLDER" ;;
    esac
}

install_packages() {
    [ -z "$(programs)" ] || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "not installed: postgresql; tests of the results store on PostgreSQL are skipped"
        return 0
    fi
    echo "missing for tests of the results store: postgresql; installing with apt-get"
    mkdir -p .cache
    # The package would start a server of the whole machine: a cluster is made here, and none by it.
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] ||
        echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends postgresql; } \
        >"$log" 2>&1 </dev/null ||
        fail "apt-get could not install postgresql: see $log" "as root: apt-get install postgresql"
}

programs() { # the folder of initdb and postgres, the newest; empty where there is none
    local found
    found=$(command -v initdb || true)
    [ -n "$found" ] || found=$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort --version-sort | tail -n 1 || true)
    [ -z "$found" ] || dirname "$(readlink -f "$found")"
}

run_server() { # folder
    local bin as=()
    bin=$(programs)
    [ -n "$bin" ] || fail "PostgreSQL is not installed" "scripts/postgres.sh install"
    mkdir -p "$1"
    chmod 700 "$1"
    if [ "$(id -u)" = 0 ]; then
        chown postgres "$1"
        as=(--reuid postgres --regid postgres --clear-groups)
    fi
    cd "$1"
    setpriv "${as[@]}" "$bin/initdb" --pgdata "$1/data" --username postgres --auth-local trust --encoding UTF8 \
        --locale C.UTF-8 --no-sync >/dev/null
    # INT is its fast stop: TERM would wait for its clients to leave.
    exec setpriv "${as[@]}" --pdeathsig INT "$bin/postgres" -D "$1/data" -c listen_addresses= \
        -c "unix_socket_directories=$1" -c fsync=off
}

fail() { # what, remedy
    printf 'error: %s\n  remedy:   %s\n' "$1" "$2" >&2
    exit 1
}

main "$@"
