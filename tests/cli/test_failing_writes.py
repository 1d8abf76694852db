"""Every write and opening of every command fails once: what is beside the answer costs a warning, others a sentence."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
import sys
from pathlib import Path

import pytest
from failing_writes import FailingDisk, failing
from matplotlib.figure import Figure
from PIL import Image

from luthier.features.bins_file import read_bins
from luthier.kbest.storage.pool_file import save_pool
from luthier.kbest.storage.writer import write_pool
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.synthetic.lists.planted import PlantedLists
from luthier.synthetic.pair.pair import PairGenerator

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

ARPA = "\\data\\\nngram 1=4\n\n\\1-grams:\n-1 <unk>\n-99 <s>\n-1 </s>\n-0.5 the\n\n\\end\\\n"
RULES = (
    "[X] ||| das haus ||| the house ||| p=1 ||| 0-0 1-1\n[X] ||| das haus ||| that house ||| p=0.5 ||| 0-0 1-1\n"
    "[X] ||| ist ||| is ||| p=0.25 ||| 0-0\n"
)
CHOICE = """
tune = "planted.arrow"
heldout = "planted2.arrow"
metric = "column:worth"
order = "grid"
[bins]
features = ["P"]
bits = [1, 2]
[tuner]
method = "pro"
[tuner.parameters]
iterations = 1
"""
STUDY = """
kind = "starts"
name = "tiny"
seed = 5
starts = { count = 2, kind = "few", size = 0.5 }
[[tuner]]
name = "search"
method = "random"
parameters = { rounds = 1, batch = 4 }
[[metric]]
name = "BLEU"
spec = "bleu"
[test]
by = "BLEU"
metrics = { "BLEU" = "bleu" }
[[data]]
name = "made"
source = "synthetic"
tune = { seed = 1, sentences = 6, k = 8, n_references = 2, vocabulary = 100, shorten = 0.2 }
test = { seed = 2, sentences = 5, k = 8, n_references = 2, vocabulary = 100 }
"""
LOOP = """
metric = "bleu"
[tune]
source = "toy.src"
refs = "toy.ref"
[start]
plain = -1.0
short = 0.5
last = 0.1
[decoder]
command = COMMAND
k = 4
weights = "text"
[tuner]
method = "simplex"
[loop]
iterations = 1
"""
TRAINING = """
[corpus]
source = "pair/train.source.txt"
target = "pair/train.refs.0.txt"
[alignment]
method = "model1"
[lm]
order = 2
[tune]
source = "pair/tune.source.txt"
refs = "pair/tune.refs.0.txt"
[decoder]
k = 4
pops = 10
[tuner]
method = "simplex"
[loop]
iterations = 1
"""


@dataclasses.dataclass(frozen=True)
class Job:
    """A command, and which of the files it writes are beside the answer (`sides`) or grow as it goes on (`grows`)."""

    line: str
    sides: str = ""
    grows: str = ""
    answer: str = ""  # a file that is whole wherever the exit code is 0; "" for what is printed
    every: int = 1  # of many files of one kind not each moment is tried


JOBS = {
    "tune": Job(
        "tune pool.arrow --method random --rounds 2 --batch 4 --restarts 1 --threads 1 --trace out/trace.jsonl "
        "--checkpoint out/kept --plot out/t.png -o out/w.txt",
        "out/trace.jsonl out/kept out/t.png out/w.run.json", "out/trace.jsonl out/kept out/w.run.json", "out/w.txt",
    ),
    "tune-replicas": Job(
        "tune pool.arrow --method random --rounds 1 --batch 4 --replicas 2 --average-replicas --threads 1 -o out/w.txt",
        "out/w.run.json", "out/w.run.json", "out/w.txt",
    ),
    "line": Job("line pool.arrow --axis lm --plot out/l.png -o out/l.tsv -w out/w.txt", "out/l.png", "", "out/w.txt"),
    "surface": Job(
        "surface pool.arrow --axis lm --axis length --png out/s.png -o out/s.arrow -w out/w.txt",
        "out/s.png", "", "out/s.arrow",
    ),
    "raster": Job(
        "surface pool.arrow --raster 4 --window lm=-1:1 --window length=-1:1 --axis lm --axis length --png out/s.png "
        "-o out/s.tsv -w out/w.txt",
        "out/s.png", "", "out/s.tsv",
    ),
    "minkowski": Job(
        "geometry cones pool.arrow --axis lm --axis length --limit 20 --plot out/m.png -o out/m.arrow",
        "out/m.png", "out/m.arrow.rows out/m.arrow.state", "",
    ),
    "ablate": Job("ablate pool.arrow --method mert --folds 2 --plot out/a.png"),
    "certify": Job(
        "certify pool.arrow --axis lm --axis length --whole --limit 50 --checkpoint out/kept -w out/w.txt",
        "out/kept", "", "out/w.txt",
    ),
    "fan": Job("geometry fan --example table1 -o out/f.png", answer="out/f.png"),
    "feasible": Job("geometry feasible pool.arrow --select first --plot out/f.png -o out/w.txt", "out/f.png"),
    "separable": Job("geometry separable --example figure5 --plot out/s.png", "out/s.png"),
    "pool": Job("pool list.txt --refs refs.txt --metric bleu -o out/p.arrow", answer="out/p.arrow"),
    "convert": Job("data convert pool.arrow out/l.jsonl.gz", answer="out/l.jsonl.gz"),
    "convert-zst": Job("data convert pool.arrow out/l.zst", answer="out/l.zst"),
    "convert-parquet": Job("data convert pool.arrow out/l.parquet", answer="out/l.parquet"),
    "rerank": Job("rerank pool.arrow --weights w1.txt w1.txt -o out/a.txt out/b.jsonl", answer="out/b.jsonl"),
    "pairs": Job("pairs pool.arrow --weights w1.txt -o out/d.jsonl", answer="out/d.jsonl"),
    "score-with": Job(
        "score-with length pool.arrow --name n --cache out/kept -o out/p.arrow", grows="out/kept", answer="out/p.arrow"
    ),
    "add": Job("add pool.arrow s=scores.txt -o out/p.arrow", answer="out/p.arrow"),
    "export": Job("export pool.arrow --for comet -o out/e"),
    "mbr": Job("mbr pool.arrow --utility chrf -o out/p.arrow", answer="out/p.arrow"),
    "mbr-select": Job("mbr pool.arrow --select chrf -o out/t.txt", answer="out/t.txt"),
    "tradeoff": Job(
        "tradeoff pool.arrow --metric bleu,chrf --axis lm --plot out/t.png -o out/t.tsv -w out/w.txt",
        "out/t.png", "", "out/w.txt",
    ),
    "outputs": Job("synthetic outputs out/o.jsonl --inputs 3 --k 3", answer="out/o.jsonl"),
    "evaluate": Job(
        "engine evaluate model --source pair/tune.source.txt --refs pair/tune.refs.0.txt -o out/t.txt",
        answer="out/t.txt",
    ),
    "parameters": Job("data weights w3.txt out/w.txt --to nemo", answer="out/w.txt"),
    "score": Job("score refs.txt --refs refs.txt --per-sentence out/s.tsv"),
    "shard": Job("data shard pool.arrow --shards 2 --metric bleu -o out/parts", answer="out/parts/manifest.json"),
    "split": Job("data split pool.arrow --into out/a.arrow=0.5 --into out/b.arrow=0.5", answer="out/b.arrow"),
    "stats": Job("data stats pool.arrow --metric bleu -o out/p.arrow", answer="out/p.arrow"),
    "weights": Job("data weights w1.txt out/w.json", answer="out/w.json"),
    "template": Job("data weights w1.txt out/j.config --template joshua.config", answer="out/j.config"),
    "report": Job("report pool.arrow --weights w1.txt -o out/r.html", answer="out/r.html"),
    "generate": Job("synthetic lists out/g --sentences 3 --k 3", answer="out/g/weights.txt"),
    "pair": Job("synthetic pair out/p --train 4 --tune 2 --heldout 2 --test 2", every=7),
    "align": Job(
        "engine align pair/train.source.txt pair/train.refs.0.txt --method model1 --threads 1 --scores out/s.tsv "
        "--train out/m -o out/l.gz",
        answer="out/l.gz",
    ),
    "lm": Job("engine lm pair/train.refs.0.txt --order 2 -o out/lm.arpa.gz", answer="out/lm.arpa.gz"),
    "perplexity": Job("engine perplexity lm.arpa pair/tune.refs.0.txt --per-line out/p.tsv", "lm.arpa.luthier"),
    "extract": Job(
        "engine extract --source pair/train.source.txt --target pair/train.refs.0.txt --links links --model out/m "
        "--for pair/tune.source.txt --threads 1 -o out/g",
        answer="out/g",
    ),
    "extract-folder": Job("engine extract --source one.src --target one.trg --links one.links --for one.src -o out/g/"),
    "bins": Job("engine bins rules.txt --features p=2 --plot out/b.png -o out/b.json", "out/b.png", "", "out/b.json"),
    "discretize": Job("engine discretize rules.txt --bins bins.json -o out/g.gz", answer="out/g.gz"),
    "induce": Job("engine induce planted.arrow --bins planted.json -o out/p.arrow", answer="out/p.arrow"),
    "curves": Job("engine curves binned.txt --bins bins.json -o out/c.png"),
    "decode": Job(
        "engine decode src --grammar rules.txt --lm lm.arpa --weights w2.txt --threads 1 -k 3 -o out/k.arrow "
        "--text out/t --links out/a --trees out/d --report out/r --forests out/f",
        "lm.arpa.luthier", "out/r", "out/k.arrow",
    ),
    "choose": Job(
        "engine sweep choice.toml --threads 1 -o out/c", "out/c/choice.png", "out/c/points.jsonl"
    ),
    "loop": Job(
        "loop loop.toml --threads 1 -o out/l", "out/l/times.jsonl out/l/table.md out/l/loop.png out/l/weights.run.json",
        "out/l/times.jsonl out/l/iterations.jsonl out/l/weights.run.json", "out/l/weights.json",
    ),
    "study": Job("study study.toml --threads 1 -o out/s", "", "out/s/units.jsonl out/s/tables.md"),
    "train": Job(
        "train train.toml --threads 1 -o out/m",
        "out/m/loop/times.jsonl out/m/loop/table.md out/m/loop/loop.png out/m/loop/weights.run.json "
        "out/m/lm.arpa.gz.luthier out/m/steps.json",
        "out/m/loop/times.jsonl out/m/loop/iterations.jsonl out/m/loop/weights.run.json out/m/steps.json "
        "out/m/lm.arpa.gz.luthier",
        "out/m/weights.json", 3,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Return a folder with all that the commands read."""
    home = tmp_path_factory.mktemp("inputs")
    lists = SyntheticLists(sentences=4, k=5, vocabulary=100).generate(1)
    save_pool(lists, home / "pool.arrow")
    write_pool(lists, str(home / "list.txt"), None)
    references = "".join(f"a b {i}\n" for i in range(4))
    for seed, name in enumerate(("planted", "planted2")):
        save_pool(PlantedLists(sentences=6, k=5).generate(seed), home / f"{name}.arrow")
    PairGenerator().write(home / "pair", train=40, tune=3, heldout=0, test=0, seed=0)
    texts = {
        "refs.txt": references, "w1.txt": "lm 1\nlength 0.5\n", "w2.txt": "p 1\nLanguageModel 1\n", "lm.arpa": ARPA,
        "rules.txt": RULES, "src": "das haus ist\n\nist\n", "one.src": "a b\n", "one.trg": "c d\n",
        "one.links": "0-0 1-1\n", "joshua.config": "lm = a\nlm 0.1\n", "choice.toml": CHOICE, "study.toml": STUDY,
        "train.toml": TRAINING, "w3.txt": "am 1\nlm 0.5\n",
        "scores.txt": "".join(f"{i}.5\n" for i in range(lists.n_hypotheses)),
    }  # fmt: skip
    for name, text in texts.items():
        (home / name).write_text(text)
    toy = Path(__file__).parents[1] / "jobs" / "toy_decoder.py"
    (home / "mode").write_text("well")
    command = [sys.executable, str(toy), str(home / "mode"), "{weights}", "{source}", "{kbest}", "{k}"]
    (home / "loop.toml").write_text(LOOP.replace("COMMAND", json.dumps(command)))
    (home / "toy.src").write_text("a b c\nc d\n")
    (home / "toy.ref").write_text("A bx C\ncx D\n")
    return home


def tiny_picture(figure, target, **_):
    """Write a picture of one point: what is drawn does not matter here, only where it goes."""
    picture = io.BytesIO()
    Image.new("RGB", (1, 1)).save(picture, format="png")
    if isinstance(target, io.BytesIO):
        target.write(picture.getvalue())
    else:
        with open(target, "wb") as file:
            file.write(picture.getvalue())


@pytest.fixture
def prepared(inputs, run_cli, monkeypatch):
    """Stand in the folder of inputs, with those that commands make."""
    monkeypatch.chdir(inputs)
    monkeypatch.setattr(Figure, "savefig", tiny_picture)
    monkeypatch.setattr(Figure, "draw_without_rendering", lambda figure: None)
    if not Path("links").exists():
        for line in (
            "engine align pair/train.source.txt pair/train.refs.0.txt --method model1 --threads 1 -o links",
            "engine bins rules.txt --features p=2 -o bins.json",
            "engine bins planted.arrow --features P=2 -o planted.json",
            "train train.toml --threads 1 -o model",
        ):
            code, _, said = run_cli(*line.split())
            assert code == 0, said
        Path("binned.txt").write_text("".join(f"{name} 1\n" for name in read_bins("bins.json").names))
    return inputs


def contents(folder):
    """Return the files below a folder, by name."""
    return {path.as_posix(): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()}


def afresh():
    """Remove what the last run wrote."""
    shutil.rmtree("out", ignore_errors=True)
    Path("out").mkdir()
    Path("lm.arpa.luthier").unlink(missing_ok=True)


def attempt(job, run_cli, disk):
    """Run a command on a disk that fails; return exit code, standard output and error."""
    afresh()
    with failing(disk):
        return run_cli(*job.line.split())


def judge(job, disk, outcome, whole):
    """Return what is wrong with how a command ended; "" if nothing is."""
    code, _, said = outcome
    what, name = disk.failed
    beside = name in job.sides.split() or name.endswith(".lock")
    named = name in said or Path(name).name in said
    found = contents("out")
    torn = [
        path for path, data in found.items()
        if path not in job.grows.split() and path in whole and data != whole[path]
    ]  # fmt: skip
    left = [path for path in found if path.endswith(".tmp")]
    place = f"{what} of {name}: exit code {code}, said {said!r}"
    if torn or left:
        return f"{place}; torn {torn}, left {left}"
    if "Traceback" in said or code not in (0, 2):
        return place
    if code == 0 and job.answer and job.answer not in found:
        return f"{place}; no answer"
    if beside:
        warned = sum("warning: " in line and name in line for line in said.splitlines())
        fine = code == 0 and (named or name.endswith(".lock")) and warned <= 1
        return "" if fine else f"{place}; it is beside the answer"
    return "" if named or (code == 0 and name in found) else f"{place}; the file is not named"


def moments(log):
    """Return where something else begins or ends: of many writes of one file in a row the first and the last."""
    inner = {i for i in range(1, len(log) - 1) if log[i - 1] == log[i] == log[i + 1]}
    return [i for i in range(len(log)) if i not in inner]


@pytest.mark.parametrize("name", JOBS)
def test_every_write_may_fail(name, prepared, run_cli):
    job = JOBS[name]
    clean = FailingDisk(prepared)
    code, _, said = attempt(job, run_cli, clean)
    assert code == 0, said
    whole, faults = contents("out"), []
    assert clean.log, "nothing was written"
    for number in moments(clean.log)[:: job.every]:
        disk = FailingDisk(prepared, at=number)
        outcome = attempt(job, run_cli, disk)
        if disk.failed:
            faults.append(judge(job, disk, outcome, whole))
    for path in job.sides.split():
        disk = FailingDisk(prepared, of=path)
        outcome = attempt(job, run_cli, disk)
        assert disk.failed, f"{path} is never written"
        faults.append(judge(job, disk, outcome, whole))
    assert not [fault for fault in faults if fault]


@pytest.mark.parametrize("name", JOBS)
def test_every_file_that_is_read_may_be_unreadable(name, prepared, run_cli):
    job = JOBS[name]
    clean = FailingDisk(prepared, reads=True)
    code, _, said = attempt(job, run_cli, clean)
    assert code == 0, said
    whole, faults = contents("out"), []
    for path in dict.fromkeys(path for _, path in clean.log):
        first = next(number for number, (_, own) in enumerate(clean.log) if own == path)
        for disk in (FailingDisk(prepared, at=first, reads=True), FailingDisk(prepared, of=path, reads=True)):
            outcome = attempt(job, run_cli, disk)
            if disk.failed:
                faults.append(judge_reading(job, disk, outcome, whole))
    assert not [fault for fault in faults if fault]


def judge_reading(job, disk, outcome, whole):
    """Return what is wrong with a command that could not open a file; it may do without one that is not needed."""
    code, _, said = outcome
    name = disk.failed[1]
    place = f"reading {name}: exit code {code}, said {said!r}"
    found, grows = contents("out"), job.grows.split()
    if any(path.endswith(".tmp") for path in found) or "Traceback" in said or code not in (0, 2):
        return place
    if code == 2:
        return "" if name in said or Path(name).name in said else f"{place}; the file is not named"
    other = [path for path in whole if path not in grows and found.get(path) != whole[path]]
    return f"{place}; other answers: {other}" if other else ""
