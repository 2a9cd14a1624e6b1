"""The image of the docker sandbox: its name follows its recipe, its files are what was chosen; and memory counts."""

from __future__ import annotations

import io
import subprocess
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reasongym.sandbox import SandboxError, image, image_debian, image_programs
from reasongym.sandbox.docker_api import Engine
from reasongym.sandbox.docker_container import masked_paths
from reasongym.sandbox.docker_counts import Counts


@pytest.mark.parametrize("change", [
    lambda patch: patch.setattr(image_debian, "ROOTS", (*image_debian.ROOTS, "gcc")),
    lambda patch: patch.setattr(image, "DOCKERFILE", Path(__file__)),
])
def test_a_changed_recipe_has_another_tag(change: Callable[[pytest.MonkeyPatch], None],
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    before = image.tag()
    change(monkeypatch)
    assert image.tag() != before


def test_the_closure_takes_what_runs_and_not_what_only_scripts_need() -> None:
    depends = dict.fromkeys(image_debian.ROOTS, ()) | {
        "python3": ("python3.11", "dpkg"), "python3.11": ("libc6", "absent-alternative"), "libc6": ("python3",),
        "dpkg": ("tar",), "tar": (), "apt": ()}
    assert image_debian.closure(depends) == {*image_debian.ROOTS, "python3.11", "libc6"}


def test_a_release_without_the_packages_is_an_error() -> None:
    with pytest.raises(SandboxError, match=r"no package .*python3.*; remedy:"):
        image_debian.closure({"coreutils": ()})


def package(folder: Path) -> Path:
    """An archive as a package holds it; `dpkg-deb --fsys-tarfile` is stood in for by `cat`."""
    path = folder / "data.tar"
    with tarfile.open(path, "w") as tar:
        for name, kind, mode in (("./bin/su", tarfile.REGTYPE, 0o4777), ("./usr/share/doc/su", tarfile.REGTYPE, 0o644),
                                 ("./dev/sda", tarfile.BLKTYPE, 0o666), ("./usr/lib", tarfile.DIRTYPE, 0o2775),
                                 ("./lib/link", tarfile.LNKTYPE, 0o644), ("./etc/shadow", tarfile.REGTYPE, 0o640)):
            member = tarfile.TarInfo(name)
            member.type, member.mode, member.uid, member.linkname = kind, mode, 42, "./bin/su"
            member.size = 4 if kind == tarfile.REGTYPE else 0
            tar.addfile(member, io.BytesIO(b"data") if member.size else None)
    return path


def test_no_device_foreign_owner_or_lent_right_gets_into_the_image(tmp_path: Path,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    started = subprocess.Popen

    def unpacked(command: list[str], **options: object) -> object:
        return started(["cat", command[-1]], **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", unpacked)
    with tarfile.open(tmp_path / "out.tar", "w") as out:
        image_debian.write_packages(out, [package(tmp_path)], time.monotonic() + 60)
    with tarfile.open(tmp_path / "out.tar") as tar:
        members = {member.name: member for member in tar}
    assert {name for name in members if "/" in name} == {"usr/bin/su", "usr/lib", "usr/lib/link", "etc/shadow"}
    assert {member.uid for member in members.values()} == {0}
    assert [oct(members[name].mode) for name in ("usr/bin/su", "usr/lib", "etc/shadow")] == ["0o755", "0o755", "0o640"]
    assert (members["usr/lib/link"].linkname, members["bin"].linkname) == ("usr/bin/su", "usr/bin")


def test_an_archive_that_takes_too_long_or_cannot_be_made_is_an_error(tmp_path: Path,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_debian, "which", lambda name: name)
    with pytest.raises(SandboxError, match="in the time it was given"):
        image_debian.make_archive(tmp_path / "root.tar", print, time.monotonic() - 1)
    monkeypatch.setattr(image_debian, "which", lambda name: None)
    with pytest.raises(SandboxError, match=r"without debootstrap, dpkg-deb, apt-get; remedy:"):
        image_debian.make_archive(tmp_path / "root.tar", print, time.monotonic() + 60)


def test_a_program_that_hangs_is_killed_with_what_it_started(tmp_path: Path) -> None:
    begun = time.monotonic()
    with pytest.raises(SandboxError, match="in the time it was given"):
        image_programs.run_program(["sh", "-c", "sleep 60 | sleep 60"], begun + 0.05)


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(ValueError, match="no way to build an image is named 'magic'"):
        image.build_image(way="magic")  # type: ignore[arg-type]


def test_what_a_pull_says_of_its_failure_is_an_error(docker_host: str) -> None:
    engine = Engine(docker_host)
    try:
        with pytest.raises(SandboxError, match="no such image anywhere"):
            image.follow(engine, lambda **options: iter([{"stream": "step"}, {"error": "no such image anywhere"}]),
                         "pull", print, time.monotonic() + 60)
        with pytest.raises(SandboxError, match="not done in the time"):
            image.follow(engine, lambda **options: iter([{"stream": "step"}]), "pull", print, time.monotonic() - 1)
    finally:
        engine.close()


def test_all_of_the_kernels_own_files_are_masked_and_no_process_is() -> None:
    masked = masked_paths()
    assert {"/sys", "/proc/sys", "/proc/meminfo", "/dev/mqueue"} <= set(masked)
    assert not [path for path in masked if path.removeprefix("/proc/").isdigit() or path == "/proc/self"]


@pytest.mark.parametrize(("membership", "group", "files", "peak"), [
    ("5:cpu,memory:/box\n0::/", "memory/box", {"memory.oom_control": "under_oom 0\noom_kill {}\n",
                                               "memory.max_usage_in_bytes": "3145728"}, 3.0),
    ("0::/box", "box", {"memory.events": "oom 9\noom_kill {}\n"}, None),
])
def test_memory_is_read_from_either_kind_of_group(tmp_path: Path, membership: str, group: str, files: dict[str, str],
                                                  peak: float | None) -> None:
    (tmp_path / "77").mkdir()
    (tmp_path / "77/cgroup").write_text(membership + "\n")
    folder = tmp_path / group
    folder.mkdir(parents=True)

    def write(killed: int) -> None:
        for name, content in files.items():
            (folder / name).write_text(content.format(killed))

    write(2)
    counts = Counts(77, mount=tmp_path, processes=tmp_path)
    counts.begin()
    write(2)
    assert counts.memory() == (peak, False)
    write(3)
    assert counts.memory().ran_out
    assert Counts(0, mount=tmp_path, processes=tmp_path).memory() == (None, False)
