"""`leaderboard add` on folders of several results: each enters, and what does not is named with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from leaderboard_samples import write_folder

from reasongym.cli.leaderboard import command
from reasongym.errors import DataError
from reasongym.leaderboard.folders import result_folders

RIGHT = [True, False] * 5


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False)


def several(parent: Path) -> Path:
    """An evaluation on two tasks, as `reasongym eval --task a,b` writes it."""
    for number in (1, 2):
        write_folder(parent / f"{number}-task", f"model {number}", right=RIGHT)
    (parent / "request.json").write_text("{}")
    return parent


def test_an_evaluation_on_several_tasks_enters_whole(tmp_path: Path) -> None:
    one = write_folder(tmp_path / "evals" / "one", "alone", right=RIGHT)
    shown = run("add", "--store", tmp_path / "s.db", several(tmp_path / "evals" / "both"), one).output
    assert [line.split(": ")[1].split(" on ")[0] for line in shown.splitlines()[:-1]] == [
        "model 1", "model 2", "alone"]


def test_a_folder_of_everything_and_its_parts_enter_each_result_once(tmp_path: Path) -> None:
    parent = several(tmp_path / "runs" / "mine" / "evals")
    shown = run("add", "--store", tmp_path / "s.db", tmp_path / "runs", parent / "1-task").output
    assert shown.count("added") == 2
    assert "2 results in" in shown


def test_what_was_cut_off_is_named_with_how_it_goes_on(tmp_path: Path) -> None:
    parent = several(tmp_path / "both")
    (parent / "3-task").mkdir()
    (parent / "3-task" / "answers.jsonl").touch()
    with pytest.raises(DataError, match=f"3-task is not finished(.|\n)*--resume {parent}$"):
        run("add", "--store", tmp_path / "s.db", parent)
    assert "model 2" in run("--store", tmp_path / "s.db").output


@pytest.mark.parametrize("name", ["empty", "absent"])
def test_no_result_at_all_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no result in"):
        result_folders(tmp_path / name)


def test_links_hidden_folders_and_what_lies_deep_are_not_looked_into(tmp_path: Path) -> None:
    good = write_folder(tmp_path / "a" / "good", right=RIGHT)
    write_folder(tmp_path / "a" / ".hidden", right=RIGHT)
    write_folder(tmp_path / "a" / "1" / "2" / "3" / "4", right=RIGHT)
    (tmp_path / "a" / "link").symlink_to(tmp_path / "a")
    assert result_folders(tmp_path / "a").whole == (good,)


def test_an_export_and_a_result_are_not_taken_for_one_another(tmp_path: Path) -> None:
    result = write_folder(tmp_path / "r", right=RIGHT)
    store = tmp_path / "s.db"
    run("add", "--store", store, result)
    run("export", "--store", store, "--output", tmp_path / "out")
    with pytest.raises(DataError, match=f"leaderboard import {tmp_path / 'out'}"):
        run("add", "--store", store, tmp_path / "out")
    with pytest.raises(DataError, match=f"leaderboard add {result}"):
        run("import", "--store", store, result)
