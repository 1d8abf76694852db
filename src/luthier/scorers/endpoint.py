"""Endpoint: log-probability of the hypothesis given the source, by a server with OpenAI's completions, such as vLLM.

The prompt and the hypothesis are sent as one prompt with ``echo`` and ``logprobs``; the server answers with the
log-probability of each token and where in the text it begins. The one token that it generates is left out. A key for
the server is sent only where `key_variable` names the environment variable that holds it.
"""

from __future__ import annotations

import dataclasses
import http.client
import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from luthier.core.errors import LuthierError, excerpt
from luthier.core.params import param
from luthier.core.settings import parse_json
from luthier.scorers._scorer import Item, Scorer

MOST_BYTES = 1 << 28


@dataclasses.dataclass(frozen=True)
class Method(Scorer):
    """Sum of the natural log-probabilities of the tokens that reach into the hypothesis."""

    url: str = param("", help="the server's address up to /v1, such as http://localhost:8000/v1")
    model: str = param("", help="the model's name on the server")
    template: str = param("{src}\n", help="the prompt, in which {src} is the source; '' is none")
    per_token: bool = param(False, help="divide by the number of tokens")
    seconds: float = param(300.0, low=0.1, help="time limit of a request")
    key_variable: str = param("", help="environment variable with the server's key; '' sends none")

    def score(self, batch: Sequence[Item]) -> Sequence[float]:
        """Return the log-probability of each hypothesis, by one request."""
        prompts = [self.template.replace("{src}", item.src) for item in batch]
        texts = [prompt + item.hyp for prompt, item in zip(prompts, batch, strict=True)]
        request = {"model": self.model, "prompt": texts, "max_tokens": 1, "echo": True, "logprobs": 1, "temperature": 0}
        answer = self._post("/completions", request)
        choices = answer.get("choices")
        if not isinstance(choices, list) or len(choices) != len(batch):
            n = len(choices) if isinstance(choices, list) else 0
            raise LuthierError(f"{self.url}: expected {len(batch)} choices, found {n}")
        try:
            choices = sorted(choices, key=lambda choice: choice["index"])
            spans = [(len(prompt), len(text)) for prompt, text in zip(prompts, texts, strict=True)]
            found = zip(choices, spans, batch, strict=True)
            return [self._total(choice["logprobs"], span, item) for choice, span, item in found]
        except (KeyError, TypeError) as error:
            raise LuthierError(
                f"{self.url}: expected choices with logprobs (token_logprobs, text_offset), found none: {error!r}. "
                "hint: the server must give log-probabilities of the prompt (echo)"
            ) from None

    def _total(self, logs: dict[str, Any], span: tuple[int, int], item: Item) -> float:
        """Return the sum over the tokens that reach into the hypothesis; the one that was generated does not."""
        start, end = span
        begins, values = logs["text_offset"], logs["token_logprobs"]
        ends = [*begins[1:], max(end, start) + 1]
        tokens = zip(begins, ends, values, strict=True)
        inside = [value for begin, stop, value in tokens if begin < end and stop > start]
        inside = inside[1:] if inside and inside[0] is None and start == 0 else inside  # the first token has none
        if None in inside or (item.hyp and not inside):
            raise LuthierError(f"{self.url}: expected log-probabilities of sentence {item.id!r}, found none")
        total = 0.0
        for value in inside:
            total += value
        return total / max(len(inside), 1) if self.per_token else total

    def _post(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        place = urlsplit(self.url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise LuthierError(
                f"expected the `url` of a server, http://HOST:PORT/v1, found {self.url!r}. hint: `option` url=URL"
            )
        kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
        key = os.environ.get(self.key_variable, "") if self.key_variable else ""
        if self.key_variable and not key:
            raise LuthierError(f"expected a key in the environment variable {self.key_variable}, found none")
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        connection = kind(place.hostname, place.port, timeout=self.seconds)
        try:
            connection.request("POST", place.path.rstrip("/") + path, json.dumps(request).encode(), headers)
            response = connection.getresponse()
            raw = response.read(MOST_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise LuthierError(f"{self.url}: expected an answer, found {error!r}. hint: does the server run?") from None
        finally:
            connection.close()
        if response.status != 200:
            raise LuthierError(f"{self.url}: expected an answer, found status {response.status}: {excerpt(raw)}")
        try:
            found = parse_json(raw)
        except ValueError as error:
            raise LuthierError(f"{self.url}: expected JSON, found {error}") from None
        if not isinstance(found, dict):
            raise LuthierError(f"{self.url}: expected a JSON object, found {excerpt(raw)}")
        return found
