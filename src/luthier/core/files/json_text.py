"""JSON from files that anybody may have written: whatever is wrong with it is one kind of error."""

from __future__ import annotations

import json
from typing import Any


def parse_json(raw: str | bytes, **options: Any) -> Any:
    """Return the value of a text; `options` are those of `json.loads`.

    Raises
    ------
    ValueError
        What is no JSON, no UTF-8, has whole numbers of thousands of digits, or is nested deeper than Python can go.

    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    ...
    ValueError: values nested too deep
    """
    try:
        return json.loads(raw, **options)
    except RecursionError:
        raise ValueError("values nested too deep") from None
