"""Work is silent unless somebody listens."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from luthier.cli import output
from luthier.core.progress import notice, progress, speaking


def test_silence_is_the_default(capfd):
    notice("nobody hears this")
    with progress("reading", 10) as advance:
        advance(5)
    assert capfd.readouterr() == ("", "")


def test_a_voice_hears_what_comes_from_inside_only():
    heard, shown = [], []

    def display(label, total):
        return nullcontext(lambda amount: shown.append((label, total, amount)))

    with speaking(display, heard.append):
        notice("inside")
        with progress("reading", 10) as advance:
            advance(3)
            advance(7)
    notice("outside")
    assert heard == ["inside"]
    assert shown == [("reading", 10, 3), ("reading", 10, 7)]


def test_the_voice_is_gone_after_an_error():
    heard = []
    with pytest.raises(ZeroDivisionError), speaking(lambda label, total: nullcontext(len), heard.append):
        raise ZeroDivisionError
    notice("after")
    assert heard == []


def test_without_a_terminal_a_long_job_says_a_line_now_and_then(monkeypatch, capfd):
    clock = iter([0.0, 0.0, 8.0, 9.0, 11.0, 21.0, 23.0, 30.0, 99.0])
    monkeypatch.setattr(output, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with output.Output(quiet=False, as_json=False), progress("tuning", 9) as advance, progress("steps") as step:
        for amount in (1, 2, 3):
            advance(amount, "best 31.5")
        step(1)
        advance(1, "best 32")
    assert (
        capfd.readouterr().err
        == "tuning: 6 of 9 after 11 s, best 31.5\nsteps: 1 after 21 s\ntuning: 7 of 9 after 23 s, best 32\n"
    )
    with output.Output(quiet=True, as_json=False), progress("tuning") as advance:
        advance(1)
    assert capfd.readouterr().err == ""
