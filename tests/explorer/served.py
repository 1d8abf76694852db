"""A session on a port, in a thread of the tests' own process, and how they ask it."""

import contextlib
import dataclasses
import http.client
import json
import threading

import numpy as np

from luthier.core.segments import segment_of_rows
from luthier.corpus.texts import Texts
from luthier.explorer.server import Server
from luthier.explorer.sessions.responses import unpack
from luthier.explorer.sessions.session import Named, Session
from luthier.features.fit_bins import BinOptions, bins_of_pool
from luthier.features.induction import with_bins
from luthier.kbest.building.frames import pool_from_frame
from luthier.kbest.derivations import Derivations, Tree
from luthier.kbest.features import Features
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists

SPEC = SyntheticLists(sentences=24, k=12, vocabulary=150, redundant=True)
HOSTILE = "<img src=x onerror=\"document.title='broken'\"> </script>"
ARABIC = "مرحبا بالعالم"


def make_pool(seed=5):
    """Lists with a constant feature, a redundant one, derivations, a hypothesis that looks like markup, and Arabic."""
    made = SPEC.generate(seed)
    texts, sentences = list(made.texts), segment_of_rows(made.offsets).tolist()
    for k in range(made.offsets[1]):
        texts[k] = f"{HOSTILE} {texts[k]}"
    texts[int(made.offsets[1])] = ARABIC
    n = len(texts)
    columns = dict(zip(made.features.names, made.features.dense.T, strict=True))
    pool = pool_from_frame(
        {
            "id": sentences, "hyp": texts, "source": [made.sources[i] for i in sentences],
            "refs": [made.references.of(i)[0] for i in sentences], **columns, "same": np.full(n, 3.0),
        },
        references="refs",
    )  # fmt: skip
    rules = Features.from_dense(("p", "words"), np.array([[0.5, 2.0], [0.25, 0.0]]))
    names = Texts.from_strings(["[S] ||| a [X] ||| b [X]", "[X] ||| c ||| d"])
    derivations = Derivations(
        2 * np.arange(n + 1), np.tile([0, 1], n), names, rules,
        Tree(np.tile([-1, 0], n), np.tile([[0, 2], [1, 2]], (n, 1))),
    )  # fmt: skip
    return dataclasses.replace(pool, derivations=derivations)


def weights_of(pool, seed=0):
    """Weights about those of the decoder."""
    rng = np.random.default_rng(seed)
    start = np.array([SPEC.decoder_weights.get(name, 0.0) for name in pool.features.names])
    return start if seed == 0 else start + rng.normal(size=len(start)) * 0.3


def make_session(metric="bleu", *, binned=False, **more):
    """A session of these lists; with bins of one feature of rules as further features, if asked for."""
    pool = make_pool()
    if binned:
        more["bins"] = bins_of_pool(pool, ["words"], BinOptions(bins=2))
        pool = with_bins(pool, more["bins"])
    named = [Named("start.txt", weights_of(pool)), Named("other.txt", weights_of(pool, 1))]
    return Session(pool, load_metric(metric), named, title="lists", seed=3, **more)


@contextlib.contextmanager
def serving(session):
    """Yield a server that answers, and knows its session."""
    said = []
    server = Server(session, say=said.append)
    server.session = session
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()
    assert said == []


def raw(server, method, path, body=b"", headers=None):
    """Return status, heads and body of one request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=1800)
    try:
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        return reply.status, dict(reply.getheaders()), reply.read()
    finally:
        connection.close()


def ask(server, name, **body):
    """Return values and arrays of an answer."""
    heads = {"X-Luthier-Token": server.token, "Content-Type": "application/json"}
    status, found, content = raw(server, "POST", f"/api/{name}", json.dumps(body), heads)
    assert status == 200, content
    if found["content-type"] == "application/octet-stream":
        return unpack(content)
    return json.loads(content), {}


def changed(weights, base):
    """Return weights as requests have them."""
    return {"base": 0, "set": [[d, weights[d]] for d in np.flatnonzero(weights != base).tolist()]}
