"""Scorers in the loop: who is given which weights, what is scored once, and what is refused."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from test_loop_job import REFS, SOURCE, TOY, files_of, settings, without_attempts

from luthier.jobs.loop import loop
from luthier.kbest.storage.pool_file import open_pool
from luthier.kbest.weights import read_weights

pytestmark = pytest.mark.compiled
# what no feature of the decoder says: how many words are the reference's
KNOWING = f"""
import json, sys
good = dict(zip({SOURCE!r}, {REFS!r}))
with open("seen.txt", "a") as seen:
    for line in sys.stdin:
        row = json.loads(line)
        seen.write(f"{{row['src']}} ||| {{row['hyp']}}\\n")
        pairs = zip(row["hyp"].split(), good[row["src"]].split())
        print(sum(a == b for a, b in pairs), flush=True)
"""


def with_scorers(folder, scorers, **options):
    """Write a loop's file with scorers, and a program `knowing.py`."""
    (folder / "knowing.py").write_text(KNOWING)
    path = settings(folder, **options)
    text = path.read_text()
    path.write_text(text.replace("[tuner]", f"[scorers]\n{scorers}\n[tuner]").replace("simplex", "mert"))
    return path


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    home = tmp_path_factory.mktemp("scored")
    program = f"{shlex.quote(sys.executable)} -S -E knowing.py"
    path = with_scorers(home, f'knowing = {json.dumps(program)}\nlong = {{ with = "length", unit = "chars" }}')
    return home, loop(path)


def merged(home):
    return [open_pool(path) for path in sorted((home / "loop-loop" / "lists").glob("*.arrow"))]


def test_scorers_are_features_of_the_loop(scored):
    home, found = scored
    for pool in merged(home):
        assert pool.features.names == ("plain", "short", "last", "knowing", "long")
        assert pool.features.column("long").tolist() == [len(text) for text in pool.texts]
    assert {"knowing", "long"} <= set(found.weights)
    assert found.weights["knowing"] != 0.0


def test_what_was_scored_is_not_scored_again(scored):
    home, _ = scored
    pools = merged(home)
    assert len(pools) > 1
    seen = (home / "seen.txt").read_text().splitlines()
    rows = [
        f"{SOURCE[i]} ||| {text}"
        for pool in pools
        for i in range(pool.n_sentences)
        for text in pool.texts.take(np.arange(pool.offsets[i], pool.offsets[i + 1]))
    ]
    assert len(rows) > len(seen)  # turns share hypotheses
    assert seen == list(dict.fromkeys(rows))


def test_the_decoder_gets_its_own_weights(tmp_path):
    path = with_scorers(tmp_path, 'long = "length"')
    text = path.read_text().replace(str(TOY), "spy.py").replace("iterations = 4", "iterations = 2")
    path.write_text(text.replace("plain = -1.0", "plain = -1.0\nlong = 0.25"))
    spy = f"import runpy, sys\nopen('given.txt', 'a').write(open(sys.argv[2]).read())\nrunpy.run_path({str(TOY)!r})\n"
    (tmp_path / "spy.py").write_text(spy)
    found = loop(path)
    given = [line.split()[0] for line in (tmp_path / "given.txt").read_text().splitlines()]
    assert given == ["plain", "short", "last"] * len(found.iterations)
    own = dict(read_weights(tmp_path / "loop-loop" / "weights.decoder.json"))
    assert own == {name: found.weights[name] for name in ("plain", "short", "last")}
    assert dict(read_weights(tmp_path / "loop-loop" / "weights.json")) == dict(found.weights)
    assert "long" in found.weights


def test_the_score_of_a_turn_is_that_of_the_re_ranked_lists(scored):
    home, found = scored
    weights = found.start
    for pool, turn in zip(merged(home), found.iterations, strict=False):
        names = pool.features.names
        totals = sum(weights.get(name, 0.0) * pool.features.column(name) for name in names)
        rows = [
            int(begin + np.argmax(totals[begin:end]))
            for begin, end in zip(pool.offsets[:-1], pool.offsets[1:], strict=True)
        ]
        rival = sacrebleu.corpus_bleu([pool.texts[row] for row in rows], [REFS], tokenize="none", force=True)
        assert rival.score == pytest.approx(turn.decoded, abs=1e-9)
        weights = turn.weights


def test_a_scorer_that_knows_more_is_heard(scored, tmp_path):
    _, found = scored
    path = settings(tmp_path)
    path.write_text(path.read_text().replace("simplex", "mert"))
    alone = loop(path)
    assert max(turn.after for turn in found.iterations) > max(turn.after for turn in alone.iterations)


def test_scorers_alone_that_move_do_not_make_a_decoder_deaf(tmp_path):
    path = with_scorers(tmp_path, f'knowing = "{shlex.quote(sys.executable)} -S -E knowing.py"')
    limits = "[bounds]\n" + "".join(f'{n} = "{v}:{v}"\n' for n, v in (("plain", -1), ("short", 0.5), ("last", 0.1)))
    path.write_text(path.read_text() + limits)
    found = loop(path)
    assert found.iterations[0].change > 0
    assert not any(turn.same for turn in found.iterations)
    assert "ignores" not in found.ended


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="attempts are forks")
def test_a_loop_with_scorers_that_is_killed_goes_on_to_the_same_bytes(tmp_path):
    path, folder = (
        with_scorers(tmp_path, f'knowing = "{shlex.quote(sys.executable)} -S -E knowing.py"'),
        tmp_path / "part",
    )
    command = [sys.executable, str(TOY.with_name("killing.py")), str(path), str(folder), "8", "1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.split()[2] == "0"
    assert without_attempts(folder) == files_of(tmp_path / "part.whole")
    assert "scores.knowing.jsonl" in files_of(folder)


def test_recorded_lists_have_what_scorers_said(scored, tmp_path):
    home, found = scored
    text = (home / "loop.toml").read_text()
    begin, end = text.index("command = "), text.index("[tuner]")
    for name in ("source.txt", "refs.txt"):
        (tmp_path / name).write_text((home / name).read_text())
    (tmp_path / "loop.toml").write_text(f'{text[:begin]}recorded = "{home}/loop-loop"\n{text[end:]}')
    again = loop(tmp_path / "loop.toml")
    assert [turn.weights for turn in again.iterations] == [turn.weights for turn in found.iterations]
    assert dict(again.weights) == dict(found.weights)


def test_another_scorer_is_another_loop(tmp_path, run_cli):
    path = with_scorers(tmp_path, 'long = "length"')
    path.write_text(path.read_text().replace("iterations = 4", "iterations = 1"))
    assert run_cli("loop", path, "--quiet")[0] == 0
    path.write_text(path.read_text().replace('"length"', '{ with = "length", unit = "chars" }'))
    code, _, said = run_cli("loop", path, "--resume")
    assert code == 2
    assert "this is another loop: its decoder is not the same" in said


@pytest.mark.parametrize(
    ("scorers", "words"),
    [
        ('"a b" = "length"', "expected letters, digits, '.', '_' or '-' as a name in [scorers], found 'a b'"),
        ('"../x" = "length"', "as a name in [scorers], found '../x'"),
        ("x = 3", "expected a command or a scorer's name for 'x' in [scorers], or a table with it, found 3"),
        ('x = { unit = "chars" }', "expected a command or a scorer's name for 'x' in [scorers]"),
        ('x = { with = "length", color = 1 }', "'x' in [scorers]: the scorer length has no option 'color'"),
        ('x = { with = "python x.py", unit = 1 }', "'python x.py' is a command, whose only option is seconds"),
        ('x = ""', "'x' in [scorers]: expected a command or the name of a scorer, found nothing"),
    ],
)
def test_faults_in_scorers_are_said_before_anything_runs(tmp_path, run_cli, scorers, words):
    code, _, said = run_cli("loop", with_scorers(tmp_path, scorers))
    assert code == 2
    assert words in said
    assert not (tmp_path / "loop-loop").exists()


def test_what_scorers_cannot_do_is_said(tmp_path, run_cli):
    path = with_scorers(tmp_path, 'plain = "length"')
    code, _, said = run_cli("loop", path)
    assert (code, "the decoder has a feature 'plain'. hint: another name for it in [scorers]" in said) == (2, True)
    text = path.read_text()
    begin, end = text.index("command = "), text.index("[scorers]")
    for decoder, words in (
        ('recorded = "x"', "recorded lists have what scorers said of them. hint: leave [scorers] out"),
        ('model = "x"\nforests = true', "[scorers] score lists, and forests = true tunes on forests: one of the two"),
    ):
        path.write_text(f"{text[:begin]}{decoder}\n{text[end:]}")
        code, _, said = run_cli("loop", path, "-o", tmp_path / "other")
        assert (code, words in said) == (2, True), said
    path = with_scorers(tmp_path, f'x = "{shlex.quote(sys.executable)} -c print(1/0)"', name="dies.toml")
    code, _, said = run_cli("loop", path, "-o", tmp_path / "dies")
    assert code == 2
    assert "died 3 times (exit code 1) at sentence '0'" in said


def test_files_of_scorers_are_beside_the_settings(tmp_path):
    (tmp_path / "lm.arpa").write_text("\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t<unk>\n-0.5\t</s>\n-99\t<s>\n\n\\end\\\n")
    path = with_scorers(tmp_path, 'lm = { with = "ngram", model = "lm.arpa" }')
    assert Path.cwd() != tmp_path
    pool = open_pool(Path(loop_folder_of(path), "lists", "000.arrow"))
    assert pool.features.column("lm").tolist() == [-0.5 - len(text.split()) for text in pool.texts]


def loop_folder_of(path):
    loop(path)
    return f"{path.with_suffix('')}-loop"
