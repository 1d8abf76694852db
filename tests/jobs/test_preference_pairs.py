"""Preference pairs: the best and the worst of each list, against sorting in plain Python."""

from __future__ import annotations

import json

import numpy as np
import pytest

import luthier
from luthier.core.errors import LuthierError

WEIGHTS = {"lm": 1.0, "kiwi": 2.0}


@pytest.fixture
def frame():
    rng = np.random.default_rng(4)
    rows = [
        (i, f"text {rng.integers(4)}", *rng.integers(-3, 3, 2)) for i in range(60) for _ in range(rng.integers(1, 6))
    ]
    ids, texts, lm, kiwi = zip(*rows, strict=True)
    return {"id": ids, "hyp": texts, "lm": list(map(float, lm)), "kiwi": list(map(float, kiwi)),
            "source": [f"prompt {i} \n\"é\"" for i in ids]}  # fmt: skip


@pytest.mark.compiled
@pytest.mark.parametrize("margin", [0.0, 3.0])
def test_pairs_are_those_of_sorting(frame, tmp_path, margin):
    pool = luthier.pool_from_frame(frame)
    found = luthier.pairs(pool, WEIGHTS, output=tmp_path / "dpo.jsonl", margin=margin)
    expected, close, one = [], 0, 0
    for i in sorted(set(frame["id"])):
        rows = [k for k, other in enumerate(frame["id"]) if other == i]
        score = {k: frame["lm"][k] + 2 * frame["kiwi"][k] for k in rows}
        best = max(rows, key=lambda k: (score[k], -k))
        rest = [k for k in rows if frame["hyp"][k] != frame["hyp"][best]]
        if not rest:
            one += 1
            continue
        worst = min(rest, key=lambda k: (score[k], k))
        if score[best] - score[worst] < margin or score[best] == score[worst]:
            close += 1
            continue
        expected.append({
            "id": i, "prompt": f"prompt {i} \n\"é\"",
            "chosen": frame["hyp"][best], "rejected": frame["hyp"][worst],
            "score_chosen": score[best], "score_rejected": score[worst],
        })  # fmt: skip
    lines = [json.loads(line) for line in (tmp_path / "dpo.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines == expected
    assert (found.pairs, found.too_close, found.one_text) == (len(expected), close, one)
    assert min(one, len(expected)) > 0
    assert found.mean_margin == pytest.approx(np.mean([p["score_chosen"] - p["score_rejected"] for p in expected]))


def test_what_cannot_be_paired_is_refused(frame, tmp_path):
    bare = luthier.pool_from_frame({name: column for name, column in frame.items() if name != "source"})
    with pytest.raises(LuthierError, match="expected lists with sources, which become prompts, found none"):
        luthier.pairs(bare, WEIGHTS, output=tmp_path / "x")
    with pytest.raises(LuthierError, match="expected a `margin` of at least 0, found -1"):
        luthier.pairs(bare, WEIGHTS, output=tmp_path / "x", margin=-1)
    assert not (tmp_path / "x").exists()


def test_the_command(run_cli, tmp_path, monkeypatch, frame):
    monkeypatch.chdir(tmp_path)
    rows = [dict(zip(frame, row, strict=True)) for row in zip(*frame.values(), strict=True)]
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(row, default=int) + "\n" for row in rows))
    (tmp_path / "w.json").write_text(json.dumps(WEIGHTS))
    code, out, _ = run_cli("pairs", "list.jsonl", "--weights", "w.json", "-o", "dpo.jsonl", "--json")
    assert code == 0
    assert json.loads(out)["pairs"] == len((tmp_path / "dpo.jsonl").read_text().splitlines())
    code, _, err = run_cli("pairs", "list.jsonl", "--weights", "w.json", "-o", "w.json")
    assert (code, "it is read, and would be lost" in err) == (2, True)
