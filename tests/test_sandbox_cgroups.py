"""Where control groups may be made, on machines that this one is not, and what real ones count where there are any."""

from __future__ import annotations

from pathlib import Path

import pytest
from sandbox_jobs import run

from reasongym.sandbox import Ending, Limits, open_sandbox
from reasongym.sandbox.cgroups import ControlGroup, Groups


def machine(folder: Path, mounts: dict[str, str], membership: str, **files: str) -> Groups:
    """mounts: place below `folder` -> kind and options; files: path with `__` for `/` and `--` for `.` -> content."""
    for place in mounts:
        (folder / place).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("--", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    lines = [f"none {folder / place} {kind} 0 0\n" for place, kind in mounts.items()]
    (folder / "mounts").write_text("".join(lines))
    (folder / "cgroup").write_text(membership)
    return Groups(mounts=folder / "mounts", membership=folder / "cgroup")


def test_version_1_groups_lie_below_the_own_ones(tmp_path: Path) -> None:
    (tmp_path / "memory/box/inner").mkdir(parents=True)
    mounts = {"memory": "cgroup rw,memory", "pids": "cgroup rw,pids"}
    groups = machine(tmp_path, mounts, "4:memory:/box/inner\n3:pids:/\n")
    assert groups.available
    made = groups.make(None)
    assert len(list((tmp_path / "memory/box/inner").iterdir())) == len(list((tmp_path / "pids").iterdir())) == 1
    made.remove()
    assert not list((tmp_path / "pids").iterdir())


def test_one_controller_alone_is_none(tmp_path: Path) -> None:
    assert not machine(tmp_path, {"memory": "cgroup rw,memory"}, "4:memory:/\n").available


UNIFIED = {"unified": "cgroup2 rw"}


def test_a_version_2_group_lies_beside_the_own_one(tmp_path: Path) -> None:
    (tmp_path / "unified/app/own").mkdir(parents=True)
    assert not machine(tmp_path, UNIFIED, "0::/app/own\n").available  # nothing is delegated
    files = {"unified__app__cgroup--subtree_control": "cpu memory pids",
             "unified__app__own__cgroup--subtree_control": "",
             "unified__app__own__memory--max": "max\n", "unified__app__own__pids--max": "max\n"}
    groups = machine(tmp_path, UNIFIED, "0::/app/own\n", **files)
    assert groups.available
    groups.make(None)
    assert [path.name.split("-")[0] for path in (tmp_path / "unified/app").iterdir() if "reasongym" in path.name]


def test_a_limit_on_this_process_is_not_escaped(tmp_path: Path) -> None:
    files = {"unified__app__cgroup--subtree_control": "memory pids", "unified__app__own__cgroup--subtree_control": "",
             "unified__app__own__memory--max": "1000000\n", "unified__app__own__pids--max": "max\n"}
    assert not machine(tmp_path, UNIFIED, "0::/app/own\n", **files).available


def test_no_group_is_made_above_the_root_of_a_container(tmp_path: Path) -> None:
    files = {"cgroup--subtree_control": "memory pids"}
    assert not machine(tmp_path, UNIFIED, "0::/\n", **files).available


def test_version_2_limits_and_kills_are_written_and_read(tmp_path: Path) -> None:
    folder = tmp_path / "group"
    group = ControlGroup({"memory": folder, "pids": folder})
    group.create(None)
    for name in ("memory.max", "memory.swap.max", "pids.max"):
        (folder / name).write_text("max")
    (folder / "memory.events").write_text("oom 1\noom_kill 1\n")
    group.prepare(Limits(memory_mb=100, processes=5))
    assert [(folder / name).read_text() for name in ("memory.max", "memory.swap.max", "pids.max")] == [
        str((100 + 48) * 2**20), "0", "7"]  # with room for the agent
    assert not group.memory().ran_out
    (folder / "memory.events").write_text("oom 2\noom_kill 2\n")
    assert group.memory().ran_out


def test_groups_of_a_killed_host_are_removed_by_the_next(tmp_path: Path) -> None:
    mounts = {"memory": "cgroup rw,memory", "pids": "cgroup rw,pids"}
    (tmp_path / "memory/reasongym-4194305-0").mkdir(parents=True)  # above the highest process number there is
    machine(tmp_path, mounts, "4:memory:/\n3:pids:/\n")
    assert not list((tmp_path / "memory").iterdir())


@pytest.mark.parametrize("without", [frozenset(), frozenset({"cgroup"})])
def test_a_program_that_fills_memory_is_ended_with_control_groups_and_without(without: frozenset[str]) -> None:
    source = """
        import mmap, os, time
        shared = []
        for _ in range(6):
            if os.fork() == 0:
                block = mmap.mmap(-1, 40 * 2**20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                for page in range(0, len(block), 4096):
                    block[page] = 1
                time.sleep(60)
        while True:
            os.wait()
    """
    with open_sandbox("local", workers=1, without=without) as sandbox:
        result = run(sandbox, source, memory_mb=100)
        assert result.ending is Ending.MEMORY
        assert run(sandbox, "print(1)").stdout == b"1\n"
        assert ("cgroup" in result.layers) <= (result.peak_mb is not None)
