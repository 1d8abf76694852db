"""Small files of every format that a stranger may send, all sound."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from lying_pools import WORDS, whole_pool

from luthier.kbest.storage.pool_file import save_pool
from luthier.synthetic.lists.planted import PlantedLists

SENTENCES, ROWS = 4, 5
STUDY = """
kind = "starts"
name = "small"
seed = 5
starts = { count = 2, kind = "few", size = 0.5 }
[[tuner]]
name = "search"
method = "random"
parameters = { rounds = 1, batch = 5 }
[[metric]]
name = "TER"
spec = "ter"
[test]
by = "TER"
metrics = { "TER" = "ter" }
[[data]]
name = "made"
source = "synthetic"
tune = { seed = 1, sentences = 4, k = 5, vocabulary = 100 }
test = { seed = 2, sentences = 4, k = 5, vocabulary = 100 }
"""


CHOICE = """
tune = "planted.arrow"
heldout = "planted-heldout.arrow"
metric = "column:worth"
[bins]
features = ["P"]
bits = [1, 2]
[tuner]
method = "random"
[tuner.parameters]
rounds = 1
batch = 4
"""
TRAINING = """
[corpus]
source = "train.src"
target = "train.trg"
[alignment]
method = "model1"
[lm]
order = 2
[tune]
source = "dev.src"
refs = "dev.trg"
[decoder]
k = 3
pops = 10
[tuner]
method = "random"
rounds = 1
batch = 4
[loop]
iterations = 2
"""
LOOP = """
metric = "bleu"
seed = 3
[tune]
source = "dev.src"
refs = "dev.trg"
[decoder]
model = "trained"
k = 3
[tuner]
method = "random"
rounds = 1
batch = 4
[loop]
iterations = 2
"""


def corpus():
    """Return small texts and their translations: file → lines."""
    rng = np.random.default_rng(7)
    pairs = dict(zip("abcdefgh", ["the", "cat", "sät", "on", "a", "mat", "日本", "."], strict=True))
    drawn = [rng.choice(list(pairs), rng.integers(2, 6)) for _ in range(24)]
    sides = {"src": [" ".join(words) for words in drawn], "trg": [" ".join(map(pairs.get, words)) for words in drawn]}
    parts = {"train": slice(0, 20), "dev": slice(20, 24)}
    return {f"{part}.{side}": lines[cut] for part, cut in parts.items() for side, lines in sides.items()}


def planted(seed):
    """Return a pool with derivations whose features can be cut into bins."""
    return PlantedLists(sentences=4, k=5).generate(seed)


def _hypotheses(rng, sentences=SENTENCES):
    for i in range(sentences):
        for k in range(ROWS):
            yield i, k, " ".join(rng.choice(WORDS, 5)), rng.normal(size=3).round(4)


def lists(rng, sentences=SENTENCES):
    """Return a list of each text format: name → bytes."""
    rows = list(_hypotheses(rng, sentences))
    whole = [rows[at : at + ROWS] for at in range(0, len(rows), ROWS)]  # by sentences

    def of(line):
        return "".join(line(i, k, text, *h) for i, k, text, h in rows).encode()

    return {
        "moses": of(lambda i, k, t, a, b, c: f"{i} ||| {t} ||| lm= {a} tm= {b} {c} s{k}=1 ||| {a + b}\n"),
        "cdec": of(lambda i, k, t, a, b, c: f"{i} ||| {t} ||| lm={a} Glue={b} s{k}={c} ||| {a}\n"),
        "joshua": of(lambda i, _, t, a, b, c: f"{i} ||| {t} ||| tm_pt_0={a} tm_pt_1={b} lm_0={c} ||| {a}\n"),
        "bare": of(lambda i, _, t, a, b, c: f"{i} ||| {t} ||| {a} {b} {c} ||| {a}\n"),
        "travatar": of(lambda i, _, t, a, b, c: f"{i} ||| {t} ||| {a} ||| lm={b} tm={c}\n"),
        "marian": of(lambda i, _, t, a, b, c: f"{i} ||| {t} ||| F0= {a} F1= {b} ||| {c}\n"),
        "kaldi": of(lambda i, k, t, a, b, c: f"utt{i}-{k + 1} {a} {b} {c} {t}\n"),
        "tsv": b"id\thyp\tlm\ttm\n" + of(lambda i, _, t, a, b, c: f"{i}\t{t}\t{a}\t{b + c}\n"),
        "fairseq": "".join(
            f"S-{i}\tquelle\nT-{i}\tref {i}\n"
            + "".join(f"H-{i}\t{h[0]}\t{t}\nD-{i}\t{h[0]}\t{t}\nP-{i}\t-0.5 {h[1]}\n" for _, _, t, h in own)
            for i, own in enumerate(whole)
        ).encode(),
        "sockeye": "".join(
            json.dumps({"sentence_id": i, "translations": [t for _, _, t, _ in own],
                        "scores": [[h[0], h[1]] for _, _, _, h in own]}) + "\n"
            for i, own in enumerate(whole)
        ).encode(),
        "nested": "".join(
            json.dumps({"id": i, "ref": f"ref {i}", "nbest": [t for _, _, t, _ in own],
                        "scores": [h[0] for _, _, _, h in own]}) + "\n"
            for i, own in enumerate(whole)
        ).encode(),
        "jsonl": of(lambda i, k, t, a, b, c: json.dumps(
            {"id": i, "hyp": t, "features": {"lm": a, f"s{k}": b}, "comet": c, "refs": [f"ref {i}"],
             "derivation": ["r", {"rule": f"X → {k}", "features": {"p": a}}]}) + "\n"),
        **tools(rows, [[(t, h) for _, _, t, h in own] for own in whole]),
    }  # fmt: skip


def tools(rows, lists):
    """Return lists as today's tools write them: name → bytes."""

    def chat(text, h):
        content = [{"token": w, "logprob": x, "bytes": [7], "top_logprobs": []} for w, x in zip("ab", h, strict=False)]
        return {"index": 0, "message": {"role": "assistant", "content": text}, "logprobs": {"content": content}}

    def lines(values):
        return "".join(json.dumps(value) + "\n" for value in values).encode()

    answers = [{"id": f"c{i}", "choices": [chat(t, h) for t, h in hyps]} for i, hyps in enumerate(lists)]
    batch = [
        {"custom_id": str(len(lists) - i), "response": {"status_code": 200, "body": a}, "error": None}
        for i, a in enumerate(answers)
    ]
    rate = {"honesty": {"Rating": "3"}, "helpfulness": {"Rating": "N/A"}}
    wide = "src\tref\tA\tB\tkiwi_A\tkiwi_B\n" + "".join(
        f"s{i}\tr{i}\t{a[0]}\t{b[0]}\t{a[1][0]}\t{b[1][0]}\n" for i, (a, b, *_) in enumerate(lists)
    )
    return {
        "openai": lines(answers),
        "openai-batch": lines(batch),
        "vllm": lines({"request_id": str(i), "prompt": f"s{i}", "prompt_token_ids": [1, 2], "outputs": [
            {"index": k, "text": t, "token_ids": [1], "cumulative_logprob": h[0]} for k, (t, h) in enumerate(hyps)
        ]} for i, hyps in enumerate(lists)),
        "trl": lines({"prompt": f"s{i}", "completions": [t for t, _ in hyps], "rewards": [h[0] for _, h in hyps]}
                     for i, hyps in enumerate(lists)),
        "ultrafeedback": lines({"instruction": f"s{i}", "source": "x", "completions": [
            {"response": t, "annotations": rate, "overall_score": h[0]} for t, h in hyps
        ]} for i, hyps in enumerate(lists)),
        "lm-eval": lines({"doc_id": i, "target": "4", "resps": [[t for t, _ in hyps]], "filter": f}
                         for i, hyps in enumerate(lists) for f in "ab"),
        "openrlhf": lines({"input": f"s{j}", "output": t, "reward": h[0]} for j, _, t, h in reversed(rows)),
        "metricx": lines({"source": f"s{j}", "hypothesis": t, "prediction": h[0]} for j, _, t, h in rows),
        "ctranslate2": lines({"hypotheses": [t.split() for t, _ in hyps], "scores": [h[0] for _, h in hyps]}
                             for hyps in lists),
        "comet": json.dumps({name: [{"src": f"s{i}", "mt": hyps[k][0], "COMET": hyps[k][1][0]}
                                    for i, hyps in enumerate(lists)]
                             for k, name in enumerate("ab")}, indent=1).encode(),
        "pipeline": json.dumps([[{"generated_text": t, "score": h[0]} for t, h in hyps] for hyps in lists]).encode(),
        "wide": wide.encode(),
        "wide-csv": wide.replace(",", ";").replace("\t", ",").encode(),
    }  # fmt: skip


def speech():
    """Return lists of speech recognisers, which are folders: (files, the one that is the list, options of `pool`)."""
    keys, nth = [f"u{i}" for i in range(SENTENCES)], (1, 2)

    def lines(line):
        return "".join(line.format(key=key, k=k) for key in keys for k in nth).encode()

    manifest = "".join(
        json.dumps({"audio_filepath": f"{key}.wav", "text": "a b", "duration": 1.5}) + "\n" for key in keys
    )
    recognised = {
        f"{k}best_recog/{name}": "".join(line.format(key=key) for key in keys).encode()
        for k in nth for name, line in (("text", "{key} a b\n"), ("score", "{key} tensor(-12.5)\n"))
    }  # fmt: skip
    costs = {name: lines("{key}-{k} 1.25\n") for name in ("acwt", "lmwt.nolm", "lmwt.lmonly")}
    beams = {"beams.tsv": lines("a {k}\t-1.5\n"), "manifest.json": manifest.encode()}
    return [
        (dict.fromkeys(keys, b"-1 -2.5 2 a b\n-2 -1.5 3 a c d\n"), "", []),
        (dict.fromkeys(keys, b"NBestList1.0\n(-12.5) <s> a b </s>\n(-13) a c\n"), "", []),
        (recognised, "", []),
        ({"words_text": lines("{key}-{k} a {k}\n"), **costs}, "", ["--format", "kaldi-archives"]),
        (beams, "beams.tsv", ["--format", "nemo", "--format-option", "beams=2"]),
        (beams, "beams.tsv", ["--format", "nemo", "--format-option", "manifest={folder}/manifest.json"]),
    ]


def tables(rng, folder):
    """Write the lists that are binary; return their paths by format."""
    rows = list(_hypotheses(rng))
    table = pa.table(
        {
            "id": [i for i, *_ in rows],
            "hyp": [text for _, _, text, _ in rows],
            "features": [{"lm": h[0], "tm": h[1]} for *_, h in rows],
            "refs": [[f"ref {i}"] for i, *_ in rows],
            "derivation": [[{"rule": f"X → {k}", "features": {"p": h[0]}}] for _, k, _, h in rows],
            "comet": [h[2] for *_, h in rows],
        }
    )
    pq.write_table(table, folder / "list.parquet")
    with pa.OSFile(str(folder / "list.feather"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    lists = [[(text, h) for j, _, text, h in rows if j == i] for i in range(SENTENCES)]
    texts, scores = [[t for t, _ in hyps] for hyps in lists], [[float(h[0]) for _, h in hyps] for hyps in lists]
    pq.write_table(pa.table({"completions": texts, "scores": scores}), folder / "nested.parquet")
    return {"parquet": folder / "list.parquet", "feather": folder / "list.feather", "nested": folder / "nested.parquet"}


def weights(names):
    """Return files of weights, in each of the forms: ending → bytes."""
    values = np.linspace(-1, 1, len(names)).round(3)
    pairs = list(zip(names, values.tolist(), strict=True))
    return {
        "txt": "".join(f"{name} {value}\n" for name, value in pairs).encode(),
        "json": json.dumps(dict(pairs)).encode(),
        "full.json": json.dumps({"weights": dict(pairs), "add": {"x": "2*words"}, "missing": dict(pairs[:2])}).encode(),
        "ini": ("[weight]\n" + "".join(f"{name}= {value}\n" for name, value in pairs)).encode(),
    }


def pool(folder):
    """Write a pool with every part, and return it and its path."""
    made = whole_pool(sentences=SENTENCES, rows=ROWS)
    save_pool(made, folder / "pool.arrow")
    return made, folder / "pool.arrow"
