"""The pages as text: nothing of a model is markup, a site is whole or not there, the server tells strangers nothing."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from leaderboard_samples import made_up
from page_servers import connected_to
from sample_runs import sample_run

from reasongym.errors import ConfigError, ResourceError
from reasongym.leaderboard import Store
from reasongym.leaderboard.server import PageServer
from reasongym.leaderboard.site import write_site
from reasongym.pages.answers import FIELDS, SCRIPTS, VERDICTS, answers_file
from reasongym.tracking.overview.library import Library
from reasongym.tracking.overview.site import write_runs
from reasongym.verifiers import Status

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\" ' \x00 \ud800 \u202e \u2028"
SAFE_TAGS = {"html", "head", "meta", "title", "link", "script", "body", "a", "header", "h1", "h2", "p", "nav", "main",
             "div", "label", "input", "span", "section", "table", "thead", "tbody", "tr", "th", "td", "svg", "line",
             "circle", "footer", "noscript", "button", "article", "ul", "details", "summary"}


class Tags(HTMLParser):
    """Every tag with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Three results on two tasks; a hostile model, task and completion among them."""
    with Store(str(tmp_path / "s.db"), create=True) as opened:
        opened.add(made_up("<script>alert(1)</script>\"' onload=x", texts=(HOSTILE,), prompts=250))
        opened.add(made_up("plain", share=0.9))
        opened.add(made_up("plain", task="<img src=x>", fingerprint="&amp;<b>"))
        yield opened


@pytest.fixture
def site(store: Store, tmp_path: Path) -> Path:
    """The folder of its site."""
    return write_site(store, tmp_path / "site", title="<b>Board</b>").parent


def test_no_text_of_a_model_or_task_is_markup(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) == 4
    for page in pages:
        tags = Tags(page.read_text()).found
        assert {tag for tag, _ in tags} <= SAFE_TAGS
        names = {name for _, attributes in tags for name in attributes}
        assert not [name for name in names if name.startswith("on") or name == "style"]
        sources = [attributes.get("src") for tag, attributes in tags if tag == "script"]
        assert set(sources) <= {"assets/board.js", *(f"../../assets/{name}" for name in SCRIPTS)}


def test_nothing_is_loaded_from_elsewhere_and_nothing_inline_runs(site: Path) -> None:
    for file in site.rglob("*.*"):
        text = file.read_text()
        assert not re.search(r"https?://(?!www\.w3\.org)", text), file
        if file.suffix == ".html":
            (policy,) = [attributes["content"] for tag, attributes in Tags(text).found
                         if attributes.get("http-equiv") == "Content-Security-Policy"]
            assert "unsafe" not in str(policy)
            assert "default-src 'none'" in str(policy)
    scripts = "".join(file.read_text() for file in (site / "assets").glob("*.js"))
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function", scripts)


def test_a_file_of_answers_is_one_call_without_a_tag(site: Path, store: Store) -> None:
    hostile = store.results()[0]
    text = (site / "results" / hostile.name / "2.js").read_text(encoding="ascii")
    called = re.fullmatch(r"answersFile\(2, (.*)\);\n", text)
    assert called is not None
    assert "<" not in text
    rows = json.loads(called[1])
    assert len(rows) == 50  # of 250, a hundred to a file
    assert rows[0][4] == HOSTILE.replace("\x00", r"\x00").replace("\ud800", r"\ud800")


def test_every_answer_is_in_one_file_with_its_verdict(site: Path, store: Store) -> None:
    for result in store.results():
        folder = site / "results" / result.name
        index = json.loads((folder / "index.js").read_text()[len("answersIndex("):-3])
        files = [json.loads(re.sub(r"^\w+\(\d+, |\);\n$", "", (folder / f"{number}.js").read_text()))
                 for number in range(-(-result.num_samples // index["chunk"]))]
        rows = [row for file in files for row in file]
        assert [VERDICTS[int(digit)] for digit in index["statuses"]] == [row[7] for row in rows]
        assert len(rows) == result.num_samples


def test_page_and_script_agree_on_fields_and_verdicts(site: Path) -> None:
    script = (site / "assets/samples.js").read_text()
    listed = {name: json.loads(found) for name, found in re.findall(r"const (FIELDS|VERDICTS) = (\[[^\]]*\]);", script)}
    sample = made_up().samples[0]
    assert listed == {"FIELDS": list(FIELDS), "VERDICTS": list(VERDICTS)}
    assert sample._fields == FIELDS
    assert set(VERDICTS) == {*map(str, Status), "missing"}
    assert answers_file(0, [sample]).startswith("answersFile(0, [[")


def test_a_site_replaces_a_site_and_nothing_else(store: Store, site: Path, tmp_path: Path) -> None:
    (site / "left over").write_text("of the site before")
    write_site(store, site, title="again")
    assert not (site / "left over").exists()
    other = tmp_path / "home"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    with pytest.raises(ConfigError, match="in use"):
        write_site(store, other, title="t")
    assert [path.name for path in other.iterdir()] == ["letter.txt"]


def test_neither_a_leaderboard_nor_runs_are_written_over_the_other(store: Store, site: Path, tmp_path: Path) -> None:
    sample_run(tmp_path / "runs" / "one", steps=1)
    library = Library((tmp_path / "runs",))
    of_runs = write_runs(library, tmp_path / "pages", title="Runs", steps=1).parent
    before = {file: file.read_bytes() for folder in (site, of_runs) for file in folder.rglob("*") if file.is_file()}
    with pytest.raises(ConfigError, match=r"pages of training runs(.|\n)*another --output"):
        write_site(store, of_runs, title="t")
    with pytest.raises(ConfigError, match="in use"):
        write_runs(library, site, title="t", steps=1)
    assert all(file.read_bytes() == content for file, content in before.items())
    (tmp_path / "strange" / "assets").mkdir(parents=True)
    (tmp_path / "strange" / "assets" / "samples.js").touch()  # which a leaderboard's pages have too
    with pytest.raises(ConfigError, match="in use"):
        write_site(store, tmp_path / "strange", title="t")


def test_a_site_that_fails_leaves_the_one_before(store: Store, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (site / "index.html").read_text()

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ResourceError, match="No space left"):
        write_site(store, site, title="new")
    assert (site / "index.html").read_text() == before
    assert [path.name for path in site.parent.iterdir() if path.name.startswith(".site")] == []


@pytest.fixture
def server(store: Store) -> Iterator[http.client.HTTPConnection]:
    """A connection to a server of the store."""
    with PageServer(store, host="127.0.0.1", port=0, title="Board") as listening, \
            connected_to(listening) as connection:
        yield connection


def get(server: http.client.HTTPConnection, path: str, method: str = "GET",
        **headers: str) -> tuple[int, str, http.client.HTTPMessage]:
    server.request(method, path, headers=headers)
    answer = server.getresponse()
    return answer.status, answer.read().decode(), answer.headers


def test_the_server_gives_what_the_site_holds(server: http.client.HTTPConnection, site: Path, store: Store) -> None:
    for file in site.rglob("*.*"):
        status, text, headers = get(server, f"/{file.relative_to(site).as_posix()}")
        assert status == 200
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        if file.suffix != ".html":  # the title differs
            assert text == file.read_text()
    store.add(made_up("entered since"))
    assert "entered since" in get(server, "/")[1]


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/assets/../page.html", "/assets/page.html", "/results/",
                                  "/results/ffff/index.html", "/results/%2e%2e/index.js", "/nothing"])
def test_the_server_has_no_other_page(server: http.client.HTTPConnection, path: str) -> None:
    assert get(server, path)[:2] == (404, '{"error": "no such page"}\n')


def test_past_the_last_answer_there_is_no_file(server: http.client.HTTPConnection, store: Store) -> None:
    name = store.results()[0].name
    assert [get(server, f"/results/{name}/{number}.js")[0] for number in (2, 3, 999999999)] == [200, 404, 404]


def test_a_name_that_only_points_here_reads_nothing(server: http.client.HTTPConnection) -> None:
    assert get(server, "/", Host="evil.example:80")[0] == 403
    assert [get(server, "/", Host=host)[0] for host in ("localhost:9", "127.0.0.1", "[::1]:9")] == [200] * 3


def test_the_server_only_reads(server: http.client.HTTPConnection) -> None:
    status, text, headers = get(server, "/", method="HEAD")
    assert (status, text, int(headers["Content-Length"]) > 1000) == (200, "", True)
    assert get(server, "/", method="POST")[0] == 501


def test_a_port_in_use_is_named(store: Store) -> None:
    with PageServer(store, host="127.0.0.1", port=0, title="t") as listening:
        port = int(listening.address.rsplit(":", 1)[1][:-1])
        with pytest.raises(ResourceError, match=f"cannot listen on 127.0.0.1 port {port}"):
            PageServer(store, host="127.0.0.1", port=port, title="t")
