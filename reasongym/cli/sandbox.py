"""`reasongym sandbox`: untrusted code in walls, what the walls are here, and the image of one kind of them."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from reasongym.sandbox import Limits, Result

__all__ = ["command"]

WALL_TIME_STATUS = 124
FAILURE_STATUS = 125
"""Of the sandbox itself. Both as timeout(1) and container engines have them; a program may exit with them too."""
INTERRUPTED_STATUS = 130
MAX_STDIN = 64 * 2**20
PROBED = ("docker", "local")
LEFT_OPEN = {
    "user": "rights inside are those of a user of the machine, without capabilities: a way out would find its files",
    "mount": "the machine's files can be read, and written where its user may",
    "pid": "the machine's processes can be seen; one that hides outlives its job",
    "network": "with the filter on system calls gone too, the machine's network is reached; its tables can be read",
    "ipc": "with the filter on system calls gone too, memory that programs of the machine share is found",
    "uts": "the machine's name can be read",
    "cgroup": "memory is counted by the agent every 50 ms: hidden shared memory goes up to processes x memory_mb",
    "seccomp": "all of the kernel's calls: sockets within the network namespace, keys, tracing, bpf, hidden CPU time",
    "capabilities": "a job has its namespace's every right: mounts, its agent's memory where one user owns both",
    "rlimits": "sizes of files, open files, core dumps and each process's memory are unlimited",
    "watch": "CPU time and memory are limited for each process, not for all of a job together",
    "cleaning": "a job's files are there for the next one on its worker",
    "gvisor": "faults of the machine's kernel, which all jobs share",
}
ALWAYS_OPEN = ("timing, and caches that processors and jobs share", "what a GPU is asked: none is passed on",
               "covert messages between jobs that work together, by counters of the kernel")


@click.group()
@click.pass_context
def command(context: click.Context) -> None:
    """Run untrusted code behind walls, and say what those are on this machine.

    \b
    reasongym sandbox run --timeout 5 answer.py
    reasongym sandbox info --json
    reasongym sandbox build
    """
    from reasongym.sandbox.leftovers import ending_cleanly

    context.with_resource(ending_cleanly())


@command.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--backend", default="auto", show_default=True, type=click.Choice(["auto", "docker", "local", "none"]),
              help="auto is docker where an engine has the image, else local; none isolates nothing.")
@click.option("--timeout", "wall_s", type=float, metavar="S", help="Seconds of wall time.  [default: 10]")
@click.option("--cpu-s", type=float, metavar="S", help="Seconds of CPU time, of all its processes together.  "
              "[default: that of --timeout]")
@click.option("--memory-mb", type=int, metavar="M", help="MiB of memory.  [default: 512]")
@click.option("--processes", type=int, metavar="N", help="Processes and threads.  [default: 16]")
@click.option("--open-files", type=int, metavar="N", help="Open files of each process.  [default: 64]")
@click.option("--file-mb", type=int, metavar="M", help="MiB of the largest file.  [default: 16]")
@click.option("--work-mb", type=int, metavar="M", help="MiB that can be written in all.  [default: 32]")
@click.option("--output-kb", type=int, metavar="K", help="KiB kept of each output stream.  [default: 1024]")
@click.option("--without", multiple=True, metavar="LAYER", help="A layer of isolation to give up; may be repeated.")
@click.option("--unsafe-no-isolation", is_flag=True, help="Allow --backend none: FILE can do all that you can.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(file: Path, arguments: tuple[str, ...], backend: str, without: tuple[str, ...], unsafe_no_isolation: bool,
        **limits: float | None) -> None:
    """Run one Python FILE with ARGUMENTS; standard input is passed on, its output printed when it ends.

    Exit status: the program's; 128 + N if signal N ended it (CPU time: 152, or 137 where it ignored that or several
    processes used it; memory: 137, or the program's own 1 after a MemoryError); 124 at the wall time limit; 125 if the
    sandbox failed or the output cannot be written; 130 after an interrupt, 143 after SIGTERM, 129 after SIGHUP; 2 if
    the request cannot be carried out.
    What a limit ended is said on standard error.
    """
    from reasongym.sandbox import Job, SandboxError, open_sandbox

    _occupy_streams()
    if not file.is_file():  # a pipe would be waited for, a device read without end
        raise click.UsageError(f"FILE is no regular file: got {str(file)!r}, expected a Python program")
    try:
        job = Job(files={file.name: file.read_bytes()}, main=file.name, arguments=arguments, stdin=_standard_input(),
                  limits=_limits(limits))
        with open_sandbox(backend, workers=1, without=without, unsafe_no_isolation=unsafe_no_isolation) as sandbox:
            result = sandbox.run(job)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except SandboxError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(FAILURE_STATUS)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED_STATUS)
    _pass_on(result)
    if said := _said_of(result, job.limits):
        click.echo(f"reasongym sandbox: {said}", err=True)
    sys.exit(_status(result))


def _occupy_streams() -> None:
    """A standard stream that the shell closed would else be the number of a job's file."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def _pass_on(result: Result) -> None:
    """Both streams, or the end of this process where one cannot be written."""
    streams = (("standard output", sys.stdout, result.stdout), ("standard error", sys.stderr, result.stderr))
    for name, stream, data in streams:
        if not data:
            continue
        try:
            if stream is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            stream.buffer.write(data)
            stream.flush()
        except OSError as error:
            if stream is not None:  # what is left in its buffer would fail once more at the end
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            click.echo(f"error: {name} of the program cannot be passed on: {error.strerror}", err=True)
            sys.exit(FAILURE_STATUS)


def _standard_input() -> bytes:
    """Nothing from a terminal: a program that asks for no input would else wait for the end of it."""
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    data = sys.stdin.buffer.read(MAX_STDIN + 1)
    if len(data) > MAX_STDIN:
        raise click.UsageError(f"standard input is too long: got more than {MAX_STDIN} bytes, which is the most; "
                               "remedy: give the program less")
    return data


def _limits(given: Mapping[str, float | None]) -> Limits:
    from reasongym.sandbox import Limits

    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if "wall_s" in chosen:
        chosen.setdefault("cpu_s", chosen["wall_s"])
    return Limits(**chosen)


def _said_of(result: Result, limits: Limits) -> str:
    from reasongym.sandbox import Ending

    own_word = ", by its own MemoryError" if result.status == 1 else ""
    ended = {Ending.WALL_TIME: f"stopped after {limits.wall_s:g} s of wall time (--timeout)",
             Ending.CPU_TIME: f"stopped after {limits.cpu_s:g} s of CPU time (--cpu-s)",
             Ending.MEMORY: f"out of memory at {limits.memory_mb} MiB (--memory-mb){own_word}"}.get(result.ending, "")
    cut = f"output beyond {limits.output_kb} KiB was dropped (--output-kb)" if result.cut else ""
    weak = "nothing was isolated" if result.layers == ("none",) else ""
    return "; ".join(part for part in (ended, cut, weak) if part)


def _status(result: Result) -> int:
    from reasongym.sandbox import Ending

    return WALL_TIME_STATUS if result.ending is Ending.WALL_TIME else result.status


@command.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def info(as_json: bool) -> None:
    """Say which backends work here, their layers of isolation, what that leaves open, and the default limits.

    A program is run on each to see. Exit status: 0 if one works, 1 if none does.
    """
    from reasongym.sandbox import Limits

    backends = {name: _probe(name) for name in PROBED}
    auto = next((name for name, found in backends.items() if found["available"]), None)
    found = {"auto": auto, "backends": backends, "always_open": ALWAYS_OPEN, "limits": asdict(Limits())}
    if as_json:
        click.echo(json.dumps(found, indent=1))
    else:
        _print_info(found)
    sys.exit(0 if auto else 1)


def _probe(name: str) -> dict[str, Any]:
    from reasongym.sandbox import Job, SandboxError, open_sandbox

    try:
        with open_sandbox(name, workers=1) as sandbox:
            result = sandbox.run(Job(files={"main.py": b"print('in')"}))
            walls = sandbox.name
    except SandboxError as error:
        return {"available": False, "why": str(error)}
    if result.stdout != b"in\n":
        return {"available": False, "why": f"a program that prints ended with {result.status}: {result.stderr!r:.300}"}
    left_open = {layer: text for layer, text in LEFT_OPEN.items() if layer not in result.layers}
    return {"available": True, "walls": walls, "layers": result.layers, "left_open": left_open}


def _print_info(found: Mapping[str, Any]) -> None:
    for name, backend in found["backends"].items():
        chosen = ", what `auto` takes" if name == found["auto"] else ""
        if not backend["available"]:
            click.echo(f"{name}: not available: {backend['why']}\n")
            continue
        walls = f" (walls of {backend['walls']})" if backend["walls"] != name else ""
        click.echo(f"{name}{walls}{chosen}: {', '.join(backend['layers'])}")
        for layer, text in backend["left_open"].items():
            click.echo(f"  without {layer}: {text}")
        click.echo()
    click.echo("open with every backend:")
    for text in found["always_open"]:
        click.echo(f"  {text}")
    click.echo("\nlimits of a job, by default: "
               + ", ".join(f"{name} {value:g}" for name, value in found["limits"].items()))


@command.command()
@click.option("--pull", "way", flag_value="pull", help="From sandbox/Dockerfile, whose base image is pulled.")
@click.option("--from-debootstrap", "way", flag_value="debootstrap",
              help="From Debian packages, where no image can be pulled.")
@click.option("--force", is_flag=True, help="Even where the engine has the image.")
def build(way: str | None, force: bool) -> None:
    """Make the image of the docker backend; without an option, in the first way that works here."""
    from reasongym.sandbox import SandboxError

    try:
        from reasongym.sandbox.image import build_image
    except ImportError as error:
        click.echo(f"error: the docker backend cannot be loaded ({error}); remedy: pip install docker", err=True)
        sys.exit(FAILURE_STATUS)
    try:
        tag = build_image(way=way or "auto", force=force,  # type: ignore[arg-type]
                          progress=lambda line: click.echo(line, err=True))
    except SandboxError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(FAILURE_STATUS)
    click.echo(tag)
