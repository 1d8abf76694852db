"""Manifests of speech data: JSON Lines with the audio file, its duration and what was said, as NeMo keeps them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import PurePath
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import InputError
from luthier.core.files.io import display_name
from luthier.core.segments import offsets_from_counts
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts
from luthier.kbest.building.sentences import SentenceTable
from luthier.kbest.reading.json_errors import described, json_error, not_object_error, parse_json, surrogate_error

IDS = ("id", "utt_id", "utterance_id", "key")
AUDIO = ("audio_filepath", "audio", "audio_path", "path")
TEXTS = ("text", "ref", "reference", "transcript")
DURATION = "duration"


@dataclasses.dataclass(frozen=True, eq=False)
class Manifest:
    """Utterances in the order of a manifest: ids, and what was said and how long it is, if all have that."""

    ids: tuple[str, ...]
    texts: tuple[str, ...] | None
    durations: Float64 | None

    def __len__(self) -> int:
        return len(self.ids)

    def table(self) -> SentenceTable:
        """Return the utterances as sentences with references."""
        ids = Texts.from_strings(self.ids)
        if self.texts is None:
            return SentenceTable(ids)
        return SentenceTable(ids, Texts.from_strings(self.texts), offsets_from_counts([1] * len(self)))


def read_manifest(path: str) -> Manifest:
    """Read a manifest.

    An utterance is called by its ``id`` (or ``utt_id``, ``key``), else by the name of its audio file without folder and
    ending, or with both where these do not differ, else by its number, from 0.

    Raises
    ------
    InputError
        A line that is no object, an id that stands twice, a duration that is no number, a text that only some have.
    """
    name = display_name(path)
    rows = [_row(raw, name, line) for line, raw in enumerate(read_lines(path), start=1) if raw.strip()]
    ids = _ids(rows, name)
    texts = _all_or_none([_first(row, TEXTS) for row in rows], "a text (text)", name)
    for line, text in enumerate(texts or (), start=1):
        if not isinstance(text, str):
            raise InputError(expected='a string as "text"', found=described(text), path=name, line=line, kind="type")
    seconds = [row.get(DURATION) for row in rows]
    return Manifest(tuple(ids), None if texts is None else tuple(texts), _durations(seconds, name))


def _row(raw: str, path: str, line: int) -> dict[str, Any]:
    try:
        row = parse_json(raw.encode("utf-8"))
    except (json.JSONDecodeError, RecursionError):
        raise json_error(raw.encode("utf-8"), path, line) from None
    if not isinstance(row, dict):
        raise not_object_error(row, path, line)
    try:
        json.dumps(row, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise surrogate_error(path, line) from None
    return row


def _first(row: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _ids(rows: list[dict[str, Any]], path: str) -> list[str]:
    given = [_first(row, IDS) for row in rows]
    audio = [_first(row, AUDIO) for row in rows]
    if all(isinstance(item, str | int) and not isinstance(item, bool) for item in given):
        ids = [str(item) for item in given]
    elif all(isinstance(item, str) for item in audio):
        ids = [PurePath(item).stem for item in audio]
        ids = ids if len(set(ids)) == len(ids) else audio
    else:
        ids = [str(i) for i in range(len(rows))]
    seen: dict[str, int] = {}
    for line, item in enumerate(ids, start=1):
        if item in seen:
            raise InputError(
                expected="each utterance once",
                found=f"{item!r}, which line {seen[item]} has",
                path=path,
                line=line,
                kind="keys",
                hint='give each its own "id"',
            )
        seen[item] = line
    return ids


def _all_or_none(values: list[Any], what: str, path: str) -> list[Any] | None:
    lacking = [line for line, value in enumerate(values, start=1) if value is None]
    if lacking and len(lacking) < len(values):
        raise InputError(
            expected=f"{what} for every utterance", found="none", path=path, line=lacking[0], kind="fields"
        )
    return None if lacking else values


def _durations(seconds: list[Any], path: str) -> Float64 | None:
    found = _all_or_none(seconds, "a duration", path)
    if found is None:
        return None
    for line, value in enumerate(found, start=1):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise InputError(
                expected="a duration in seconds", found=described(value), path=path, line=line, kind="number"
            )
    return np.array(found, dtype=np.float64)
