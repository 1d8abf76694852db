"""States that long jobs leave behind, damaged: tuning runs, searches, studies, loops, choices, trainings."""

from __future__ import annotations

import contextlib
import json
import shutil

import samples
from mutations import damage_any, damage_bytes, damage_text, lie_in_array, lie_in_journal, lie_in_json
from runs import Kept, Run

from luthier.core.errors import LuthierError
from luthier.explorer.app import answer
from luthier.explorer.sessions.folders import Folders
from luthier.explorer.sessions.workspace import Workspace
from luthier.kbest.storage.pool_file import save_pool
from luthier.landscape.cones.search_state import read_state, write_state
from luthier.metrics.loading import load_metric


def explored(home, draw):
    """Ask for the table of runs in a folder, open one of them, and ask for what the page shows of it first."""
    place = Workspace(None, Folders([str(home)]), load_metric("bleu"))
    answered = 0

    def ask(name, **asked):
        nonlocal answered
        with contextlib.suppress(LuthierError):
            reply = answer(place, name, json.dumps(asked).encode())
            reply.body()
            answered += 1
            return reply.values
        return {}

    rows = ask("runs").get("rows", [])
    chosen = [row["run"] for row in rows[draw % len(rows) :][:1]] if rows else [0]
    ask("beside", runs=[*chosen, 0])
    number = ask("open", runs=chosen).get("session", 0)
    for name in ("about", "select", "trace", "curves", "unseen", "intervals"):
        ask(name, session=number)
    ask("state", session=number, trace=0, state=0, generation=0)
    return answered


class StateCases:
    """Jobs that were stopped, and go on from damaged files; a part of `Cases`."""

    def make_states(self, run):
        """Run what leaves states behind."""
        f = self.folder
        self.tune = ["tune", self.pool, "--method", "random", "--metric", "bleu", "--rounds", "1", "--batch", "5",
                     "--restarts", "3", "--checkpoint", f / "tune.ckpt", "-o", f / "tuned.txt"]  # fmt: skip
        self.tuned = self.answer(run, self.tune, "tuned.txt")
        self.checkpoint = (f / "tune.ckpt").read_bytes()
        self.search = [
            "geometry",
            "cones",
            self.pool,
            "--axis",
            "lm",
            "--axis",
            "tm",
            "--metric",
            "none",
            "-o",
            f / "cones",
        ]
        self.answer(run, [*self.search, "--limit", "3"], "cones")
        self.searches = [{path.name: path.read_bytes() for path in f.glob("cones*")}]
        self.answer(run, [*self.search, "--resume"], "cones")
        self.searches.append({path.name: path.read_bytes() for path in f.glob("cones*")})  # all is found
        (f / "study.toml").write_text(samples.STUDY)
        self.study = ["study", f / "study.toml", "-o", f / "results"]
        self.units = self.answer(run, self.study, "results/units.jsonl")
        for seed, name in enumerate(("planted", "planted-heldout")):
            save_pool(samples.planted(seed), f / f"{name}.arrow")
        (f / "choice.toml").write_text(samples.CHOICE)
        self.choose = ["engine", "sweep", f / "choice.toml", "-o", f / "choice"]
        self.chosen = self.answer(run, self.choose, "choice/weights.txt")
        self.points = (f / "choice" / "points.jsonl").read_bytes()
        self._make_training(run)
        self._make_runs(run)

    def _make_runs(self, run):
        """Tune into a folder, and put a loop and a study beside it, as somebody would explore them."""
        home = self.folder / "runs"
        (home / "loop").mkdir(parents=True)
        shutil.copy(self.pool, home / "pool.arrow")
        tune = ["tune", home / "pool.arrow", "--method", "random", "--rounds", "1", "--batch", "3", "--resamples", "3"]
        assert run([*tune, "--folds", "2", "--trace", home / "t.jsonl", "-o", home / "w.json"]) == 0
        assert run([*tune, "--heldout", self.pool, "-o", home / "v.txt"]) == 0
        for path in [self.folder / "loop" / name for name in self.loop_files.files]:
            to = home / path.relative_to(self.folder)
            to.parent.mkdir(exist_ok=True)
            shutil.copy(path, to)
        (home / "units.jsonl").write_bytes(self.units)
        self.runs = Kept(home)

    def _make_training(self, run):
        """Train a system, and run a loop with it."""
        f = self.folder
        for name, lines in samples.corpus().items():
            (f / name).write_text("".join(f"{line}\n" for line in lines))
        (f / "train.toml").write_text(samples.TRAINING)
        self.train = ["train", f / "train.toml", "-o", f / "trained"]
        self.trained_weights = self.answer(run, self.train, "trained/weights.json")
        self.trained = Kept(f / "trained")
        (f / "loop.toml").write_text(samples.LOOP)
        self.loop = ["loop", f / "loop.toml", "-o", f / "loop"]
        self.loop_weights = self.answer(run, self.loop, "loop/weights.json")
        self.loop_files = Kept(f / "loop")

    def case_checkpoint(self, rng):
        (self.folder / "tune.ckpt").write_bytes(damage_any(rng, self.checkpoint))
        return Run([[*self.tune, "--resume"]], self.folder / "tuned.txt", self.tuned)

    def case_lying_checkpoint(self, rng):
        (self.folder / "tune.ckpt").write_bytes(lie_in_journal(rng, self.checkpoint))
        return Run([[*self.tune, "--resume"]])

    def case_search(self, rng):
        files = self.searches[rng.integers(2)]
        for path in self.folder.glob("cones*"):
            path.unlink()
        for name, raw in files.items():
            (self.folder / name).write_bytes(raw)
        name = sorted(files)[rng.integers(len(files))]
        if rng.random() < 0.7:
            (self.folder / name).write_bytes(damage_bytes(rng, files[name]))
        else:
            self._lie_in_search(rng, files)
        return Run([[*self.search, "--limit", "6", "--resume"]])

    def _lie_in_search(self, rng, files):
        """Change one number of the state of a search, and its hash with it."""
        path = str(next(self.folder / name for name in files if name.endswith("state")))
        identity, tally, arrays = read_state(path)
        names = [name for name, array in arrays.items() if array.size]
        if rng.random() < 0.2:
            tally[list(tally)[rng.integers(len(tally))]] = [-1, 10**15, None, "x", 0.5][rng.integers(5)]
        else:
            lie_in_array(rng, arrays[names[rng.integers(len(names))]])
        write_state(path, identity, tally, arrays)

    def case_units(self, rng):
        shutil.rmtree(self.folder / "results", ignore_errors=True)
        (self.folder / "results").mkdir()
        damage = lie_in_journal if rng.random() < 0.3 else damage_any
        (self.folder / "results" / "units.jsonl").write_bytes(damage(rng, self.units))
        return Run([self.study])

    def case_points(self, rng):
        lying = rng.random() < 0.3
        raw = lie_in_journal(rng, self.points) if lying else damage_any(rng, self.points)
        (self.folder / "choice" / "points.jsonl").write_bytes(raw)
        return Run([self.choose], None if lying else self.folder / "choice" / "weights.txt", self.chosen)

    def case_loop(self, rng):
        path, raw = self.loop_files.put_back(rng)
        lying = path.name == "iterations.jsonl" and rng.random() < 0.6
        path.write_bytes(lie_in_journal(rng, raw) if lying else damage_any(rng, raw))
        answer = None if lying else self.folder / "loop" / "weights.json"
        return Run([[*self.loop, "--resume"]], answer, self.loop_weights)

    def case_training(self, rng):
        path, raw = self.trained.put_back(rng)
        lying = False
        if rng.random() < 0.4:
            path, raw = self.folder / "trained" / "steps.json", self.trained.files["steps.json"]
            path.write_bytes(lie_in_json(rng, raw) if rng.random() < 0.7 else damage_any(rng, raw))
        elif path.name == "iterations.jsonl" and rng.random() < 0.5:
            lying = True
            path.write_bytes(lie_in_journal(rng, raw))
        else:
            path.write_bytes(damage_any(rng, raw))
        answer = None if lying else self.folder / "trained" / "weights.json"
        return Run([self.train], answer, self.trained_weights)

    def case_runs(self, rng):
        """Damage a file of a folder of runs: records above all; then have the explorer show and open all of them."""
        records = [name for name in self.runs.files if name.endswith(".run.json")]
        path, raw = self.runs.put_back(rng, names=records if rng.random() < 0.5 else None)
        lying = path.suffix == ".json" and rng.random() < 0.6
        path.write_bytes(lie_in_json(rng, raw) if lying else damage_any(rng, raw))
        draw = int(rng.integers(1000))
        return Run([lambda: explored(self.runs.folder, draw)])

    def case_settings(self, rng):
        """TOML files: of a study, a choice, a loop with recorded lists, a training."""
        f = self.folder
        name, text, command = [
            ("study", samples.STUDY, "study"), ("choice", samples.CHOICE, "engine sweep"),
            ("loop", samples.LOOP, "loop"), ("train", samples.TRAINING, "train"),
        ][rng.integers(4)]  # fmt: skip
        (f / f"damaged-{name}.toml").write_bytes(damage_text(rng, text.encode()))
        shutil.rmtree(f / "made", ignore_errors=True)
        return Run([[*command.split(), f / f"damaged-{name}.toml", "-o", f / "made"]])
