"""Translating a stream: each line is answered before the next is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from luthier.core.errors import InputError
from luthier.corpus.texts import Texts
from luthier.pipelines.train.model import TranslationModel


def translate_lines(model: TranslationModel, lines: Iterable[bytes]) -> Iterator[str]:
    """Yield the translation of each line as it comes.

    Raises
    ------
    InputError
        At a line that is no UTF-8; those before it are answered.
    """
    for number, raw in enumerate(lines, start=1):
        try:
            line = raw.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError(
                expected="text in UTF-8", found=f"the byte {raw[error.start]:#04x}", path="standard input", line=number
            ) from None
        if not line.strip():
            yield ""
            continue
        yield model.translate(Texts.from_strings([line]))[0]
