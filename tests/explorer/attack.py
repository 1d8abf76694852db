"""Requests of strangers, mutated from good ones: `python tests/explorer/attack.py 5000` sends so many to a server.

Each is sent as raw bytes on a connection of its own. It must end in an answer below 500 or in a closed connection; a
mutant that is still a good request may be answered.
"""

import json
import random
import socket
import sys

GOOD = (
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
VALUES = (
    None, True, -1, 2**63, 1e308, -1e308, 1e31, 0.5, "", "x" * 300, [], [[]], {}, [0, 0], [0], "NaN", [None], 10**400,
    {"base": -1}, {"base": 99}, {"set": [[0]]}, {"set": [["a", 1]]}, {"set": [[999, 1]]}, {"set": 7},
    [1e300, 1e301] * 2,
)  # fmt: skip
HOSTS = ("evil.example", "127.0.0.1", "localhost:1", "127.0.0.1:{port}.evil.example", "", "[::1]:{port}")
PATHS = (
    "/", "/api", "/api/", "/api/nothing", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/select/",
    "//api/select", "/style.css?x=1", "/main.js/", "/index.html", "/__init__.py", "http://evil.example/", "*",
    "/api/select%00",
)  # fmt: skip


class Mutants:
    """Makes requests; `number` says which, always the same."""

    def __init__(self, port, token):
        self.port, self.token = port, token

    def request(self, number):
        """Return the bytes of a mutant, and whether its head alone forbids an answer."""
        rng = random.Random(number)
        name, body = rng.choice(GOOD)
        heads = {
            "Host": f"127.0.0.1:{self.port}", "Origin": f"http://127.0.0.1:{self.port}",
            "X-Luthier-Token": self.token, "Content-Type": "application/json", "Connection": "close",
        }  # fmt: skip
        method, path, content = "POST", f"/api/{name}", json.dumps(body).encode()
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
            [*changed, "number", "weights", "filter", "against", "names", "systems", "first", "session", "runs"]
        )
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


def attack(server, numbers):
    """Send mutants; return the answers that must not be."""
    mutants, bad = Mutants(server.port, server.token), []
    for number in numbers:
        status, forbidden = mutants.send(number)
        if status >= 500 or (forbidden and not (status == 0 or 400 <= status < 500)):
            bad.append((number, status))
    return bad


if __name__ == "__main__":
    from served import ask, make_session, serving

    with serving(make_session()) as there:
        found = attack(there, range(int(sys.argv[1])))
        score = ask(there, "select")[0]["shown"]
    sys.stdout.write(
        f"{sys.argv[1]} mutants, {len(found)} bad answers {found[:10]}; the server still answers: {score}\n"
    )
    sys.exit(bool(found))
