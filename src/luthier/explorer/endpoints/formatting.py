"""Numbers as people read them, the same here and on the command line."""

from __future__ import annotations

import math
from collections.abc import Sequence

from luthier.report.console import decimals_for


def shown(score: float, *, like: float | None = None) -> str:
    """Return a score with the digits of the command line; `like` is the score whose digits it shares."""
    return f"{score:.{decimals_for([score if like is None else like])}f}"


def signed(difference: float, *, like: float | None = None) -> str:
    """Return a difference of scores with its sign, none if it is shown as zero.

    >>> signed(1.25, like=40.0), signed(-0.001, like=40.0), signed(-2.0)
    ('+1.25', '0.00', '−2.00')
    """
    return _signed(difference, decimals_for([difference if like is None else like]))


def signed_all(differences: Sequence[float], *, like: float) -> list[str]:
    """Return many differences of scores as `signed` shows them."""
    decimals = decimals_for([like])
    return [_signed(difference, decimals) for difference in differences]


def _signed(difference: float, decimals: int) -> str:
    text = f"{abs(difference):.{decimals}f}"
    if not float(text):
        return text
    return ("+" if difference > 0 else "−") + text


def finite(value: float) -> float | None:
    """Return a number, None where it is none that JSON has."""
    return float(value) if math.isfinite(value) else None
