"""The loop as a command: decoders of others, their failures, and kills at any moment."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from luthier.jobs.external_decoder import ExternalDecoder, ProgramError, run_program
from luthier.jobs.loop_config import read_config
from luthier.kbest.weights import read_weights

TOY = Path(__file__).parent / "toy_decoder.py"
SOURCE = ["a b c d", "c d e", "e f g h i j", "b b", "h a"]
REFS = ["A bx C dx", "cx D E", "E F gx hx I J", "B bx", "H ax"]


def settings(folder, mode="well", *, style="text", name="loop.toml", more="", source="source.txt"):
    """Write a loop's file and its texts; return its path."""
    (folder / source).write_text("".join(f"{line}\n" for line in SOURCE))
    (folder / "refs.txt").write_text("".join(f"{line}\n" for line in REFS))
    (folder / "mode").write_text(mode)
    command = [sys.executable, str(TOY), str(folder / "mode"), "{weights}", "{source}", "{kbest}", "{k}"]
    (folder / name).write_text(
        f"""
        metric = "bleu"
        seed = 3
        [tune]
        source = {json.dumps(source)}
        refs = "refs.txt"
        [start]
        plain = -1.0
        short = 0.5
        last = 0.1
        [decoder]
        command = {json.dumps(command)}
        k = 4
        weights = "{style}"
        {more}
        [tuner]
        method = "simplex"
        [loop]
        iterations = 4
        patience = 0
        """
    )
    return folder / name


TIMES = "times.jsonl", "weights.run.json"


def files_of(folder):
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name not in TIMES]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def without_attempts(folder):
    """Return the files of a loop, without those that a decoder left when it failed or was killed."""
    return {name: data for name, data in files_of(folder).items() if not name.startswith("decoder/")}


def decoder_of(folder, *arguments, **options):
    """Return the decoder of a loop's file, and the loop's start."""
    config = read_config(settings(folder, *arguments, **options), seed=0, threads=1)
    parts = (config.command, config.tune.source, config.tune.refs, "tune", config.base, str(folder / "work"))
    return ExternalDecoder(*parts), config.start


@pytest.mark.slow
def test_a_decoder_of_others_is_driven(tmp_path, run_cli):
    code, out, said = run_cli("loop", settings(tmp_path), "--json", "--threads", "1")
    assert code == 0, said
    result = json.loads(out)
    turns = result["iterations"]
    assert [turn["new"] > 0 for turn in turns[:2]] == [True, True]
    assert turns[-1]["after"] >= turns[0]["before"]
    assert dict(read_weights(tmp_path / "loop-loop" / "weights.json")) == result["weights"]
    assert {"table.md", "loop.png", "iterations.jsonl", "lists/000.arrow"} <= set(files_of(tmp_path / "loop-loop"))
    assert not (tmp_path / "loop-loop" / "decoder").exists()


def test_every_style_of_weights_comes_to_the_same_lists(tmp_path):
    digests = set()
    for style in ("text", "equals", "moses", "json"):
        decode, start = decoder_of(tmp_path, style=style)
        digests.add(decode(start).digest())
    assert len(digests) == 1
    assert not (tmp_path / "work").exists()
    assert read_config(tmp_path / "loop.toml", seed=0, threads=1).settings.bounds == {}


def test_weights_go_into_a_configuration_of_moses(tmp_path):
    plain, start = decoder_of(tmp_path)
    (tmp_path / "my moses.ini").write_text("[weight]\nplain= 9\nold= 3\n[other]\n")
    decode, _ = decoder_of(tmp_path, more='weights_into = "my moses.ini"')
    assert decode(start).digest() == plain(start).digest()


@pytest.mark.slow
def test_a_decoder_that_ignores_the_weights_is_told_apart(tmp_path, run_cli):
    path = settings(tmp_path, "deaf")
    path.write_text(path.read_text().replace("simplex", "mert").replace("plain = -1.0", "plain = 1.0"))  # which moves
    code, out, said = run_cli("loop", path, "--json")
    result = json.loads(out)
    assert code == 0
    assert result["iterations"][0]["change"] > 0
    assert [turn["new"] > 0 for turn in result["iterations"]] == [True, False]
    assert "the decoder ignores the weights" in result["ended"]
    assert "the decoder ignores the weights" in said


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("fail", ["ended with exit code 7. It said last:", "  searching sentence 3", "  out of luck"]),
        ("garbage", ["its lists cannot be used:", "kbest.txt:5: expected"]),
        ("repeat", ["its lists cannot be used:", "kbest.txt:21: expected"]),
        ("fewer", ["source.txt:3: expected hypotheses for each of 5 sentences, found none for 1."]),
        ("silent", ["wrote no lists to"]),
    ],
)
def test_what_goes_wrong_is_said(tmp_path, mode, words):
    decode, start = decoder_of(tmp_path, mode)
    with pytest.raises(ProgramError) as caught:
        decode(start)
    for expected in words:
        assert expected in str(caught.value)
    (tmp_path / "mode").write_text("well")
    assert decode(start).n_sentences == len(SOURCE)


@pytest.mark.slow
def test_a_failure_loses_nothing(tmp_path, run_cli):
    path = settings(tmp_path)
    run_cli("loop", path, "-o", tmp_path / "whole")
    text = path.read_text()
    path.write_text(text.replace("iterations = 4", "iterations = 1"))
    run_cli("loop", path, "-o", tmp_path / "part")
    path.write_text(text)
    (tmp_path / "mode").write_text("fail")
    assert run_cli("loop", path, "-o", tmp_path / "part", "--resume")[0] == 2
    (tmp_path / "mode").write_text("well")
    assert run_cli("loop", path, "-o", tmp_path / "part", "--resume", "--quiet")[0] == 0
    assert without_attempts(tmp_path / "part") == files_of(tmp_path / "whole")


@pytest.mark.slow
def test_a_decoder_that_hangs_is_ended_with_all_it_started(tmp_path):
    # a limit that no start of Python meets: what is tested is the end, not the time
    child = tmp_path / "child"
    script = (
        "import subprocess, time; process = subprocess.Popen(['sleep', '3600']); "
        f"open({str(child)!r}, 'w').write(str(process.pid)); time.sleep(3600)"
    )
    with pytest.raises(ProgramError, match=r"the decoder did not end within 2 seconds and was ended\."):
        run_program([sys.executable, "-c", script], log=tmp_path / "log", seconds=2, what="the decoder")
    if child.exists():  # a very slow machine may not have come so far
        number = int(child.read_text())
        deadline = time.monotonic() + 600
        while is_running(number) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not is_running(number)


def is_running(process):
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_names_of_files_stay_names(tmp_path):
    folder = tmp_path / "a b; touch hacked; 'c \"d$(x)"
    folder.mkdir()
    decode, start = decoder_of(folder, source="so ur;ce'\".txt")
    assert decode(start).n_sentences == len(SOURCE)
    assert not list(tmp_path.rglob("hacked"))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("k = 4", "k = 0", "expected k from 1 to 1,000,000, found 0"),
        ("k = 4", "k = 99999999999", "expected k from 1 to 1,000,000, found 99,999,999,999"),
        ("k = 4", "k = 'x'", "expected a whole number for 'k' in [decoder], found 'x'"),
        ("k = 4", "speed = 4", "[decoder] has no setting 'speed'. known: allow_empty"),
        ('method = "simplex"', 'method = "simplex"\ncolor = 3', "a setting of [tuner] is none that simplex has"),
        ("iterations = 4", "iterations = 0", "the 'iterations' parameter of LoopOptions must be an int in [1"),
        ("iterations = 4", 'choose = "heldout"', 'choose = "heldout" needs a table [heldout]'),
        ("plain = -1.0", 'plain = "x"', "expected weights to start from in [start]"),
        ('refs = "refs.txt"', 'refs = "no.txt"', "no.txt: expected a readable file, found no such file"),
        ('weights = "text"', 'weights = "xml"', "expected weights = one of text, equals, moses, json, found 'xml'"),
        (
            "command = [",
            "recorded = 'x'\ncommand = [",
            "expected one of command, recorded, model in [decoder], found 2",
        ),
        ("[tune]", "[tune", "expected a loop's settings in TOML"),
    ],
)
def test_faults_in_the_settings_are_said_before_anything_runs(tmp_path, run_cli, old, new, words):
    path = settings(tmp_path)
    path.write_text(path.read_text().replace(old, new, 1))
    code, _, said = run_cli("loop", path)
    assert code == 2
    assert words in said
    assert not (tmp_path / "loop-loop").exists()


def test_a_command_that_is_not_there(tmp_path, run_cli):
    path = settings(tmp_path)
    path.write_text(path.read_text().replace(json.dumps(sys.executable), '"no-such-decoder"'))
    code, _, said = run_cli("loop", path)
    assert code == 2
    assert "the decoder (no-such-decoder) cannot be started: no-such-decoder: no such file or directory" in said


@pytest.mark.slow
def test_recorded_lists_are_a_decoder_too(tmp_path, run_cli):
    path = settings(tmp_path)
    assert run_cli("loop", path, "--quiet", "-o", tmp_path / "first")[0] == 0
    text = path.read_text()
    start, end = text.index("command = "), text.index("[tuner]")
    path.write_text(text[:start] + 'recorded = "first"\n' + text[end:])
    code, _, said = run_cli("loop", path, "--quiet", "-o", tmp_path / "second")
    assert code == 0, said
    assert files_of(tmp_path / "first") == files_of(tmp_path / "second")


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.skipif(not hasattr(os, "fork"), reason="attempts are forks")
def test_a_loop_killed_at_any_moment_goes_on_to_the_same_bytes(tmp_path):
    path, folder = settings(tmp_path), tmp_path / "part"
    command = [sys.executable, str(TOY.with_name("killing.py")), str(path), str(folder), "8", "0"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    killed, turns, code = map(int, done.stdout.split())
    assert killed == 8
    assert turns == 4  # after none, one, two and three of them
    assert code == 0
    assert without_attempts(folder) == files_of(tmp_path / "part.whole")


def test_a_program_that_writes_too_much_is_ended(tmp_path):
    code = "import os, sys\nwith open(sys.argv[1], 'wb') as file:\n    while True: file.write(bytes(1 << 16))"
    with pytest.raises(ProgramError, match=r"the decoder wrote \d+ MB, more than the 1 MB it may and was ended"):
        run_program(
            [sys.executable, "-c", code, str(tmp_path / "kbest")], log=tmp_path / "log", most_bytes=1 << 20,
            what="the decoder",
        )  # fmt: skip
    run_program([sys.executable, "-c", "print(1)"], log=tmp_path / "log", most_bytes=1 << 40)


def test_a_decoder_that_writes_without_end_is_ended(tmp_path, monkeypatch):
    decoder, start = decoder_of(tmp_path)
    monkeypatch.setattr("luthier.jobs.external_decoder.MOST_BYTES", 1 << 20)
    monkeypatch.setattr("luthier.jobs.external_decoder.BYTES_OF_HYPOTHESIS", 1)
    code = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    endless = dataclasses.replace(decoder.command, template=(sys.executable, "-c", code))
    with pytest.raises(ProgramError, match=r"wrote \d+ MB, more than the 1 MB it may and was ended"):
        dataclasses.replace(decoder, command=endless).decode(start, 0)
