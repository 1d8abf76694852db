"""Scorers one after another: programs that behave and those that do not, what is kept, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import luthier
from luthier.core.errors import InputError, LuthierError
from luthier.jobs.score_with import scorer_of
from luthier.kbest.storage.pool_file import save_pool
from luthier.scorers._scorer import Item, Scorer

pytestmark = pytest.mark.compiled
START = "import json, os, sys\nlines = sys.stdin\n"
GOOD = START + "for line in lines:\n    print(len(json.loads(line)['hyp']) / 2, flush=True)\n"
PYTHON = f"{shlex.quote(sys.executable)} -S -E"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(i, "x" * (1 + (7 * i + 3 * k) % 11)) for i in range(5) for k in range(3)]
    frame = {
        "id": [i for i, _ in rows], "hyp": [text for _, text in rows], "lm": [float(k) for k in range(15)],
        "source": [f"source {i}" for i, _ in rows], "refs": [[f"ref {i}", "other"] for i, _ in rows],
    }  # fmt: skip
    save_pool(luthier.pool_from_frame(frame), "pool.arrow")
    return tmp_path


def command(name, text):
    with open(name, "w") as file:
        file.write(text)
    return f"{PYTHON} {name}"


def score(scorer, **options):
    return luthier.score_with(scorer, "pool.arrow", **{"name": "kiwi", "output": "out.arrow", **options})


def lengths():
    return [len(text) / 2 for text in luthier.open_pool("pool.arrow").texts]


def test_a_number_for_each_hypothesis(home):
    found = score(command("good.py", GOOD))
    pool = luthier.open_pool("out.arrow")
    assert pool.features.names == ("lm", "kiwi")
    assert pool.features.column("kiwi").tolist() == lengths()
    assert (found.hypotheses, found.scored, found.kept, found.role) == (15, 15, 0, "feature")
    assert (found.low, found.high) == (min(lengths()), max(lengths()))
    assert pool.provenance["operations"][-1] == {
        "operation": "score", "name": "kiwi", "scorer": f"{PYTHON} good.py", "version": "",
    }  # fmt: skip
    again = score(f"{PYTHON} good.py")
    assert (again.scored, again.kept) == (0, 15)
    assert luthier.open_pool("out.arrow").digest() == pool.digest()


def test_what_a_program_is_given(home):
    text = START + "open('seen', 'w').write(sys.stdin.read())\n" + "print('\\n'.join(['1'] * 15))"
    found = score(command("read_all.py", text))
    assert json.loads(Path("seen").read_text().splitlines()[0]) == {"id": 0, "src": "source 0", "hyp": "x"}
    found = score(f"{PYTHON} read_all.py", references=True, output="refs.arrow")
    assert json.loads(Path("seen").read_text().splitlines()[0]) == {
        "id": 0,
        "src": "source 0",
        "hyp": "x",
        "ref": ["ref 0", "other"],
    }
    pool = luthier.open_pool("refs.arrow")
    assert (found.role, pool.features.names, pool.columns["kiwi"].tolist()) == ("column", ("lm",), [1.0] * 15)


def test_answers_are_kept_by_scorer_version_and_fields(home):
    one = command("good.py", GOOD)
    assert score(one, cache="kept").scored == 15
    assert score(one, cache="kept", output="b.arrow", name="other").scored == 0
    assert score(one, cache="kept", scorer_version="2").scored == 15
    assert score(one, cache="kept", references=True).scored == 15
    assert score(one + " x", cache="kept").scored == 15
    command("good.py", GOOD + "\n")  # the file that the command names has changed
    assert score(one, cache="kept").scored == 15


def test_a_program_that_dies_is_started_again_and_what_it_said_is_kept(home):
    text = START + (
        "n = int(open('lives').read()) if os.path.exists('lives') else 0\nopen('lives', 'w').write(str(n + 1))\n"
        "for k, line in enumerate(lines):\n    print(len(json.loads(line)['hyp']) / 2, flush=True)\n"
        "    if k == 3 and n < 3: sys.stdout.write('0.'); sys.stdout.flush(); os._exit(7)\n"
    )
    found = score(command("frail.py", text))
    assert luthier.open_pool("out.arrow").features.column("kiwi").tolist() == lengths()
    assert (found.scored, Path("lives").read_text()) == (15, "4")


def test_one_that_dies_thrice_is_given_up(home):
    text = START + (
        "open('lives', 'a').write('.')\n"
        "for line in lines:\n    if json.loads(line)['id'] == 2: print('no memory', file=sys.stderr); sys.exit(3)\n"
        "    print(1, flush=True)\n"
    )
    with pytest.raises(
        LuthierError, match=r"died 3 times \(exit code 3\) at sentence 2 \('xxxx'\), hypothesis 7 of 15"
    ):
        score(command("dies.py", text))
    assert Path("lives").read_text() == "..."
    assert not (home / "out.arrow").exists()
    assert score(command("good.py", GOOD)).scored == 15  # another command: nothing of it was taken
    with pytest.raises(LuthierError, match="It said last:\n  no memory"):
        score(f"{PYTHON} dies.py")


BAD = [
    ("print(1)", "output of .*:2: expected 15 numbers, one for each hypothesis, found 1, and none for sentence 0"),
    ("[print(1) for _ in range(16)]", "output of .*:16: expected 15 numbers, .*found more, '1' the next"),
    ("print(1); print('nan')", r"output of .*:2: expected a finite number for sentence 0 \('xxxx'\), found 'nan'"),
    ("print('score')", "output of .*:1: expected a finite number for .*found 'score'.*all else to standard error"),
    ("print('1e999')", "found '1e999'"),
    ("print('1_0')", "found '1_0'"),
    ("print('')", "expected a finite number"),
    ("print('9' * 100000)", "expected a finite number"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_answers_that_are_none(home, text, said):
    before = (home / "pool.arrow").read_bytes()
    with pytest.raises(InputError, match=said):
        score(command("bad.py", START + "sys.stdin.read()\n" + text + "\n"))
    assert (home / "pool.arrow").read_bytes() == before
    assert not (home / "out.arrow").exists()


def test_answers_of_a_wrong_count_are_not_kept(home):
    text = START + "for line in lines:\n    print(1, flush=True); print(2, flush=True)\n"
    with pytest.raises(InputError, match="found more"):
        score(command("twice.py", text))
    assert not (home / "out.arrow.scores").exists() or (home / "out.arrow.scores").read_bytes() == b""


def test_ctrl_c_keeps_what_is_scored_and_the_run_goes_on(home):
    text = START + (
        "import time\n"
        "for k, line in enumerate(lines):\n    print(len(json.loads(line)['hyp']) / 2, flush=True)\n"
        "    if k == 6 and not os.path.exists('second'): open('stuck', 'w').close(); time.sleep(60)\n"
    )
    scorer = command("slow.py", text)
    call = [sys.executable, "-m", "luthier", "score-with", scorer, "pool.arrow", "--name", "kiwi", "-o", "out.arrow"]
    with subprocess.Popen(call, stderr=subprocess.PIPE, text=True) as process:
        while not Path("stuck").exists():
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait() == 130
    (kept,) = re.findall(r"(\d+) of 15 are scored and kept in out\.arrow\.scores", said)
    assert 0 < int(kept) <= 7  # as many as had been read
    assert not (home / "out.arrow").exists()
    Path("second").touch()
    found = score(scorer)
    assert (found.scored, found.kept) == (15 - int(kept), int(kept))
    assert luthier.open_pool("out.arrow").features.column("kiwi").tolist() == lengths()


def test_one_that_is_silent_too_long_is_ended_and_its_answers_kept(home, run_cli):
    text = START + (
        "import time\nprint('loading', file=sys.stderr)\n"
        "for k, line in enumerate(lines):\n    print(1, flush=True)\n"
        "    if k == 2 and not os.path.exists('second'): time.sleep(600)\n"
    )
    scorer = command("stuck.py", text)
    call = ["score-with", scorer, "pool.arrow", "--name", "kiwi", "-o", "out.arrow", "--option", "seconds=0.5"]
    said = ""
    while "hypothesis 4 of 15" not in said:  # where much else is done, it may not come so far at once
        code, _, said = run_cli(*call)
        assert (code, (home / "out.arrow").exists()) == (2, False)
        assert "was silent for 0.5 s at sentence 1" in said
    assert "loading" in said
    assert run_cli(*call[:-1], "seconds=never")[0] == 2
    Path("second").touch()
    found = score(scorer, option={"seconds": 600.0})
    assert (found.scored, found.kept) == (12, 3)  # the limit is no part of what the numbers depend on


def test_one_that_answers_all_and_does_not_end_is_ended(home):
    text = START + "import time\nfor line in lines: print(1, flush=True)\nsys.stdin.close(); time.sleep(600)\n"
    assert score(command("stays.py", text), option={"seconds": 3.0}).scored == 15


def test_a_damaged_file_of_answers_is_refused(home):
    one = command("good.py", GOOD)
    score(one)
    kept = home / "out.arrow.scores"
    kept.write_bytes(kept.read_bytes()[:-30])  # half a line: the last answer is asked for again
    assert score(one).scored == 1
    lines = kept.read_bytes().split(b"\n")
    kept.write_bytes(b"\n".join([lines[0].replace(b'"score": ', b'"score": 1'), *lines[1:]]))
    with pytest.raises(
        InputError, match=r"out.arrow.scores:1: expected an answer of a scorer, found a line that was changed"
    ):
        score(one)


@dataclasses.dataclass(frozen=True)
class Own(Scorer):
    """A scorer of somebody else."""

    answers: tuple[object, ...] = ()

    def score(self, batch):
        if not self.answers:
            raise RuntimeError("no memory")
        return self.answers * len(batch) if len(self.answers) == 1 else self.answers


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ((), "failed at sentence 0 or after it: RuntimeError: no memory"),
        ((1.0, 2.0), "expected 15 numbers, found 2, after sentence 0"),
        ((float("nan"),), "expected a finite number for sentence 0 .*, found nan"),
        (("1",), "found '1'"),
    ],
)
def test_scorers_of_others_in_this_process(home, answers, said):
    with pytest.raises(LuthierError, match=said):
        score(Own(answers))
    assert score(Own((2,)), batch=4).mean == 2.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"scorer": ""}, "expected a command or the name of a scorer, found nothing"),
        ({"scorer": "a 'b"}, "expected a command, found .*no closing quotation"),
        ({"scorer": "/none/here"}, "cannot be started"),
        ({"scorer": "length", "option": {"size": 1}}, "the scorer length has no option 'size'. it has: unit, relative"),
        (
            {"scorer": "other x", "option": {"size": 1}},
            "is a command, whose only option is seconds.*other options are causal-lm, endpoint, length",
        ),
        ({"scorer": "other x", "option": {"seconds": -1}}, "the 'seconds' parameter of Program must be"),
        ({"scorer": 3}, "expected a command, or a scorer's name"),
        ({"scorer": "length", "name": "lm"}, "the lists have 'lm' already"),
        ({"scorer": "length", "name": "a b"}, "expected a `name` without white space"),
        ({"scorer": "length", "batch": 0}, "expected a `batch` of at least 1"),
        ({"scorer": "length", "output": "pool.arrow"}, "it is read, and would be lost"),
        ({"scorer": "length", "output": "none/out.arrow"}, "there is no folder"),
    ],
)
def test_what_is_refused_before_anything_is_scored(home, options, said):
    with pytest.raises(LuthierError, match=said):
        score(**options)


def test_without_references_or_sources(home):
    pool = luthier.open_pool("pool.arrow")
    bare = dataclasses.replace(pool, references=None, sources=None)
    with pytest.raises(LuthierError, match="expected lists with references, found none"):
        luthier.score_with("length", bare, name="n", output="out.arrow", references=True)
    assert luthier.score_with("length", bare, name="n", output="out.arrow").hypotheses == 15
    relative = luthier.score_with(
        "length", bare, name="n", output="o.arrow", option={"relative": True, "unit": "chars"}
    )
    assert relative.high == 11.0


def test_the_command(home, run_cli):
    call = ["score-with", command("good.py", GOOD), "pool.arrow", "--name", "kiwi", "-o", "out.arrow"]
    code, out, _ = run_cli(*call, "--json")
    assert (code, json.loads(out)["scored"]) == (0, 15)
    code, out, _ = run_cli(*call)
    assert code == 0
    assert "feature kiwi" in out
    call = ["score-with", "repetition", "out.arrow", "--name", "rep", "-o", "two.arrow"]
    assert run_cli(*call, "--option", "order=2", "--option", "unit=chars", "--quiet")[0] == 0
    assert luthier.open_pool("two.arrow").features.names == ("lm", "kiwi", "rep")
    code, _, err = run_cli(*call, "--option", "order=x")
    assert (code, "must be" in err) == (2, True)
    assert run_cli(*call[:-1], "-")[0] == 2
    code, out, _ = run_cli("list", "scorers", "--json")
    assert [item["name"] for item in json.loads(out)["scorers"]] == [
        "causal-lm", "endpoint", "length", "ngram", "repetition",
    ]  # fmt: skip


def test_scorers_by_entry_points(home, monkeypatch):
    folder = home / "site" / "theirs-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[luthier.scorers]\nvowels = their_vowels:Method\n")
    (home / "site" / "their_vowels.py").write_text(
        "import dataclasses\nfrom luthier import Scorer\n@dataclasses.dataclass(frozen=True)\n"
        "class Method(Scorer):\n    def score(self, batch):\n        return [1.5 for item in batch]\n"
    )
    code = "import luthier; print(luthier.score_with('vowels', 'pool.arrow', name='v', output='v.arrow').scored)"
    paths = os.pathsep.join([str(home / "site"), *(path for path in sys.path if path)])
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.stdout, found.returncode) == ("15\n", 0), found.stderr


def test_items_are_lines_of_json():
    assert Item("7", "é", 'a "b"\n').line() == '{"id": "7", "src": "é", "hyp": "a \\"b\\"\\n"}'
    assert np.isfinite(scorer_of("repetition", {}).score([Item("0", "", "a a a a a a")])).all()
