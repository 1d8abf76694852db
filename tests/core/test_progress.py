"""Work is silent unless somebody listens."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

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
