"""From a batch of answers to use: `score-with` twice, `tune --folds`, `rerank -` in a pipe, `Reranker` in a service."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import numpy as np
import pytest

import luthier

SENTENCES = 1000
WORDS = [f"w{k}" for k in range(40)]
SCORER = """
import json, sys
for line in sys.stdin:
    row = json.loads(line)
    source, hyp = set(row["src"].split()), row["hyp"].split()
    print(round(sum(word in source for word in hyp) / max(len(hyp), 1), 1), flush=True)
"""


def write_lists():
    """Write answers of a batch that resemble their reference, with coarse scores, so that many nearly tie."""
    rng = np.random.default_rng(11)
    with open("batch.jsonl", "w") as file, open("src.txt", "w") as sources, open("ref.txt", "w") as references:
        for i in range(SENTENCES):
            ref = rng.choice(WORDS, rng.integers(4, 9)).tolist()
            choices = []
            for index in range(rng.integers(2, 6)):
                hyp = [word if rng.random() < 0.7 else str(rng.choice(WORDS)) for word in ref]
                hyp = hyp + hyp[-2:] * int(rng.random() < 0.3)
                tokens = [{"token": word, "logprob": round(-rng.random(), 1)} for word in hyp]
                message = {"role": "assistant", "content": " ".join(hyp)}
                choices.append({"index": index, "message": message, "logprobs": {"content": tokens}})
            answer = {"status_code": 200, "body": {"object": "chat.completion", "choices": choices}}
            file.write(json.dumps({"custom_id": f"s{i}", "response": answer, "error": None}) + "\n")
            sources.write(f"s{i} {' '.join(reversed(ref))}\n")
            references.write(f"s{i} {' '.join(ref)}\n")


@pytest.mark.slow
@pytest.mark.compiled
def test_the_whole_way(tmp_path, monkeypatch, run_cli):
    monkeypatch.chdir(tmp_path)
    write_lists()
    (tmp_path / "overlap.py").write_text(SCORER)
    scorer = f"{shlex.quote(sys.executable)} -S -E overlap.py"
    for words in (
        ["pool", "batch.jsonl", "--refs", "ref.txt", "--source", "src.txt", "--keyed", "-o", "pool.arrow"],
        ["score-with", scorer, "pool.arrow", "--name", "overlap", "-o", "one.arrow"],
        ["score-with", "repetition", "one.arrow", "--option", "order=2", "--name", "repeated", "-o", "two.arrow"],
        ["data", "convert", "two.arrow", "two.jsonl"],
        ["rerank", "two.jsonl", "--weights", "weights.json", "-o", "whole.txt"],
    ):
        if words[0] == "rerank":
            tune = ["tune", "two.arrow", "--add", "lp=logprob/words**0.6", "--metric", "wer", "--method", "mert"]
            code, out, err = run_cli(*tune, "--folds", "3", "-o", "weights.json", "--json")
            assert code == 0, err
            folds = json.loads(out)["folds"]
            assert folds["score"] < folds["baseline_score"], "the scorers help on unseen sentences: fewer errors"
        code, _, err = run_cli(*words, "--quiet")
        assert code == 0, err
    lines = (tmp_path / "two.jsonl").read_bytes()
    command = [sys.executable, "-m", "luthier", "rerank", "-", "--weights", "weights.json", "-o", "-"]
    piped = subprocess.run(command, input=lines, capture_output=True, check=True).stdout
    assert piped == (tmp_path / "whole.txt").read_bytes()
    rows = [json.loads(line) for line in lines.splitlines()]
    assert service_choices(rows) == piped.decode().splitlines()


def service_choices(rows):
    """Return the text of each list that the reranker chooses; check that there was something to choose."""
    model, lists = luthier.Reranker.load("weights.json"), {}
    for row in rows:
        lists.setdefault(row["id"], []).append({**row["features"], "hyp": row["hyp"]})
    assert len(lists) == SENTENCES
    found, near = [], 0
    for candidates in lists.values():
        scores = sorted(model.scores(candidates))
        near += len(scores) > 1 and scores[-1] - scores[-2] < 1e-9
        found.append(candidates[model.best(candidates)]["hyp"])
    assert near, "no list has a tie"
    assert any(text != candidates[0]["hyp"] for text, candidates in zip(found, lists.values(), strict=True))
    return found
