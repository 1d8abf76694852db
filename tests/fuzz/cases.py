"""What is fuzzed: each case makes a damaged file and says which commands must bear it."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import samples
from lying_pools import read_raw, write_raw
from model_cases import ModelCases
from mutations import damage_any, damage_bytes, damage_text, lie
from runs import Run
from state_cases import StateCases

from luthier.kbest.serving.reranker import Reranker
from luthier.kbest.shards.manifest import NAME, _seal


def forged(rng, said):
    """Return what a manifest says with one value replaced, sealed anew."""
    del said["seal"]
    places = [(said, key) for key in said] + [(part, key) for part in said["parts"] for key in part]
    holder, key = places[rng.integers(len(places))]
    wrong = [-1, 0, 1 << 70, 0.5, "", "../x.arrow", None, [], {}, [[]], float("nan"), said["parts"][0]["digest"]]
    holder[key] = wrong[rng.integers(len(wrong))]
    return {**said, "seal": _seal(said)}


class Cases(StateCases, ModelCases):
    """Sound files, made once in a folder, and damaged copies of them."""

    def __init__(self, folder, rng, run):
        self.folder = Path(folder)
        self.lists = samples.lists(rng)
        self.tables = {name: path.read_bytes() for name, path in samples.tables(rng, self.folder).items()}
        pool, self.pool = samples.pool(self.folder)
        self.raw_pool = self.pool.read_bytes()
        self.weights = samples.weights(pool.features.names)
        (self.folder / "w.txt").write_bytes(self.weights["txt"])
        (self.folder / "refs.txt").write_text("".join(f"ref {i}\n" for i in range(samples.SENTENCES)))
        self.scored = self.folder / "scored.arrow"
        self.scorer_answers = self.answer(run, self._score(self.folder / "answers"), "answers")
        self.reranked = self.answer(run, self._rerank(self.pool), "out.txt")
        self.parts = self.folder / "parts"
        assert run(["data", "shard", self.pool, "--shards", "3", "--metric", "bleu", "-o", self.parts]) == 0
        self.names = [n for n in dir(self) if n.startswith("case_")]
        self.make_states(run)
        self.make_models(run)

    def answer(self, run, command, name):
        """Return what a command writes into a file."""
        assert run(command) == 0, command
        return (self.folder / name).read_bytes()

    def make(self, rng, i):
        """Return the i-th run."""
        return getattr(self, self.names[i % len(self.names)])(rng)

    def _rerank(self, pool):
        return ["rerank", pool, "--weights", self.folder / "w.txt", "-o", self.folder / "out.txt"]

    def _fold(self, pool):
        tuner = ["--method", "random", "--rounds", "1", "--batch", "2"]
        return ["tune", pool, *tuner, "--folds", "2", "--also", "ter", "-o", self.folder / "folded.txt"]

    def _score(self, cache):
        return ["score-with", "length", self.pool, "--name", "n", "--cache", cache, "-o", self.scored]

    def _damaged_pool(self, rng, path):
        """Return a run over a damaged pool: some command that reads all of it, then re-ranking."""
        f = self.folder
        some = [
            ["inspect", path], ["data", "convert", path, f / "c.jsonl"], ["data", "convert", path, f / "c.parquet"],
            ["data", "split", path, "--into", f"{f}/a.arrow=1", "--into", f"{f}/b.arrow=1"],
            ["oracle", path, "--metric", "bleu"],
            ["tune", path, "--method", "mert", "--sweeps", "1", "-o", f / "t.txt"],
            ["pool", path, self.pool, "-o", f / "merged.arrow"],
            self._fold(path), ["ablate", path, "--metric", "bleu", "--folds", "2", "--method", "random"],
            ["mbr", path, "--select", "chrf", "-o", f / "chosen.txt"],
            ["pairs", path, "--weights", f / "w.txt", "-o", f / "pairs.jsonl"],
            ["export", path, "--for", "metricx", "-o", f / "scoring"],
        ]  # fmt: skip
        return Run(
            [self._rerank(path), some[rng.integers(len(some))]],
            f / "out.txt", self.reranked, ["inspect", path, "--verify"],
        )  # fmt: skip

    def _list(self, rng, raw, name, *more):
        path = self.folder / name
        path.write_bytes(gzip.compress(raw, 1) if rng.random() < 0.1 else raw)
        made = self.folder / "made.arrow"
        refs = ["--refs", self.folder / "refs.txt"] if rng.random() < 0.3 else []
        skip = ["--skip-bad"] if rng.random() < 0.5 else []
        read = ["pool", path, *refs, *skip, *more, "-o", made]
        used = [["data", "convert", made, self.folder / "again.jsonl"], self._fold(made)][rng.random() < 0.2]
        return Run([read, ["inspect", made, "--verify"], used])

    def case_text_list(self, rng):
        name = list(self.lists)[rng.integers(len(self.lists))]
        return self._list(rng, damage_text(rng, self.lists[name]), f"list.{name}")

    case_text_list_2 = case_text_list_3 = case_text_list_4 = case_text_list

    def case_joined(self, rng):
        """Damage a file of scores, more or less, that is joined to a sound list."""
        n = samples.SENTENCES * samples.ROWS
        numbers = b"".join(b"%d.5\n" % k for k in range(n))
        rows = (b"%d\t%d\t0.5\n" % (k // samples.ROWS, k % samples.ROWS) for k in range(n))
        scores, name = [
            (numbers, "jsonl"), (b"id\tindex\tqe\n" + b"".join(rows), "jsonl"),
            (self.lists["metricx"].replace(b"prediction", b"qe"), "metricx"),
        ][rng.integers(3)]  # fmt: skip
        path = self.folder / "scores"
        path.write_bytes(damage_text(rng, scores) if rng.random() < 0.8 else scores)
        return self._list(rng, self.lists[name], "list.scored", "--join", path)

    def case_speech(self, rng):
        """Damage a file of a recogniser's folder, or take it away."""
        files, name, options = samples.speech()[rng.integers(6)]
        folder = self.folder / "speech"
        shutil.rmtree(folder, ignore_errors=True)
        for own, raw in files.items():
            (folder / own).parent.mkdir(parents=True, exist_ok=True)
            (folder / own).write_bytes(raw)
        victim = folder / list(files)[rng.integers(len(files))]
        if rng.random() < 0.1:
            victim.unlink()
        else:
            victim.write_bytes(damage_text(rng, victim.read_bytes()))
        made = self.folder / "made.arrow"
        skip = ["--skip-bad"] if rng.random() < 0.5 else []
        given = [option.format(folder=folder) for option in options]
        return Run([["pool", folder / name, *given, *skip, "-o", made], ["inspect", made, "--verify"]])

    def case_table(self, rng):
        name = list(self.tables)[rng.integers(len(self.tables))]
        return self._list(rng, damage_bytes(rng, self.tables[name]), f"list.{name}")

    def case_pool_bytes(self, rng):
        path = self.folder / "damaged.arrow"
        path.write_bytes(damage_bytes(rng, self.raw_pool))
        return self._damaged_pool(rng, path)

    case_pool_bytes_2 = case_pool_bytes

    def case_pool_lies(self, rng):
        path = self.folder / "lying.arrow"
        arrays, meta = read_raw(self.pool)
        lie(rng, arrays, meta)
        write_raw(path, arrays, meta)
        return self._damaged_pool(rng, path)

    case_pool_lies_2 = case_pool_lies

    def case_parts(self, rng):
        """Damage the manifest of a sharded pool, have it lie under a fitting seal, or damage a part."""
        folder = self.folder / "damaged-parts"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.parts, folder)
        path = folder / (NAME if rng.random() < 0.7 else "part-2.arrow")
        if path.name == NAME and rng.random() < 0.6:
            said = json.loads(path.read_bytes())
            path.write_text(json.dumps(forged(rng, said)))
        else:
            path.write_bytes((damage_text if path.name == NAME else damage_bytes)(rng, path.read_bytes()))
        f = self.folder
        some = [
            ["oracle", folder, "--metric", "bleu"],
            ["tune", folder, "--method", "mert", "--sweeps", "1", "-o", f / "t.txt"],
            ["surface", folder, "--axis", "f0", "--axis", "f1", "--window", "f0=-1:1", "--window", "f1=-1:1",
             "--raster", "5"],
        ]  # fmt: skip
        return Run([self._rerank(folder / NAME), some[rng.integers(len(some))]], f / "out.txt", self.reranked)

    def case_answers(self, rng):
        path = self.folder / "damaged.answers"
        path.write_bytes(damage_text(rng, self.scorer_answers))
        return Run([self._score(path), ["inspect", self.scored, "--verify"]])

    def case_scorer(self, rng):
        """Have a program answer with damaged numbers, more or fewer than it was asked for."""
        path = self.folder / "said.txt"
        path.write_bytes(damage_text(rng, b"".join(b"%d.25\n" % k for k in range(samples.SENTENCES * samples.ROWS))))
        call = self._score(self.folder / "said.kept")
        (self.folder / "said.kept").unlink(missing_ok=True)
        return Run([[call[0], f"cat {path}", *call[2:]], ["inspect", self.scored, "--verify"]])

    def case_reranker(self, rng):
        """Load damaged weights into a `Reranker`, or give it candidates whose values are none."""
        path = self.folder / "served.json"
        raw = self.weights["json" if rng.random() < 0.5 else "full.json"]
        path.write_bytes(damage_any(rng, raw) if rng.random() < 0.6 else raw)
        wrong = [None, True, "1", float("nan"), 10**400, 1e308, -1e308, [], {}, b"1", "\ud800"]
        names = [*json.loads(self.weights["json"]), "text", "words"]

        def some(depth):
            if rng.random() < 0.1 * depth:
                return wrong[rng.integers(len(wrong))]
            return {n: wrong[rng.integers(len(wrong))] if rng.random() < 0.05 else 0.5 for n in names}

        candidates = wrong[rng.integers(len(wrong))] if rng.random() < 0.1 else [some(1) for _ in range(3)]
        return Run([lambda: Reranker.load(path).rank(candidates)])

    def case_weights(self, rng):
        ending = list(self.weights)[rng.integers(len(self.weights))]
        path = self.folder / f"damaged.{ending}"
        path.write_bytes(damage_text(rng, self.weights[ending]))
        return Run([["rerank", self.pool, "--weights", path, "-o", self.folder / "out2.txt"]])
