"""Walls by bubblewrap: what it is asked for, with a stand-in for the program, since few machines have it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reasongym.sandbox import Limits, SandboxError, open_sandbox
from reasongym.sandbox.bubblewrap import BubblewrapWalls, FixedEnclosure


@pytest.fixture
def bwrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that fails with its arguments as its last words."""
    program = tmp_path / "bwrap"
    program.write_text('#!/bin/sh\necho "$@" >&2\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return program


def asked_for(walls: BubblewrapWalls) -> list[str]:
    return walls.build().tear_down().split()


def test_every_namespace_is_asked_for_and_a_waived_one_not(bwrap: Path) -> None:
    everything = {"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--as-pid-1"}
    assert everything <= set(asked_for(BubblewrapWalls()))
    waived = set(asked_for(BubblewrapWalls(without={"network"})))
    assert everything - waived == {"--unshare-net"}
    assert "network" not in BubblewrapWalls(without={"network"}).layers


def test_nothing_of_the_machine_is_bound_writable(bwrap: Path) -> None:
    words = asked_for(BubblewrapWalls())
    assert "--bind" not in words
    assert {words[at + 1] for at, word in enumerate(words) if word == "--dev-bind"} == {
        f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")}
    assert words[words.index("--cap-drop") + 1] == "ALL"


def test_a_limit_that_would_not_hold_is_refused(bwrap: Path) -> None:
    enclosure = BubblewrapWalls().build()
    assert isinstance(enclosure, FixedEnclosure)
    with pytest.raises(ValueError, match="work_mb=8, expected at least 24"):
        enclosure.prepare(Limits(work_mb=8))
    enclosure.tear_down()


def test_it_is_not_used_as_root_nor_where_it_is_not(bwrap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(SandboxError, match="root's files"):
        BubblewrapWalls()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxError, match="not installed"):
        BubblewrapWalls()


def test_it_is_tried_where_own_namespaces_fail_and_both_reasons_are_said(bwrap: Path,
                                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reasongym.sandbox.local.shown_folders", lambda python: ("/no-such-folder",))
    monkeypatch.setattr("reasongym.sandbox.local.unused_id", lambda: 1000)
    with pytest.raises(SandboxError, match=r"No such file(.|\n)*with bubblewrap: (.|\n)*--unshare-user"):
        open_sandbox("local", workers=1)
