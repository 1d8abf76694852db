"""Requests of strangers, mutated from good ones: `python tests/explorer/attack.py 5000` sends so many to each server.

There are three: the explorer of given lists, the explorer of a folder of runs, and a model that is served. Each request
is sent as raw bytes on a connection of its own. It must end in an answer below 500 or in a closed connection; a mutant
that is still a good request may be answered.
"""

import argparse
import collections
import contextlib
import io
import json
import random
import shutil
import socket
import sys
import tempfile
import threading
from pathlib import Path

EXPLORER = (
    ("select", {"weights": {"base": 1, "set": [[0, 0.5]]}, "count": 5}),
    ("line", {"weights": {"base": 0, "set": []}, "axis": 1}),
    ("lines", {}),
    ("surface", {"axes": [0, 1], "window": [-0.01, 0.01, -0.01, 0.01], "pixels": 16, "form": "raster"}),
    ("cell", {"axes": [0, 1], "x": 0.001, "y": 0.001}),
    ("sentence", {"sentence": 1, "count": 3}),
    ("fan", {"sentence": 1, "axes": [0, 1]}),
    ("trace", {"trace": 0, "has": 1, "generation": 0}),
    ("state", {"trace": 0, "state": 0, "generation": 0}),
    ("curves", {}),
    ("about", {"session": 0}),
    ("unseen", {"weights": {"base": 0, "set": []}, "against": 1}),
    ("promises", {"weights": {"base": 0, "set": [[0, 0.5]]}}),
    ("intervals", {"base": 1}),
    ("region", {"axis": 1}),
    ("region", {"axes": [0, 1], "window": [-0.01, 0.01, -0.01, 0.01]}),
    ("tradeoff", {"metrics": [0, 1], "place": "line", "axes": [0], "point": 0}),
    ("agreement", {"sentence": 2, "weights": {"base": 0, "set": []}}),
    ("runs", {}),
    ("beside", {"runs": [0, 1]}),
    ("open", {"runs": [0]}),
    ("study", {"run": 0}),
)
FOLDER = ("runs", "beside", "open")  # what is not asked of a session
SERVICE = (
    ("translate", {"text": "a b c"}),
    ("translate", {"lines": ["a b", "", "h g x"], "best": 3}),
    ("explain", {"text": "d e"}),
)
VALUES = (
    None, True, -1, 2**63, 1e308, -1e308, 1e31, 0.5, "", "x" * 300, [], [[]], {}, [0, 0], [0], "NaN", [None], 10**400,
    {"base": -1}, {"base": 99}, {"set": [[0]]}, {"set": [["a", 1]]}, {"set": [[999, 1]]}, {"set": 7},
    [1e300, 1e301] * 2, "\ud800", "a\nb", "a\u2028b\x00", "a " * 300, ["a"] * 101, ["a", 3], ["\udfff"],
    "[X] ||| a", "日本",
)  # fmt: skip
HOSTS = ("evil.example", "127.0.0.1", "localhost:1", "127.0.0.1:{port}.evil.example", "", "[::1]:{port}")
PATHS = (
    "/", "/api", "/api/", "/api/nothing", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/select/",
    "//api/select", "/style.css?x=1", "/main.js/", "/index.html", "/__init__.py", "http://evil.example/", "*",
    "/api/select%00",
)  # fmt: skip


class Mutants:
    """Makes requests; `number` says which, always the same. `session` is asked where a request is of one."""

    def __init__(self, port, token, good=EXPLORER, home="/api/"):
        self.port, self.token, self.good, self.home, self.session = port, token, good, home, None

    def request(self, number):
        """Return the bytes of a mutant, and whether its head alone forbids an answer."""
        rng = random.Random(number)
        name, body = rng.choice(self.good)
        if self.session is not None and name not in FOLDER:
            body = {**body, "session": self.session}
        heads = {
            "Host": f"127.0.0.1:{self.port}", "Origin": f"http://127.0.0.1:{self.port}",
            "X-Luthier-Token": self.token, "Content-Type": "application/json", "Connection": "close",
        }  # fmt: skip
        method, path, content = "POST", self.home + name, json.dumps(body).encode()
        kind, forbidden = rng.randrange(12), False
        if kind == 0:
            heads["Host"], forbidden = rng.choice(HOSTS).format(port=self.port), True
        elif kind == 1:
            heads["Origin"], forbidden = (
                rng.choice(("http://evil.example", "null", f"https://127.0.0.1:{self.port}")),
                True,
            )
        elif kind == 2:
            heads["X-Luthier-Token"], forbidden = rng.choice(("", "x", self.token[:-1], self.token + "x")), True
        elif kind == 3:
            path, method = rng.choice(PATHS), rng.choice(("GET", "POST"))
        elif kind == 4:
            method, forbidden = rng.choice(("PUT", "DELETE", "OPTIONS", "TRACE", "HEAD", "PATCH")), True
        elif kind in (5, 6, 7):
            content = json.dumps(self.twisted(rng, body)).encode()
        elif kind == 8:
            content = self.damaged(rng, content)
        elif kind == 9:
            content = rng.choice(
                (b"[" * 50_000, b'{"a":' * 9000, b"x" * 70_000, b"{}" * 40_000, b"NaN", b'{"axis": NaN}', b"\xff\xfe")
            )
        elif kind == 10:
            heads["Content-Type"], forbidden = rng.choice(("text/plain", "", "application/json; charset=utf-16")), True
        else:
            heads[f"X-{'y' * 10}"] = "z" * rng.choice((100, 20_000, 100_000))
        length = len(content) if rng.random() < 0.9 else rng.choice((0, 10**9, "x", -1))
        lines = [
            f"{method} {path} HTTP/1.1",
            *(f"{key}: {value}" for key, value in heads.items()),
            f"Content-Length: {length}",
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + content, forbidden

    def twisted(self, rng, body):
        """Give one value of a request another."""
        changed = json.loads(json.dumps(body))
        key = rng.choice(
            [*changed, "number", "weights", "filter", "against", "names", "systems", "first", "session", "runs",
             "text", "lines", "best"]
        )  # fmt: skip
        changed[key] = rng.choice(VALUES)
        return changed

    def damaged(self, rng, content):
        """Change some bytes."""
        found = bytearray(content)
        for _ in range(rng.randrange(1, 5)):
            if found:
                found[rng.randrange(len(found))] = rng.randrange(256)
        return bytes(found[: rng.randrange(len(found) + 1)])

    def send(self, number):
        """Return the status that a mutant gets, 0 where the connection was closed, and whether it is forbidden."""
        data, forbidden = self.request(number)
        with socket.create_connection(("127.0.0.1", self.port), timeout=1800) as found:
            try:
                found.sendall(data)
                if number % 10 == 9:  # a client that goes away: nobody may be there to be answered
                    found.shutdown(socket.SHUT_WR)
                head = b""
                while b"\r\n" not in head:
                    part = found.recv(4096)
                    if not part:
                        break
                    head += part
            except (ConnectionError, BrokenPipeError):
                return 0, forbidden
        return int(head.split()[1]) if head else 0, forbidden


def attack(server, numbers, *, opened=None, **kind):
    """Send mutants; return how many got which status, and the answers that must not be.

    `opened` is asked now and then for the number of a session that is open.
    """
    mutants, ended, bad = Mutants(server.port, server.token, **kind), collections.Counter(), []
    for number in numbers:
        if opened is not None and number % 50 == 0:
            mutants.session = opened()
        status, forbidden = mutants.send(number)
        ended[status] += 1
        if status >= 500 or (forbidden and not (status == 0 or 400 <= status < 500)):
            bad.append((number, status))
    return ended, bad


def attack_lists(numbers):
    """Attack the explorer of given lists."""
    from served import ask, make_session, serving

    with serving(make_session()) as there:
        found = attack(there, numbers)
        ask(there, "select")
    return found


def attack_runs(numbers, home):
    """Attack the explorer of a folder with three runs, of which the first is open whenever it can be."""
    from served import ask, make_pool, serving

    from luthier.cli.main import main
    from luthier.explorer.sessions.folders import Folders
    from luthier.explorer.sessions.workspace import Workspace
    from luthier.kbest.storage.pool_file import save_pool
    from luthier.metrics.loading import load_metric

    save_pool(make_pool(), home / "pool.arrow")
    tune = ["tune", str(home / "pool.arrow"), "--quiet", "--method", "random", "--rounds", "2"]
    with contextlib.redirect_stdout(io.StringIO()):
        for more in (["--trace", str(home / "t.jsonl"), "-o", str(home / "w.txt")], ["-o", str(home / "v.json")]):
            assert main([*tune, *more]) == 0
    with serving(Workspace(None, Folders([str(home)]), load_metric("bleu"), seed=3)) as there:
        first = next(row["run"] for row in ask(there, "runs")[0]["rows"] if row["name"] == "w")
        return attack(there, numbers, opened=lambda: ask(there, "open", runs=[first])[0]["session"])


def attack_service(numbers, home):
    """Attack a model that is served, trained on twenty sentences."""
    sys.path[:0] = [str(Path(__file__).parent.parent / "fuzz"), str(Path(__file__).parent.parent)]
    import samples

    from luthier.cli.main import main
    from luthier.jobs.trained_model import TranslationModel
    from luthier.serving.service import Service
    from luthier.serving.translator import Translator

    for name, lines in samples.corpus().items():
        (home / name).write_text("".join(f"{line}\n" for line in lines))
    (home / "train.toml").write_text(samples.TRAINING)
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["train", str(home / "train.toml"), "-o", str(home / "model"), "--quiet"]) == 0
    said = []
    service = Service(Translator(TranslationModel.open(home / "model")), token="secret", say=said.append)
    service.token = "secret"
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        return attack(service, numbers, good=SERVICE, home="/")
    finally:
        service.stop()
        thread.join()
        assert said == [], said


def main():
    """Attack all three; return 1 where an answer must not be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    numbers, failed = range(options.first, options.first + options.count), False
    with tempfile.TemporaryDirectory() as name:
        for kind, work in (("lists", attack_lists), ("runs", attack_runs), ("a served model", attack_service)):
            home = Path(name) / kind
            home.mkdir()
            ended, bad = work(numbers) if work is attack_lists else work(numbers, home)
            told = ", ".join(f"{count} × {status or 'closed'}" for status, count in sorted(ended.items()))
            sys.stdout.write(f"{kind}: {len(numbers)} mutants, {len(bad)} bad answers {bad[:10]}; {told}\n")
            failed |= bool(bad)
            shutil.rmtree(home)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
