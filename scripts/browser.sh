#!/usr/bin/env bash
# What the tests of the pages need beside .venv, and nothing where it is there: Chromium, a font, and axe-core, which
# looks for what keeps people with a disability out.
#
#   scripts/browser.sh install    Chromium with apt-get, where root can have it; axe-core into .cache/axe
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly log=.cache/browser.log
readonly axe=.cache/axe axe_package=axe-playwright-python==0.1.8 # holds axe-core 4.12.1 (MPL-2.0), and loads none

main() {
    case "${1:-}" in
        install) install_chromium && install_axe ;;
        *) fail "what to do is '${1:-}'" "scripts/browser.sh install" ;;
    esac
}

install_chromium() {
    ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "not installed: chromium; tests of the pages in a browser are skipped"
        return 0
    fi
    echo "missing for tests of the pages: chromium; installing with apt-get"
    mkdir -p .cache
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium \
        fonts-dejavu-core; } >"$log" 2>&1 </dev/null ||
        fail "apt-get could not install chromium: see $log" "as root: apt-get install chromium"
}

install_axe() {
    [ ! -f "$axe/axe_playwright_python/axe.min.js" ] || return 0
    echo "missing for tests of the pages: axe-core; installing it into $axe"
    mkdir -p .cache
    rm -rf "$axe.new"
    .venv/bin/python -m pip install --quiet --no-deps --disable-pip-version-check --target "$axe.new" "$axe_package" \
        >"$log" 2>&1 </dev/null || fail "pip could not install $axe_package: see $log" "try again"
    rm -rf "$axe"
    mv "$axe.new" "$axe"
}

fail() { # what, remedy
    printf 'error: %s\n  remedy:   %s\n' "$1" "$2" >&2
    exit 1
}

main "$@"
