"""Models and what is made of them, damaged: links, rules, language models, forests, bins, trained systems."""

from __future__ import annotations

import numpy as np
from mutations import damage_any, damage_bytes, damage_text, lie_in_array, lie_in_json
from runs import Run

from luthier.core.files.array_file import open_arrays, save_arrays
from luthier.jobs.trained_model import TranslationModel
from luthier.jobs.translate import Wanted, answer_lines

ARRAY_FILES = {
    "g.grammar": "grammar 1", "rules/rules.luthier": "rule model 1", "lm.arpa.luthier": "language model 1",
    "forests/forests.luthier": "forests 1",
}  # fmt: skip
PLF = b"""((('a',0.5,1),('C\\'',-2.5e-1,1),("ab",0.125,2),),(('b',2,1),),)\na b\n((('a',1,1),),(('b',1,1),),)\n"""


class ModelCases:
    """Small models made of a corpus of 20 sentences; a part of `Cases`."""

    def make_models(self, run):
        """Make each kind of file, and know what comes of it."""
        f = self.folder
        text = [f / "train.src", f / "train.trg"]
        self.align = [
            "engine",
            "align",
            f / "dev.src",
            f / "dev.trg",
            "--apply",
            f / "align.model",
            "-o",
            f / "new.links",
        ]
        run(["engine", "align", *text, "--method", "model1", "--train", f / "align.model", "-o", f / "links"])
        run(["engine", "lm", f / "train.trg", "--order", "3", "-o", f / "lm.arpa"])
        run(
            [
                "engine",
                "extract",
                "--source",
                text[0],
                "--target",
                text[1],
                "--links",
                f / "links",
                "--model",
                f / "rules",
            ]
        )
        self.extract = ["engine", "extract", "--model", f / "rules", "--for", f / "dev.src", "--features", "all"]
        run([*self.extract, "-o", f / "g.grammar"])
        decode = [
            "engine",
            "decode",
            f / "dev.src",
            "--grammar",
            f / "g.grammar",
            "--lm",
            f / "lm.arpa",
            "--pops",
            "20",
        ]
        self.decode = [*decode, "-k", "4", "-o", f / "decoded.jsonl"]
        run([*decode, "--forests", f / "forests", "-k", "4", "-o", f / "lists.arrow"])
        cut = ["--features", "P_EgivenFCoherent,C_F", "--bits", "2"]
        run(["engine", "bins", f / "g.grammar", *cut, "-o", f / "bins.json"])
        forests = ["tune", "--forests", f / "forests", "--refs", f / "dev.trg", "-o", f / "forest.txt"]
        self.on_forests = [*forests, "--method", "random", "--rounds", "1", "--batch", "3"]
        self.induce = ["engine", "induce", f / "lists.arrow", "--bins", f / "bins.json", "-o", f / "binned.arrow"]
        self.perplexity = ["engine", "perplexity", f / "lm.arpa", f / "dev.trg", "--per-line", f / "lines.tsv"]
        self.commands = {
            "g.grammar": (self.decode, "decoded.jsonl"), "lm.arpa.luthier": (self.perplexity, "lines.tsv"),
            "rules/rules.luthier": ([*self.extract, "-o", f / "new.txt"], "new.txt"),
            "forests/forests.luthier": (self.on_forests, "forest.txt"),
            "align.model": (self.align, "new.links"), "bins.json": (self.induce, "binned.arrow"),
        }  # fmt: skip
        self.answers = {name: self.answer(run, *pair) for name, pair in self.commands.items()}
        names = [*self.commands, "lm.arpa", "links", "lists.arrow"]
        self.sound = {name: (f / name).read_bytes() for name in names}

    def _put_back(self):
        for name, raw in self.sound.items():
            (self.folder / name).write_bytes(raw)

    def _run_on(self, name, *, answer=True):
        command, made = self.commands[name]
        return Run([command], self.folder / made if answer else None, self.answers[name])

    def case_model_bytes(self, rng):
        """Bytes of files that carry a checksum."""
        self._put_back()
        name = [*ARRAY_FILES, "align.model"][rng.integers(5)]
        (self.folder / name).write_bytes(damage_bytes(rng, self.sound[name]))
        return self._run_on(name)

    def case_model_lies(self, rng):
        """Numbers of files that carry a checksum, which fits."""
        self._put_back()
        name = list(ARRAY_FILES)[rng.integers(4)]
        path, kind = self.folder / name, ARRAY_FILES[name]
        arrays, about = open_arrays(path, kind)
        arrays = {key: array.copy() for key, array in arrays.items()}
        self._lie_in(rng, arrays)
        if about and rng.random() < 0.05:
            about = {key: [None, -1, [3], "x"][rng.integers(4)] for key in about}
        path.unlink()  # the old one may still be mapped
        save_arrays(path, kind, arrays, about)
        return self._run_on(name, answer=False)

    case_model_lies_2 = case_model_lies

    def _lie_in(self, rng, arrays):
        name = list(arrays)[rng.integers(len(arrays))]
        kind = rng.random()
        if kind < 0.03:
            del arrays[name]
        elif kind < 0.1 or not arrays[name].size:
            arrays[name] = arrays[name][: int(rng.integers(len(arrays[name]) + 1))]
        else:
            lie_in_array(rng, arrays[name])

    def case_lying_links_model(self, rng):
        self._put_back()
        with np.load(self.folder / "align.model") as kept:
            arrays = {name: kept[name] for name in kept.files}
        self._lie_in(rng, arrays)
        with open(self.folder / "align.model", "wb") as file:
            np.savez(file, **arrays)
        return self._run_on("align.model", answer=False)

    def case_bins(self, rng):
        self._put_back()
        raw = self.sound["bins.json"]
        damaged = lie_in_json(rng, raw) if rng.random() < 0.6 else damage_any(rng, raw)
        (self.folder / "bins.json").write_bytes(damaged)
        more = [*self.decode, "--bins", self.folder / "bins.json"]
        return Run([self.induce, ["inspect", self.folder / "binned.arrow", "--verify"], more])

    def case_model_texts(self, rng):
        """An ARPA file, links, a grammar as text, and lattices."""
        self._put_back()
        f, kind = self.folder, rng.integers(4)
        if kind == 0:
            (f / "lm.arpa").write_bytes(damage_text(rng, self.sound["lm.arpa"]))
            return Run([self.perplexity])
        if kind == 1:
            (f / "links").write_bytes(damage_text(rng, self.sound["links"]))
            text = ["--source", f / "train.src", "--target", f / "train.trg", "--links", f / "links"]
            return Run([["engine", "extract", *text, "--for", f / "dev.src", "-o", f / "new.txt"]])
        if kind == 2:
            (f / "plf").write_bytes(damage_text(rng, PLF))
            return Run(
                [["engine", "decode", f / "plf", "--grammar", f / "g.grammar", "-k", "3", "-o", f / "new.jsonl"]]
            )
        (f / "g.txt").write_bytes(damage_text(rng, self.answers["rules/rules.luthier"]))
        return Run(
            [["engine", "decode", f / "dev.src", "--grammar", f / "g.txt", "--lm", f / "lm.arpa", "-o", f / "new.out"]]
        )

    def case_trained(self, rng):
        """A folder that somebody trained; what is text in it can be other without being wrong."""
        path, raw = self.trained.put_back(rng, names=["model.json", "weights.json", "lm.arpa.gz", "rules.luthier"])
        damaged = lie_in_json(rng, raw) if path.suffix == ".json" and rng.random() < 0.7 else damage_any(rng, raw)
        path.write_bytes(damaged)
        if rng.random() < 0.5:  # as `serve` and `translate` open it
            wanted = Wanted(2, explain=True)
            return Run([lambda: list(answer_lines(TranslationModel.open(path.parent), [b"a b\n"], wanted))])
        model = ["--model", self.folder / "trained", "-o", self.folder / "translated.txt"]
        return Run([["engine", "decode", self.folder / "dev.src", *model]])
