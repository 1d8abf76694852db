"""A whole system in small: training, what is not done again, translating, evaluating."""

import io
import json
import math
import os
import re
import select
import shlex
import subprocess
import sys

import pytest
import sacrebleu

from luthier.core.errors import LuthierError
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts
from luthier.jobs.mbr import mbr
from luthier.jobs.train import train_system
from luthier.jobs.train_config import read_train_config
from luthier.jobs.trained_model import TranslationModel
from luthier.jobs.translate import Wanted, answer, translate_lines
from luthier.kbest.storage.pool_file import open_pool
from luthier.kbest.weights import read_weights
from luthier.serving.translator import Translator
from luthier.synthetic.pair.pair import PairGenerator
from small_system import SMALL_SYSTEM

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

SETTINGS = f"""
{SMALL_SYSTEM}refs = ["corpus/test.refs.0.txt", "corpus/test.refs.1.txt"]
[decoder]
k = 6
pops = 20
[tuner]
method = "simplex"
[loop]
iterations = 2
"""


def run_training(home, *, threads=1, name="model"):
    config = read_train_config(home / "train.toml", seed=1, threads=threads)
    return train_system(config, str(home / name), threads=threads)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    home = tmp_path_factory.mktemp("training")
    PairGenerator().write(home / "corpus", train=150, tune=6, heldout=0, test=6, seed=0)
    (home / "train.toml").write_text(SETTINGS)
    return home, run_training(home)


def steps_done(found):
    return [name for name, skipped, _ in found.steps if not skipped]


def test_a_system_comes_of_it(trained):
    home, found = trained
    assert len(steps_done(found)) == 8
    assert dict(read_weights(home / "model" / "weights.json")) == dict(found.loops[0].weights)
    assert found.loops[0].iterations[-1].after >= found.loops[0].iterations[-1].before
    assert len(read_lines(home / "model" / "test.tuned.1.txt")) == 6
    assert json.dumps(found.as_dict())


def test_nothing_is_done_twice_and_changes_reach_what_hangs_on_them(trained):
    home, first = trained
    again = run_training(home)
    assert steps_done(again) == []
    assert again.loops[0].iterations == first.loops[0].iterations
    (home / "train.toml").write_text(SETTINGS.replace("k = 6", "k = 7"))
    assert steps_done(run_training(home))[0] == "tuning loop"
    (home / "train.toml").write_text(SETTINGS)
    (home / "model" / "test.untuned.txt").write_text("changed\n")
    assert "translation of test" in steps_done(run_training(home))
    refs = home / "corpus" / "test.refs.1.txt"
    refs.write_text(refs.read_text())  # the same bytes: nothing to do
    assert steps_done(run_training(home)) == []


def test_replicas_of_a_tuner_that_draws_nothing_start_elsewhere(trained):
    home, alone = trained
    (home / "replicas.toml").write_text(f"replicas = 3\n{SETTINGS}")
    config = read_train_config(home / "replicas.toml", seed=1, threads=1)
    found = train_system(config, str(home / "replicas"), threads=1)
    starts = [dict(one.start) for one in found.loops]
    assert starts[0] == dict(alone.loops[0].start)
    assert found.loops[0].iterations == alone.loops[0].iterations
    for other in starts[1:]:
        moved = {name: other[name] / value for name, value in starts[0].items() if value}
        assert len(set(moved.values())) == len(moved)
        assert all(0.0 < share < 2.0 for share in moved.values())
    assert starts[1] != starts[2]


def test_threads_change_nothing(trained):
    home, _ = trained
    run_training(home, threads=2, name="other")
    for name in ("weights.json", "links.gz", "tune.grammar", "loop/iterations.jsonl", "test.tuned.1.txt"):
        assert (home / "other" / name).read_bytes() == (home / "model" / name).read_bytes()


def test_lines_are_answered_as_they_come(trained):
    home, _ = trained
    model = TranslationModel.open(home / "model")
    source = read_lines(home / "corpus" / "test.source.txt")
    lines = [*(f"{line}\n".encode() for line in source), b"\n", b"Qwxyz Zzyx\n", b"  \r\n"]
    answers = list(translate_lines(model, io.BytesIO(b"".join(lines))))
    assert answers[:6] == list(read_lines(home / "model" / "test.tuned.1.txt"))
    assert answers[6:] == ["", "Qwxyz Zzyx", ""]  # unknown words come back as they were


def test_decode_takes_a_trained_model(trained, run_cli, tmp_path):
    home, _ = trained
    source, out = home / "corpus/test.source.txt", tmp_path / "out.txt"
    code, _, said = run_cli("engine", "decode", source, "--model", home / "model", "-o", out)
    assert code == 0, said
    assert out.read_bytes() == (home / "model" / "test.tuned.1.txt").read_bytes()
    (tmp_path / "blank.txt").write_text("\n  \n")  # for which there are no rules, and no words
    code, _, said = run_cli("engine", "decode", tmp_path / "blank.txt", "--model", home / "model", "-o", out)
    assert code == 0, said
    assert out.read_text() == "\n\n"


@pytest.mark.skipif(os.name != "posix", reason="a terminal of Unix")
def test_translate_has_a_prompt_on_a_terminal(trained):
    home, _ = trained
    command = [sys.executable, "-m", "luthier.cli.main", "translate", str(home / "model")]
    parent, child = os.openpty()
    plain = {**os.environ, "TERM": "dumb", "LC_ALL": "C.UTF-8"}  # elsewhere a key of the terminal may be half a letter
    process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, env=plain)
    os.close(child)
    try:
        assert until_prompt(parent).endswith("> ")
        lattice = "((('a', 0, 1),),)"
        for typed, said in (
            (b"Qwxyz\n", "Qwxyz\n"),
            (b"\n", "\n"),
            (lattice.encode() + b"\n", "found a lattice (PLF)"),
        ):
            os.write(parent, typed)
            found = until_prompt(parent)
            assert found.startswith(typed.decode()), found  # what was typed is seen
            assert said in found.removeprefix(typed.decode())
        os.write(parent, b"Gr\xff\n")
        assert "expected text in UTF-8" in until_prompt(parent)
        os.write(parent, b"Zzyx\n")
        assert until_prompt(parent).endswith("\nZzyx\n> ")  # and the session goes on
        os.write(parent, b"\x04")
        assert process.wait(600) == 0
    finally:
        process.kill()
        process.wait()
        os.close(parent)


def until_prompt(terminal):
    """Return what a terminal shows up to the next prompt; None of it is waited for longer than two minutes."""
    said = ""
    while not said.endswith("> "):
        assert select.select([terminal], [], [], 120)[0], f"nothing came after {said!r}"
        said += os.read(terminal, 4096).decode("utf-8", "replace").replace("\r\n", "\n")
    return said


def test_translate_flushes_every_line(trained):
    home, _ = trained
    command = [sys.executable, "-m", "luthier.cli.main", "translate", str(home / "model"), "--quiet"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        for word in (b"Qwxyz\n", b"\n", b"Zzyx\n"):
            process.stdin.write(word)
            process.stdin.flush()
            assert process.stdout.readline() == word  # answered before the next is sent
        process.stdin.close()
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_models_are_compared_with_intervals_and_p_values(trained, run_cli, tmp_path):
    home, _ = trained
    texts = ["--source", home / "corpus/test.source.txt", "--refs", home / "corpus/test.refs.0.txt", "--shuffles", "50"]
    code, out, said = run_cli("engine", "evaluate", home / "model", *texts, "--json", "-o", tmp_path / "out.txt")
    assert code == 0, said
    (low, high) = json.loads(out)["intervals"]["model"]["bleu"]
    score = json.loads(out)["metrics"][0]["results"][0]["mean"]
    assert low <= score <= high
    assert (tmp_path / "out.txt").read_bytes() == (home / "model" / "test.tuned.1.txt").read_bytes()
    run_training(home, name="other")
    code, out, _ = run_cli("engine", "evaluate", home / "model", "--against", home / "other", *texts, "--quiet")
    assert code == 0
    assert re.search(r"other.*\n.*model", out)
    code, _, said = run_cli("engine", "evaluate", home / "model", "--against", home / "model", *texts)
    assert code == 2
    assert "the same model was given twice" in said


def test_a_loop_runs_on_a_trained_model(trained, run_cli):
    home, _ = trained
    (home / "loop.toml").write_text(
        '[tune]\nsource = "corpus/tune.source.txt"\nrefs = "corpus/tune.refs.0.txt"\n'
        '[decoder]\nmodel = "model"\nk = 4\n[tuner]\nmethod = "simplex"\n[loop]\niterations = 1\n'
    )
    code, out, said = run_cli("loop", home / "loop.toml", "--json")
    assert code == 0, said
    assert json.loads(out)["iterations"][0]["hypotheses"] <= 24


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('method = "model1"', 'method = "model1"\ncolor = 3', "a setting of [alignment] is none that model1 has"),
        ("order = 3", "order = 0", "the 'order' parameter of EstimateOptions must be an int in [1"),
        ("pops = 20", "popz = 20", "[decoder] has no setting 'popz'. known: budget, forests, k, max_span, pops"),
        ("k = 6", "k = 0", "expected k from 1 to 1,000,000, found 0"),
        ("k = 6", "k = 99999999999", "expected k from 1 to 1,000,000, found 99,999,999,999"),
        ("corpus/tune.refs.0.txt", "nothing.txt", "nothing.txt: expected a readable file, found no such file"),
    ],
)
def test_faults_in_the_settings_are_said(trained, run_cli, tmp_path, old, new, words):
    home, _ = trained
    (tmp_path / "train.toml").write_text(SETTINGS.replace(old, new, 1))
    code, _, said = run_cli("train", tmp_path / "train.toml", "--data", home)
    assert code == 2
    assert words in said


def test_a_folder_that_is_no_model(run_cli, tmp_path):
    code, _, said = run_cli("translate", tmp_path)
    assert code == 2
    assert "expected a folder with a trained model (model.json), found no such file or directory" in said


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """A system of ordinary text: sentences with capitals and signs glued to words, and Windows line ends."""
    home = tmp_path_factory.mktemp("raw")
    PairGenerator().write(home / "corpus", train=150, tune=6, heldout=0, test=6, seed=0)
    for path in (home / "corpus").glob("*.txt"):
        if "links" not in path.name:
            lines = path.read_text().splitlines()
            path.write_bytes("".join(f"{_ordinary(line)}\r\n" for line in lines).encode())
    (home / "train.toml").write_text('[text]\nsource = "de"\ntarget = "en"\n' + SETTINGS)
    return home, run_training(home)


def _ordinary(line):
    plain = re.sub(r" ([.,!?])", r"\1", line)
    return plain[:1].upper() + plain[1:]


def test_ordinary_text_in_and_out(raw, run_cli):
    home, found = raw
    assert list(found.comparisons) == ["tune", "tune, tokenised", "test", "test, tokenised"]
    assert re.search(r"BLEU\|nrefs:2\|case:mixed\|eff:no\|tok:13a\|smooth:exp\|version:", found.signature)
    answers = list(read_lines(home / "model" / "test.tuned.1.txt"))
    assert not any(" ." in line or "\r" in line for line in answers)
    assert all(line[0].isupper() for line in answers)
    source = home / "corpus/test.source.txt"
    model = TranslationModel.open(home / "model")
    assert list(translate_lines(model, io.BytesIO(source.read_bytes()))) == answers
    out = home / "out.txt"
    code, _, said = run_cli("engine", "decode", source, "--model", home / "model", "-o", out)
    assert code == 0, said
    assert list(read_lines(out)) == answers


def test_evaluate_scores_ordinary_text_and_words(raw, run_cli):
    home, found = raw
    refs = [home / f"corpus/test.refs.{r}.txt" for r in range(2)]
    arguments = ("--source", home / "corpus/test.source.txt", "--refs", *refs, "--json")
    code, out, said = run_cli("engine", "evaluate", home / "model", *arguments)
    assert code == 0, said
    told = json.loads(out)
    scores = {metric["metric"]: metric["results"][0]["mean"] for metric in told["metrics"]}
    for label, name in (("bleu", "test"), ("bleu, tokenised", "test, tokenised")):
        assert scores[label] == found.comparisons[name].metrics[0].results[1].mean
    rival = sacrebleu.corpus_bleu(
        list(read_lines(home / "model/test.tuned.1.txt")), [list(read_lines(path)) for path in refs]
    )
    assert scores["bleu"] == pytest.approx(rival.score, abs=1e-9)
    assert told["published"][0].startswith("sacrebleu: BLEU|nrefs:2|")


def test_a_loop_sees_the_text_as_the_model_does(raw, run_cli, tmp_path):
    home, found = raw
    (tmp_path / "spy.py").write_text(
        "import json, sys\nrows = [json.loads(line) for line in sys.stdin]\njson.dump(rows, open('seen.json', 'w'))\n"
        "print('\\n'.join('1' for _ in rows))\n"
    )
    (tmp_path / "loop.toml").write_text(
        f'''
[tune]
source = "{home}/corpus/tune.source.txt"
refs = "{home}/corpus/tune.refs.0.txt"
[decoder]
model = "{home}/model"
k = 6
[start]
file = "{home}/model/start.json"
[tuner]
method = "simplex"
[loop]
iterations = 1
[scorers]
spy = "{shlex.quote(sys.executable)} -S -E spy.py"
'''
    )
    code, out, said = run_cli("loop", tmp_path / "loop.toml", "--json", "--seed", "1")
    assert code == 0, said
    assert json.loads(out)["iterations"][0]["decoded"] == found.loops[0].iterations[0].decoded
    seen = json.loads((tmp_path / "seen.json").read_text())  # scorers are given what people write
    lines = list(read_lines(home / "corpus/tune.source.txt"))
    assert [row["src"] for row in seen] == [lines[int(row["id"])] for row in seen]
    assert all(row["hyp"][0].isupper() and " ." not in row["hyp"] for row in seen)
    start = ("--weights", home / "model/start.json", "-k", "6", "--unique")
    source, out = home / "corpus/tune.source.txt", tmp_path / "kbest.arrow"
    code, _, said = run_cli("engine", "decode", source, "--model", home / "model", *start, "--ordinary", "-o", out)
    assert code == 0, said
    pool = open_pool(out)
    assert list(dict.fromkeys(pool.texts)) == list(dict.fromkeys(row["hyp"] for row in seen))
    assert list(pool.sources) == lines
    assert run_cli("engine", "decode", source, "--model", home / "model", "--ordinary", "-o", out)[0] == 2


def test_settings_of_text_are_checked(raw, run_cli, tmp_path):
    home, _ = raw
    wrong = {
        'text = "raw"': 'expected text = "as-is" or a table [text] with two languages',
        "[text]": "language of the source side",
        '[text]\nsource = "de"\ntarget = "en"\nstemming = true': "[text] has no setting 'stemming'",
    }
    for text, message in wrong.items():
        (home / "wrong.toml").write_text(f"{text}\n{SETTINGS}")
        code, _, said = run_cli("train", home / "wrong.toml", "-o", tmp_path / "model")
        assert code == 2
        assert message in said
    (home / "as-is.toml").write_text(f'text = "as-is"\n{SETTINGS}')
    assert read_train_config(home / "as-is.toml", seed=1, threads=1).text is None


def test_weights_of_unknown_words_are_held(trained):
    home, _ = trained
    path = home / "bounds.toml"
    for more, free in (("", False), ('[bounds]\nPassThrough = ":"\n', True)):
        path.write_text(SETTINGS + more)
        bounds = read_train_config(path, seed=1, threads=1).settings.bounds
        assert bounds["LanguageModel_OOV"] == (-math.inf, 0.0)
        assert bounds["PassThrough"] == (-math.inf, math.inf if free else 0.0)


def test_several_translations_and_why_the_first_won(trained):
    home, _ = trained
    model = TranslationModel.open(home / "model")
    lines = read_lines(home / "corpus" / "test.source.txt")
    plain = list(model.translate(lines))
    decoder = model.decoder(model.grammar(lines))
    for line, found, first in zip(lines, answer(model, lines, Wanted(best=3, explain=True)), plain, strict=True):
        scores = [score for _, score in found.best]
        assert found.text == first
        assert scores == sorted(scores, reverse=True)
        told = found.explanation
        assert told.score == scores[0] == pytest.approx(sum(told.contributions.values()))
        if len(scores) > 1:
            assert (told.rival, told.margin) == (found.best[1][0], scores[0] - scores[1])
            assert sum(told.differences.values()) == pytest.approx(told.margin)
            check_flips(decoder, line, model.weights, told, first)
        assert " ".join(use.source for use in told.rules if "[Goal]" in use.rule) == line
        words = sum(value for name, value in told.contributions.items() if not name.startswith("LanguageModel"))
        assert sum(use.score for use in told.rules) == pytest.approx(words)
        assert told.text().splitlines()[0] == f"source   {line}"


def check_flips(decoder, line, weights, told, first):
    """Re-rank the list with the weight a little before and a little beyond the value that an explanation names."""
    pool = decoder.decode(Texts.from_strings([line]), weights, k=50, unique=True).pool
    names = pool.features.names
    assert told.flips
    for one in told.flips[:4]:
        assert one.weight == weights.get(one.feature, 0.0)
        for share, wanted in ((0.999, first), (1.001, one.text)):
            changed = {**weights, one.feature: one.weight + share * (one.at - one.weight)}
            totals = sum(changed.get(name, 0.0) * pool.features.column(name) for name in names)
            best = [pool.texts[i] for i in (totals >= totals.max() - 1e-9).nonzero()[0]]  # some tie at all weights
            assert wanted in best


def test_translate_lists_explains_and_agrees(trained, run_cli, monkeypatch):
    home, _ = trained
    source = (home / "corpus" / "test.source.txt").read_bytes()

    def asked(*options):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(source)))
        code, out, said = run_cli("translate", home / "model", *options)
        return code, out.splitlines(), said

    first = list(read_lines(home / "model" / "test.tuned.1.txt"))
    _, lines, _ = asked("-n", "2")
    assert lines[0].split(" ||| ")[:2] == ["0", first[0]]
    _, lines, _ = asked("--explain", "--json")
    assert [json.loads(line)["translation"] for line in lines] == first
    assert json.loads(lines[0])["explanation"]["rules"]
    code, lines, said = asked("--mbr", "chrf", "-k", "20")
    assert code == 0, said
    assert len(lines) == len(first)
    pool = home / "kbest.arrow"
    run_cli(
        "engine",
        "decode",
        home / "corpus/test.source.txt",
        "--model",
        home / "model",
        "-k",
        "20",
        "--unique",
        "-o",
        pool,
    )
    assert lines == mbr(pool, select="chrf", posterior=home / "model" / "weights.json").texts
    for options in (("-n", "0"), ("-k", "0"), ("--mbr", "chrf", "-n", "2"), ("--mbr", "nothing")):
        assert asked(*options)[0] == 2


def test_a_served_model_says_the_same(trained):
    home, _ = trained
    model = TranslationModel.open(home / "model")
    lines = read_lines(home / "corpus" / "test.source.txt")
    translator = Translator(model, threads=2)
    found = [translator.ask(list(lines)[i : i + 2], Wanted()) for i in range(0, len(lines), 2)]
    assert [one.text for job in found for one in job.result(600)] == list(model.translate(lines))
    asked = translator.ask(["", lines[0], " "], Wanted(explain=True)).result(600)
    assert [one.explanation is not None for one in asked] == [False, True, False]
    with pytest.raises(LuthierError, match="a lattice"):
        translator.ask(["((('a', 1, 1),),)"], Wanted()).result(600)


def test_a_lattice_is_no_word(trained, run_cli, tmp_path):
    home, _ = trained
    (tmp_path / "plf").write_text("ein wort\n((('ein', 0.5, 1), ('kein', 0.5, 1),), (('wort', 1.0, 1),),)\n")
    code, _, said = run_cli("engine", "decode", tmp_path / "plf", "--model", home / "model", "-o", tmp_path / "out")
    assert code == 2
    assert "expected words in sentence 1, found a lattice (PLF)" in said
