"""A served model: what it answers, whom it refuses, and how it stands a crowd."""

import contextlib
import http.client
import json
import socket
import threading
import time

import pytest

from luthier.core.errors import LuthierError
from luthier.decoding.chart.options import SearchOptions
from luthier.explorer import middleware
from luthier.grammar.extraction.options import Limits
from luthier.jobs.trained_model import ModelSettings, TranslationModel
from luthier.jobs.translate import Answer, Wanted
from luthier.kbest.weights import Weights
from luthier.serving import service as service_module
from luthier.serving import translator as translator_module
from luthier.serving.service import Service
from luthier.serving.translator import Translator

MODEL = TranslationModel(ModelSettings(Limits(), ("log",), SearchOptions()), None, (), Weights({}))
JSON = {"content-type": "application/json"}


class Shouting:
    """What stands for the engine: it says everything in capitals, as slowly as it is told, and notes its batches."""

    def __init__(self):
        self.batches, self.gate = [], threading.Event()
        self.gate.set()

    def __call__(self, model, lines, wanted, *, threads):
        texts = list(lines)
        self.batches.append(len(texts))
        assert model.settings.search.seconds == 10.0
        self.gate.wait(600)
        if "fault" in texts:
            raise LuthierError("expected no fault, found one")
        if "bug" in texts:
            raise ZeroDivisionError("a bug")
        return [Answer(tuple((f"{text.upper()} {i}", -float(i)) for i in range(wanted.best))) for text in texts]


@pytest.fixture
def engine(monkeypatch):
    found = Shouting()
    monkeypatch.setattr(translator_module, "answer", found)
    return found


@contextlib.contextmanager
def served(token=None, say=lambda message: None):
    service = Service(Translator(MODEL), token=token, say=say)
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        yield service.port
    finally:
        service.stop()
        thread.join(600)


def ask(port, path, body, headers=JSON, method="POST"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, raw, headers)
    reply = connection.getresponse()
    found = reply.read()
    connection.close()
    return reply.status, json.loads(found) if "json" in reply.getheader("content-type", "") else found, reply.headers


def test_answers(engine):
    with served() as port:
        assert ask(port, "/translate", {"text": "ein mann"})[:2] == (200, {"translation": "EIN MANN 0"})
        status, found, _ = ask(port, "/translate", {"lines": ["a", "", "b"], "best": 2})
        assert status == 200
        assert [one["translation"] for one in found["translations"]] == ["A 0", "", "B 0"]
        assert found["translations"][0]["best"] == [{"text": "A 0", "score": 0.0}, {"text": "A 1", "score": -1.0}]
        assert ask(port, "/explain", {"text": "a"})[0] == 200
        assert ask(port, "/load", b"", {}, "GET")[1]["answered"] == 3
        status, page, headers = ask(port, "/", b"", {}, "GET")
        assert status == 200
        assert b"<title>Luthier: translate</title>" in page
        assert "default-src 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize(
    "body, said",
    [
        (b"{", "expected JSON"),
        (b"[]", "expected a JSON object"),
        ({}, 'expected {"text"'),
        ({"text": "a", "lines": []}, 'expected {"text"'),
        ({"text": 3}, "expected a text"),
        ({"lines": "a"}, "expected a text, or a list"),
        ({"lines": []}, "expected 1 to 100 lines, found 0"),
        ({"lines": ["a"] * 101}, "expected 1 to 100 lines, found 101"),
        ({"text": "a " * 201}, "expected at most 200 words in a line, found 201"),
        ({"text": "a\nb"}, "expected one line"),
        ({"text": "a", "best": 0}, "as 'best'"),
        ({"text": "a", "best": True}, "as 'best'"),
        ({"text": "a", "model": "x"}, "found 'model'"),
        ({"text": "fault"}, "expected no fault"),
        (b'{"text": "\\ud800"}', "half of a character"),
        (b'{"text": ' + b"[" * 60_000, "nested too deep"),
    ],
)
def test_what_is_wrong_is_one_sentence(engine, body, said):
    with served() as port:
        status, found, _ = ask(port, "/translate", body)
        assert status == 400
        assert said in found["error"]
        assert ask(port, "/translate", {"text": "a"})[0] == 200


def test_a_bug_ends_nothing(engine):
    heard = []
    with served(say=heard.append) as port:
        status, found, _ = ask(port, "/translate", {"text": "bug"})
        assert (status, found["error"]) == (500, "a fault of luthier: ZeroDivisionError: a bug")
        assert ask(port, "/translate", {"text": "a"})[0] == 200
    assert len(heard) == 1


def test_strangers_are_refused(engine):
    with served("secret") as port:
        right = {**JSON, "x-luthier-token": "secret"}
        assert ask(port, "/translate", {"text": "a"}, right)[0] == 200
        assert ask(port, "/translate", {"text": "a"})[0] == 401
        assert ask(port, "/translate", {"text": "a"}, {**JSON, "x-luthier-token": "Secret"})[0] == 401
        assert ask(port, "/load", b"", {}, "GET")[0] == 401
        assert ask(port, "/", b"", {}, "GET")[0] == 200
        assert ask(port, "/translate", {"text": "a"}, {**right, "host": "evil.example"})[0] == 403
        assert ask(port, "/translate", {"text": "a"}, {**right, "origin": "http://evil.example"})[0] == 403
        assert ask(port, "/translate", {"text": "a"}, {**right, "content-type": "text/plain"})[0] == 415
        assert ask(port, "/translate", {"text": "a"}, right, "PUT")[0] == 405
        assert ask(port, "/translate", b"x" * 70_000, right)[0] == 413
        assert ask(port, "/nowhere", {}, right)[0] == 404
    assert engine.batches == [1]


def wait_until(condition):
    end = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_those_who_wait_are_answered_together_and_one_fault_is_nobody_elses(engine):
    engine.gate.clear()
    translator = Translator(MODEL)
    first = translator.ask(["first"], Wanted())
    wait_until(lambda: engine.batches)
    others = [translator.ask([text], Wanted()) for text in ("a", "fault", "b")]
    other_kind = translator.ask(["c"], Wanted(best=2))
    engine.gate.set()
    assert [job.result(600)[0].text for job in (first, others[0], others[2], other_kind)] == [
        "FIRST 0",
        "A 0",
        "B 0",
        "C 0",
    ]
    with pytest.raises(LuthierError, match="expected no fault"):
        others[1].result(600)
    assert engine.batches == [1, 3, 1, 1, 1, 1]


def test_what_nobody_waits_for_is_left_out(engine):
    engine.gate.clear()
    translator = Translator(MODEL)
    first = translator.ask(["first"], Wanted())
    wait_until(lambda: engine.batches)
    given_up, last = (translator.ask([text], Wanted()) for text in "ab")
    assert given_up.cancel()
    engine.gate.set()
    assert (first.result(600)[0].text, last.result(600)[0].text) == ("FIRST 0", "B 0")
    assert engine.batches == [1, 1]


def test_batches_have_a_limit(engine):
    engine.gate.clear()
    translator = Translator(MODEL)
    jobs = [translator.ask(["first"], Wanted())]
    wait_until(lambda: engine.batches)
    jobs += [translator.ask(["x"] * 7, Wanted()) for _ in range(5)]
    engine.gate.set()
    assert [len(job.result(600)) for job in jobs] == [1, 7, 7, 7, 7, 7]
    assert engine.batches == [1, 14, 14, 7]


def test_a_full_queue_says_when_to_come_again(engine, monkeypatch):
    monkeypatch.setattr(translator_module, "MOST_WAITING", 2)
    engine.gate.clear()
    with served() as port:
        replies = []

        def client():
            replies.append(ask(port, "/translate", {"text": "a"}))

        clients = [threading.Thread(target=client) for _ in range(3)]
        for number, one in enumerate(clients):
            one.start()
            if not number:
                wait_until(lambda: engine.batches)
        wait_until(lambda: ask(port, "/load", b"", {}, "GET")[1]["waiting"] == 2)
        status, found, headers = ask(port, "/translate", {"text": "a"})
        assert (status, headers["retry-after"]) == (429, "1")
        assert "come again" in found["error"]
        engine.gate.set()
        for one in clients:
            one.join(600)
        assert [status for status, _, _ in replies] == [200] * 3
        assert ask(port, "/load", b"", {}, "GET")[1]["refused"] == 1


def test_connections_beyond_the_most_are_told(engine, monkeypatch):
    monkeypatch.setattr(service_module, "MOST_CONNECTIONS", 3)
    with served() as port, contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=600))
        with socket.create_connection(("127.0.0.1", port), timeout=600) as fourth:
            assert fourth.recv(1000).startswith(b"HTTP/1.1 429")
        stack.close()

        def answered():
            with contextlib.suppress(OSError):  # closed before all was sent
                return ask(port, "/translate", {"text": "a"})[0] == 200

        wait_until(answered)


def test_a_body_that_never_ends_is_given_up(engine, monkeypatch):
    monkeypatch.setattr(middleware, "BODY_SECONDS", 0.2)
    with served() as port, socket.create_connection(("127.0.0.1", port), timeout=600) as slow:
        head = [f"POST /translate HTTP/1.1\r\nhost: 127.0.0.1:{port}", "content-type: application/json"]
        slow.sendall("\r\n".join([*head, "content-length: 9\r\n", "{"]).encode())
        assert b" 408 " in slow.recv(1000).split(b"\r\n")[0]
    assert not engine.batches


@pytest.mark.parametrize(
    "options, said",
    [
        (("--port", "70000"), "expected --port from 1 to 65535"),
        (("--token", ""), "expected --token in printable ASCII"),
        (("--seconds", "0"), "expected --seconds above 0"),
        ((), "a folder with a trained model"),
    ],
)
def test_wrong_options_are_one_sentence(run_cli, tmp_path, options, said):
    code, _, told = run_cli("serve", tmp_path, *options)
    assert code == 2
    assert said in told
