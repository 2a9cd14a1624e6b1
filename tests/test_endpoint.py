"""Endpoints that misbehave: tried again within the deadline, then an error, and never a wrong score."""

from __future__ import annotations

import email.utils
import json
import threading
import time
from collections.abc import Callable

import pytest
from endpoint_server import Asked, Handler, Server, chat, serving

from reasongym.errors import ConfigError, EngineError
from reasongym.evaluation import endpoint as endpoint_module
from reasongym.evaluation.asking import Question, ask_all
from reasongym.evaluation.endpoint import Endpoint, EndpointSettings, answer_in, retry_after_s
from reasongym.evaluation.exchange import Address
from reasongym.evaluation.samples import Answer
from reasongym.records import Prompt
from reasongym.tasks import Example

KEY = "sk-very-secret"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(endpoint_module, "LONGEST_WAIT_S", 0.05)


def prompt(text: str = "1 + 1?") -> Prompt:
    example = Example(task="t", split="test", index=0, messages=({"role": "user", "content": text},), reference="2")
    return Prompt(example=example, token_ids=(), text=text)


def endpoint(server: Server, *, request_s: float = 60.0, answer_s: float = 60.0, api: str = "chat") -> Endpoint:
    return Endpoint(EndpointSettings(
        address=Address.parse(server.url), model="m", api=api, key=KEY,  # type: ignore[arg-type]
        sampling={"max_tokens": 9, "temperature": 0.5}, request_timeout_s=request_s, answer_timeout_s=answer_s))


def ask(behave: Callable[[Asked, Handler], None], *, seconds: float = 60.0, request_s: float = 60.0) -> Answer:
    with serving(behave) as server:
        return endpoint(server, request_s=request_s).ask(prompt(), 3, time.monotonic() + seconds)


FAULTS: dict[str, Callable[[Handler], None]] = {
    "too many requests": lambda h: h.answer({}, 429, Retry_After="0.02"),
    "an inner error": lambda h: h.answer({"error": "boom"}, 500),
    "overloaded": lambda h: h.send(b"<html>", 503),
    "no JSON": lambda h: h.send(b"not json"),
    "no text encoding": lambda h: h.send(b"\xff\xfe\x00"),
    "deep JSON": lambda h: h.send(b"[" * 100_000),
    "a list": lambda h: h.answer([1]),
    "no choices": lambda h: h.answer({"choices": []}),
    "two choices": lambda h: h.answer({"choices": chat("a")["choices"] * 2}),
    "a number for a text": lambda h: h.answer({"choices": [{"message": {"content": 5}, "finish_reason": "stop"}]}),
    "no text at all": lambda h: h.answer(chat(None)),
    "a tool call": lambda h: h.answer(chat(None, finish="tool_calls", tool_calls=[{}])),
    "an error of status 200": lambda h: h.answer({"error": {"message": "no"}}),
    "cut off in the body": lambda h: h.send(json.dumps(chat("2")).encode(), length=10_000),
    "cut off before the headers": lambda h: h.connection.close(),
    "another protocol": lambda h: h.wfile.write(b"SSH-2.0-x\r\n\r\n") and None,
    "late": lambda h: h.drip(60.0),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_passes_is_tried_again_and_gives_the_answer_that_came_then(fault: str) -> None:
    def behave(asked: Asked, handler: Handler) -> None:
        if asked.number <= 2:
            FAULTS[fault](handler)
        else:
            handler.answer(chat("2"))

    answer = ask(behave, request_s=1.0 if fault == "late" else 60.0)  # a busy machine may be late by itself
    assert (answer.text, answer.error, answer.attempts) == ("2", "", 3)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_stays_is_an_error_within_the_deadline_and_no_text(fault: str) -> None:
    started = time.monotonic()
    answer = ask(lambda asked, handler: FAULTS[fault](handler), seconds=0.2, request_s=0.1)
    assert time.monotonic() - started < 10.0  # what it asks goes on for a minute
    assert (answer.text, bool(answer.error)) == ("", True)


def test_a_server_that_drips_is_cut_off_at_the_deadline_of_the_request() -> None:
    started = time.monotonic()
    answer = ask(lambda asked, handler: handler.drip(60.0), seconds=1.0)
    assert time.monotonic() - started < 10.0  # a socket's own timeout starts again with every byte
    assert "no whole reply within" in answer.error


def test_a_wait_that_ends_after_the_deadline_is_not_begun() -> None:
    started = time.monotonic()
    answer = ask(lambda asked, handler: handler.answer({}, 429, Retry_After="3600"))
    assert time.monotonic() - started < 10.0
    assert (answer.attempts, answer.error[:10]) == (1, "status 429")


def test_retry_after_is_waited_for_by_every_request() -> None:
    times: list[float] = []

    def behave(asked: Asked, handler: Handler) -> None:
        times.append(time.monotonic())
        if asked.number == 1:
            handler.answer({}, 429, Retry_After="1.5")
        else:
            handler.answer(chat("2"))

    with serving(behave) as server:
        client = endpoint(server)
        assert client.ask(prompt(), 1, time.monotonic() + 1.4).error  # it would wait beyond its deadline
        assert client.ask(prompt("another"), 2, time.monotonic() + 60.0).text == "2"
    assert times[1] - times[0] >= 1.5


def test_retry_after_is_read_as_seconds_or_as_a_date_and_nonsense_as_nothing() -> None:
    assert retry_after_s("2.5") == 2.5
    assert 8.0 < retry_after_s(email.utils.formatdate(time.time() + 10, usegmt=True)) <= 10.0
    assert [retry_after_s(text) for text in ("", "soon", "-5", "1e999x", email.utils.formatdate(0))] == [0.0] * 5


def test_a_prompt_that_is_refused_is_an_error_at_once_and_others_go_on() -> None:
    def behave(asked: Asked, handler: Handler) -> None:
        if asked.question == "long":
            handler.answer({"error": f"too long; your key {KEY}"}, 400)
        else:
            handler.answer(chat("2"))

    with serving(behave) as server:
        client = endpoint(server)
        deadline = time.monotonic() + 60.0
        assert client.ask(prompt(), 1, deadline).text == "2"
        refused = client.ask(prompt("long"), 1, deadline)
    assert (refused.attempts, "too long" in refused.error, KEY in refused.error) == (1, True, False)


@pytest.mark.parametrize("status", [301, 401, 403, 404, 405])
def test_a_wrong_key_or_model_stops_before_everything_is_asked_and_the_key_is_not_told(status: int) -> None:
    with pytest.raises(EngineError, match=f"status {status}") as refused:
        ask(lambda asked, handler: handler.answer({"error": f"bad key {KEY}"}, status, Location="http://127.0.0.1:9/"))
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(("path", "told"), [("", "--endpoint http://127.0.0.1:{port}/v1"),
                                             ("/v1", "check --endpoint, ")])
def test_an_address_that_lacks_its_v1_is_told_of_it(path: str, told: str) -> None:
    with serving(lambda asked, handler: handler.answer({"detail": "Not Found"}, 404)) as server:
        address = Address.parse(server.url.removesuffix("/v1") + path)
        client = Endpoint(EndpointSettings(address=address, model="m", sampling={}))
        with pytest.raises(EngineError) as refused:
            client.ask(prompt(), 1, time.monotonic() + 60.0)
        assert told.format(port=server.server_port) in str(refused.value)


def test_the_request_is_what_was_asked_for_and_the_reply_is_read_whole() -> None:
    reply = chat("2 \ud800", reasoning_content="hm", finish="length")
    with serving(lambda asked, handler: handler.answer(reply)) as server:
        client = endpoint(server)
        answer = client.ask(prompt(), 3, time.monotonic() + 60.0)
        (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.body == {"model": "m", "messages": [{"role": "user", "content": "1 + 1?"}], "max_tokens": 9,
                          "temperature": 0.5, "seed": 3}
    assert (answer.text, answer.reasoning, answer.truncated) == ("2 \ud800", "hm", True)
    assert (answer.num_tokens, answer.num_prompt_tokens) == (7, 5)
    assert client.served.models == ("served-model",)


def test_completions_take_the_text_of_the_prompt() -> None:
    reply = {"choices": [{"text": " 2", "finish_reason": "stop"}]}
    with serving(lambda asked, handler: handler.answer(reply)) as server:
        answer = endpoint(server, api="completions").ask(prompt("Q: 1 + 1?\nA:"), 3, time.monotonic() + 60.0)
        (asked,) = server.asked
    assert (asked.path, asked.body["prompt"], answer.text) == ("/v1/completions", "Q: 1 + 1?\nA:", " 2")
    assert answer.num_tokens is None


def test_reasoning_that_used_up_the_tokens_is_an_empty_answer_and_a_filter_is_no_answer() -> None:
    def read(record: object) -> Answer:
        return answer_in(json.dumps(record).encode(), "chat")

    cut = read(chat(None, reasoning="so 72 ...", finish="length"))
    assert (cut.text, cut.truncated, cut.error) == ("", True, "")
    assert read(chat(None, refusal="I will not.")).text == "I will not."
    assert "withheld" in read(chat("", finish="content_filter")).error


def test_an_address_with_a_password_is_refused_and_a_query_is_not_shown() -> None:
    for url in ("http://user:word@host/v1", "ftp://host", "host:8000/v1", "http://", "http://host:port/v1",
                "https://host/v1?api_key=sk-1"):
        with pytest.raises(ConfigError):
            Address.parse(url)
    address = Address.parse("https://host/v1/?api-version=1")
    assert (address.shown, address.query) == ("https://host/v1", "?api-version=1")
    assert Address.parse("http://[::1]:8000/v1").shown == "http://[::1]:8000/v1"


# --- many at a time ---


def questions(count: int) -> list[Question]:
    return [Question((n, 0), prompt(f"question {n}"), n) for n in range(count)]


def test_no_more_requests_than_asked_for_are_in_flight_and_each_is_asked_once() -> None:
    lock, now, most, together = threading.Lock(), [0], [0], threading.Event()

    def behave(asked: Asked, handler: Handler) -> None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
            if now[0] > 1:
                together.set()
        together.wait(30.0)  # the first for the second
        time.sleep(0.01)
        with lock:
            now[0] -= 1
        handler.answer(chat(asked.question))

    kept: list[tuple[int, int]] = []
    with serving(behave) as server:
        got = list(ask_all(endpoint(server), questions(24), concurrency=4, deadline=time.monotonic() + 60.0,
                           keep=lambda question, answer: kept.append(question.key)))
        assert len(server.asked) == 24
    assert 1 < most[0] <= 4
    assert {question.key: answer.text for question, answer in got} == {(n, 0): f"question {n}" for n in range(24)}
    assert sorted(kept) == [(n, 0) for n in range(24)]


def test_an_endpoint_that_dies_under_way_leaves_the_rest_unasked_and_keeps_no_failure() -> None:
    def behave(asked: Asked, handler: Handler) -> None:
        if asked.number <= 5:
            handler.answer(chat("2"))
        else:
            all_kept.wait(30.0)
            handler.answer({}, 400)

    def keep(question: Question, answer: Answer) -> None:
        kept.append(answer)
        if len(kept) == 5:
            all_kept.set()

    kept, all_kept = list[object](), threading.Event()
    with serving(behave) as server:
        got = list(ask_all(endpoint(server), questions(200), concurrency=2, deadline=time.monotonic() + 60.0,
                           keep=keep))
    # 16 failures in a row, and what was in flight by then
    assert 21 <= len(got) <= 23
    assert len(kept) == 5


def test_one_prompt_that_is_refused_again_and_again_does_not_end_the_asking() -> None:
    """Its samples are asked side by side: 40 failures in a row say nothing of the endpoint."""
    def behave(asked: Asked, handler: Handler) -> None:
        if asked.question == "too long":
            handler.answer({}, 400)
        else:
            handler.answer(chat("2"))

    asked = [Question((0, n), prompt("too long"), n) for n in range(40)]
    asked += [Question((1 + n, 0), prompt(), n) for n in range(5)]
    with serving(behave) as server:
        got = list(ask_all(endpoint(server), asked, concurrency=2, deadline=time.monotonic() + 60.0,
                           keep=lambda question, answer: None))
    assert len(got) == 45
    assert sum(not answer.error for _, answer in got) == 5


def test_an_endpoint_that_never_answers_is_an_error_and_not_an_empty_result() -> None:
    with serving(lambda asked, handler: handler.answer({}, 400)) as server, \
            pytest.raises(EngineError, match="gives no answers"):
        list(ask_all(endpoint(server), questions(50), concurrency=4, deadline=time.monotonic() + 60.0,
                     keep=lambda question, answer: None))


def one_answer(asked: Asked, handler: Handler) -> None:
    """The first question is answered; no other within a minute."""
    if asked.number == 1:
        handler.answer(chat("2"))
    else:
        handler.drip(60.0)


def test_the_deadline_of_the_whole_ends_it_though_requests_are_left() -> None:
    started = time.monotonic()
    with serving(one_answer) as server:
        got = list(ask_all(endpoint(server), questions(50), concurrency=2, deadline=started + 2.0,
                           keep=lambda question, answer: None))
    assert time.monotonic() - started < 10.0
    assert sum(not answer.error for _, answer in got) == 1
    assert len(got) < 50


def test_whoever_stops_taking_answers_is_not_kept_waiting_by_those_in_flight() -> None:
    with serving(one_answer) as server:
        answers = ask_all(endpoint(server), questions(9), concurrency=3, deadline=time.monotonic() + 60.0,
                          keep=lambda question, answer: None)
        next(answers)
        started = time.monotonic()
        answers.close()
        assert time.monotonic() - started < 10.0
