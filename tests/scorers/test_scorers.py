"""Our scorers: lengths and repetition by hand, the n-gram model against its own sums, an endpoint on this machine."""

from __future__ import annotations

import http.server
import json
import math
import threading

import pytest

import luthier
from luthier.core.errors import LuthierError
from luthier.jobs.score_with import scorer_of
from luthier.scorers._scorer import Item


def items(*texts, src="a b"):
    return [Item(str(k), src, text) for k, text in enumerate(texts)]


def test_lengths():
    texts = items("x y z", "", "né")
    assert scorer_of("length", {}).score(texts) == [3, 0, 1]
    assert scorer_of("length", {"unit": "chars"}).score(texts) == [5, 0, 2]
    assert scorer_of("length", {"relative": True}).score(texts) == [1.5, 0, 0.5]
    assert scorer_of("length", {"relative": True}).score(items("x", src="")) == [1]
    with pytest.raises(LuthierError, match="unit"):
        scorer_of("length", {"unit": "lines"})


def test_repetition():
    # a b a b a: bigrams ab ba ab ba, two of four different
    found = scorer_of("repetition", {"order": 2})
    assert found.score(items("a b a b a", "a b c", "a", "")) == [0.5, 0.0, 0.0, 0.0]
    assert scorer_of("repetition", {"order": 1, "unit": "chars"}).score(items("aaaa")) == [0.75]


@pytest.mark.compiled
def test_ngram(tmp_path):
    path = tmp_path / "lm.arpa"
    model = luthier.estimate_lm(["a b c", "a b", "b c"], order=2, output=path).model
    opened = luthier.LanguageModel.from_arpa(model)
    texts = ["a b", "c <s> a", "", "zz"]
    found = scorer_of("ngram", {"model": str(path)}).score(items(*texts))
    for text, score in zip(["a b", "c a", "", "zz"], found, strict=True):
        assert score == pytest.approx(float(opened.score([text]).totals[0]), rel=1e-6)
    per_word = scorer_of("ngram", {"model": str(path), "per_word": True}).score(items("a b"))
    assert per_word[0] == pytest.approx(found[0] / 3)
    with pytest.raises(LuthierError, match="expected the `model` of the scorer ngram"):
        scorer_of("ngram", {}).score(items("a"))


class Server(http.server.BaseHTTPRequestHandler):
    """A server with completions: tokens are words with the blank before them, each −1 per letter."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, request, self.headers.get("Authorization")))
        answer = self.server.answer or {
            "choices": [self.choice(k, text) for k, text in enumerate(request["prompt"])][::-1]
        }
        raw = json.dumps(answer).encode() if not isinstance(answer, bytes) else answer
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(raw)

    def choice(self, index, prompt):
        text, begins, values = prompt + " more", [], []
        while sum(len(token) for token in values) < len(text):
            at = sum(len(token) for token in values)
            stop = next((k for k in range(at + 1, len(text)) if text[k] in " \n"), len(text))
            begins.append(at)
            values.append(text[at:stop])
        logs = [None, *(-float(len(token.strip())) for token in values[1:])]
        return {"index": index, "text": text, "logprobs": {"text_offset": begins, "token_logprobs": logs}}

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = http.server.HTTPServer(("127.0.0.1", 0), Server)
    made.seen, made.answer, made.status = [], None, 200
    thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def endpoint(server, **options):
    return scorer_of("endpoint", {"url": f"http://127.0.0.1:{server.server_port}/v1/", "model": "tiny", **options})


def test_endpoint(server, monkeypatch):
    monkeypatch.setenv("OUR_KEY", "secret")
    found = endpoint(server, template="{src}:", key_variable="OUR_KEY").score(items(" ab cde", " f", src="x y"))
    assert found == [-5.0, -1.0]
    ((path, request, key),) = server.seen
    assert (path, key, request["prompt"]) == ("/v1/completions", "Bearer secret", ["x y: ab cde", "x y: f"])
    assert {name: request[name] for name in ("model", "echo", "max_tokens")} == {
        "model": "tiny",
        "echo": True,
        "max_tokens": 1,
    }
    assert request["logprobs"] >= 1
    with pytest.raises(LuthierError, match="expected a key in the environment variable NO_KEY, found none"):
        endpoint(server, key_variable="NO_KEY").score(items("a"))
    monkeypatch.setenv("OPENAI_API_KEY", "other")
    assert endpoint(server, template="{src}:", per_token=True).score(items(" ab cde")) == [-2.5]
    assert endpoint(server, template="").score(items("ab cde")) == [-3.0]  # nothing is known of the first token
    assert endpoint(server, template="{src}\n").score(items("ab", src="x")) == [-2.0]
    assert server.seen[-1][2] is None  # a key goes to a server only where it is named


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        ({"choices": []}, 200, "expected 1 choices, found 0"),
        ({"choices": [{"index": 0, "text": "x"}]}, 200, "expected choices with logprobs"),
        ({"choices": [{"index": 0, "logprobs": None}]}, 200, "must give log-probabilities of the prompt"),
        ({"choices": [{"index": 0, "logprobs": {"text_offset": [0, 2], "token_logprobs": [None, None]}}]}, 200,
         "expected log-probabilities of sentence '0', found none"),
        (b"{", 200, "expected JSON"),
        (b"[]", 200, "expected a JSON object"),
        ({"error": "no such model"}, 404, "found status 404: .*no such model"),
    ],
)  # fmt: skip
def test_an_endpoint_that_answers_otherwise(server, answer, status, said):
    server.answer, server.status = answer, status
    with pytest.raises(LuthierError, match=said):
        endpoint(server, template="{src}").score(items("cd", src="ab"))


def test_an_endpoint_that_is_not_there():
    with pytest.raises(LuthierError, match="expected the `url` of a server"):
        scorer_of("endpoint", {"url": "ftp://x"}).score(items("a"))
    with pytest.raises(LuthierError, match=r"expected an answer, found .* does the server run"):
        scorer_of("endpoint", {"url": "http://127.0.0.1:9/v1"}).score(items("a"))


def test_a_causal_model_needs_its_folder_and_its_libraries(tmp_path):
    with pytest.raises(LuthierError, match="expected the folder of a `model` for the scorer causal-lm"):
        scorer_of("causal-lm", {"model": str(tmp_path / "none")}).score(items("a"))
    try:
        import torch  # noqa: F401
    except ImportError:
        with pytest.raises(
            LuthierError, match=r"needs torch and transformers: .*hint: pip install 'luthier\[neural\]'"
        ):
            scorer_of("causal-lm", {"model": str(tmp_path)}).score(items("a"))


def test_identity_changes_with_files_and_options(tmp_path):
    path = tmp_path / "lm.arpa"
    path.write_text("x")
    one = scorer_of("ngram", {"model": str(path)})
    before = one.identity()
    path.write_text("xy")
    assert len({before, one.identity(), scorer_of("ngram", {"model": str(path), "per_word": True}).identity()}) == 3
    assert not math.isnan(hash(before))
