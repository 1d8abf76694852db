"""Who may ask the explorer, how much, and what happens to everybody else."""

import contextlib
import json
import socket
import threading

import pytest
from attack import attack, attack_service
from served import HOSTILE, ask, make_session, raw, serving

from luthier.core.errors import LuthierError
from luthier.explorer import server as connections
from luthier.explorer.server import Server


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return tmp_path_factory.mktemp("trace") / "trace.jsonl"


@pytest.fixture(scope="module")
def server(trace):
    with serving(make_session(traces=[str(trace)])) as found:
        yield found


def good(server, **more):
    return {"X-Luthier-Token": server.token, "Content-Type": "application/json", **more}


def test_mutated_requests_are_refused_and_the_server_goes_on(server):
    ended, bad = attack(server, range(150))
    assert bad == []
    assert ended[200] > 10
    assert ask(server, "select")[0]["changed"] == 0


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")
def test_mutated_requests_to_a_served_model_are_answered_or_refused(tmp_path):
    ended, bad = attack_service(range(150), tmp_path)
    assert bad == []
    assert ended[200] > 5


@pytest.mark.parametrize("heads, status", [
    ({"Host": "evil.example"}, 403), ({"Origin": "http://evil.example"}, 403), ({"Sec-Fetch-Site": "cross-site"}, 403),
    ({"X-Luthier-Token": "wrong"}, 401), ({"Content-Type": "text/plain"}, 415), ({"Content-Length": "70000"}, 413),
])  # fmt: skip
def test_what_is_refused_by_its_head(server, heads, status):
    found, _, body = raw(server, "POST", "/api/select", b"{}", good(server, **heads))
    assert found == status
    assert list(json.loads(body)) == ["error"]


def test_every_reply_forbids_frames_scripts_of_others_and_guessing(server):
    for method, path in (("GET", "/"), ("GET", "/main.js"), ("GET", "/api/session"), ("GET", "/nothing")):
        _, heads, _ = raw(server, method, path)
        assert "default-src 'none'" in heads["content-security-policy"]
        assert "unsafe" not in heads["content-security-policy"]
        assert heads["x-content-type-options"] == "nosniff"
        assert heads["referrer-policy"] == "no-referrer"
        assert heads["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in heads


def test_only_the_page_needs_no_token(server):
    assert raw(server, "GET", "/")[0] == 200
    assert raw(server, "GET", "/api/session")[0] == 401
    assert raw(server, "GET", "/page_files.py")[0] == 404
    assert raw(server, "GET", "/../app.py")[0] == 404


@pytest.mark.parametrize("name, body, words", [
    ("line", {"axis": 99}, "expected a whole number from 0 to"),
    ("line", {"axis": 0, "window": [2, 1]}, "low below high"),
    ("select", {"weights": {"set": [[0, 1e31]]}}, "at most 1e+30"),
    ("select", {"weights": {"set": [[0, 1.0]] * 2001}}, "at most 2000 changed weights"),
    ("select", {"filter": {"text": "x" * 201}}, "at most 200 characters"),
    ("surface", {"axes": [0, 0]}, "two different axes"),
    ("surface", {"axes": [0, 1], "pixels": 100000}, "from 16 to 512"),
    ("surface", {"axes": [0, -1], "pixels": 16}, "changes nothing"),
    ("cell", {"axes": [0, 1], "x": 1e9, "y": 0}, "outside of the window"),
    ("compare", {"systems": [{}], "names": ["a"]}, "two weight vectors or more"),
    ("sentence", {"sentence": 24}, "from 0 to 23"),
])  # fmt: skip
def test_an_error_is_one_sentence(server, name, body, words):
    if body.get("axes") == [0, -1]:
        body = {**body, "axes": [0, server.session.problem.names.index("same")]}
    status, _, content = raw(server, "POST", f"/api/{name}", json.dumps(body), good(server))
    assert status == 400
    assert words in json.loads(content)["error"]


def test_a_reply_carries_the_number_of_its_request(server):
    assert ask(server, "select", number=17)[0]["number"] == 17
    assert ask(server, "sentence", number=18, sentence=2)[0]["number"] == 18


def test_a_newer_surface_ends_an_older_one(server):
    ask(server, "surface", axes=[0, 1], pixels=16, page=1, number=100)
    assert ask(server, "surface", axes=[0, 1], pixels=16, page=1, number=99)[0] == {"superseded": True}
    # a page that was loaded again counts from 1 on, and other pages know nothing of it
    assert ask(server, "surface", axes=[0, 1], pixels=16, page=2, number=1)[0]["number"] == 1
    assert "limits" in ask(server, "surface", axes=[0, 1], pixels=16)[0]


def idle(server, count, said=b""):
    """Open connections that say something, and no more."""
    held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]
    for item in held:
        item.sendall(said)
    return held


def is_closed(item, seconds):
    """Return whether the other side closes a connection within some time."""
    item.settimeout(seconds)
    try:
        return item.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n"])
def test_idle_connections_shut_nobody_out(server, said):
    held = idle(server, 40, said)
    try:
        for _ in range(5):
            assert raw(server, "GET", "/")[0] == 200
            assert ask(server, "select", number=1)[0]["number"] == 1
        if b"POST" not in said:  # which is answered, and refused
            while sum(is_closed(item, 0.05) for item in held) < 40 - connections.MOST_STRANGERS:
                pass
    finally:
        for item in held:
            item.close()


def said_by(server, token=""):
    """Return a request that is answered by a short refusal."""
    head = f"GET /api/nothing HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Luthier-Token: {token}\r\n\r\n"
    return head.encode()


def answer_to(item, said):
    """Send a request on an open connection; return all of its answer, which is an object of JSON."""
    item.sendall(said)
    item.settimeout(600)
    answer = b""
    while not answer.endswith(b"}"):
        part = item.recv(1 << 16)
        assert part, "it was closed"
        answer += part
    return answer


def test_who_has_shown_the_token_stays_whoever_comes(server):
    with socket.create_connection(("127.0.0.1", server.port)) as known:
        for said in (b"", b"GET / HTTP/1.1\r\n", said_by(server, "x" * len(server.token))):
            assert answer_to(known, said_by(server, server.token)).startswith(b"HTTP/1.1 404")
            for item in idle(server, 2 * connections.MOST_STRANGERS, said):
                item.close()


def test_a_head_must_come_in_time(server, monkeypatch):
    with socket.create_connection(("127.0.0.1", server.port)) as item:
        assert answer_to(item, said_by(server)).startswith(b"HTTP/1.1 401")
        monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)  # from the next answer on
        assert answer_to(item, said_by(server)).startswith(b"HTTP/1.1 401")
        with contextlib.suppress(ConnectionError):  # one byte after another does not help: they end some day
            item.sendall(said_by(server)[:20])
            while True:
                item.sendall(b"x")
                threading.Event().wait(0.1)
    for said in (b"", b"GET / HTTP/1.1\r\nHost: "):
        (item,) = idle(server, 1, said)
        assert is_closed(item, 600), said
        item.close()


def test_sentences_say_all_they_have(server):
    found, _ = ask(server, "sentence", sentence=0, count=3)
    assert found["rows"][0]["text"].startswith(HOSTILE)
    assert found["derivation"][1] == {
        "rule": "[X] ||| c ||| d", "depth": 1, "words": [1, 2], "features": [["p", 0.25]],
    }  # fmt: skip


def test_a_trace_may_come_later_and_is_checked(server, trace):
    assert ask(server, "trace")[0]["waiting"]
    n = server.session.problem.n_features
    state = {
        "seed": 1,
        "restart": 0,
        "step": 0,
        "gain": 3.5,
        "heldout_gain": None,
        "did": "start",
        "weights": [0.5] * n,
    }
    trace.write_text(json.dumps(state) + "\n")
    found, _ = ask(server, "trace")
    assert [item["gain"] for item in found["states"]] == [3.5]
    assert dict(ask(server, "state", state=0)[0]["weights"]["set"]) == dict.fromkeys(range(n), 0.5)
    for broken, words in (
        ("{", "expected a line of JSON"),
        ('{"gain": 1, "weights": [1]}', f"expected {n} weights, found 1"),
    ):
        trace.write_text(f"{json.dumps(state)}\n{broken}\n")
        status, _, body = raw(server, "POST", "/api/trace", b"{}", good(server))
        assert status == 400
        assert f"trace.jsonl:2: {words}" in json.loads(body)["error"]


def test_a_port_that_is_taken_is_said(server):
    with pytest.raises(LuthierError, match=f"the port {server.port} is taken"):
        Server(server.session, server.port)
