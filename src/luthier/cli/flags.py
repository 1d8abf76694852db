"""Options in messages: rooms below name them as Python does, the command line as they are typed."""

from __future__ import annotations

import re

from luthier.core.errors import printable

_HINT = re.compile(r"hint: .*")
_OPTION = re.compile(r"`([a-z]+(?:_[a-z]+)*)`")


def spoken(message: str) -> str:
    """Return a message as it is shown: options of its hints as flags, and nothing that a terminal would act upon.

    >>> spoken("expected JSON, found `x`. hint: mend it, or let `skip_bad` do so")
    'expected JSON, found `x`. hint: mend it, or let --skip-bad do so'
    """
    return printable(_HINT.sub(lambda hint: _OPTION.sub(_flag, hint[0]), message))


def _flag(option: re.Match[str]) -> str:
    return "--" + option[1].replace("_", "-")
