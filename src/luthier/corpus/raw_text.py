"""Ordinary text in and out: Moses' rules of tokenising [koehn2007], and casing learned from text.

On its way in a line is normalised, cut into words, and freed of capitals that only say where a sentence begins. On its
way out it gets its capitals back, and is put together again.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import open_output, regular
from luthier.core.params import param, validate
from luthier.core.settings import parse_json
from luthier.corpus.texts import Texts

FILE, KIND = "text.json", "luthier text 1"
CASES, FORMS = ("true", "lower", "as-is"), ("NFC", "NFKC")
LANGUAGE = re.compile(r"[a-z]{2,3}")
ENDS, OPENERS = (
    frozenset(".!?:"),
    frozenset("()[]{}\"'«»„“”‚‘’–-"),
)  # after these a sentence begins; it begins behind these
# What is never cut: addresses, and characters that are written as in HTML.
WHOLE = (r"(?:https?|ftp)://\S*[^\s.,;:!?)\]}'\"»”]", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", r"&[A-Za-z]+;|&#[0-9]+;")
_WHOLE = re.compile("|".join(WHOLE))


@dataclasses.dataclass(frozen=True)
class TextSettings:
    """What becomes of ordinary text: the languages of both sides, case and Unicode's form."""

    source: str = param("", help="language of the source side, such as de")
    target: str = param("", help="language of the target side, such as en")
    case: str = param("true", choices=CASES, help="capitals: true (none where only a sentence begins), lower, as-is")
    compounds: bool = param(False, help="split compounds of the source side into words of the training text")
    stems: bool = param(False, help="read unknown words of the source side as known ones that only end otherwise")
    normalize: str = param("NFC", choices=FORMS, help="Unicode's form: NFC or NFKC")

    def __post_init__(self) -> None:
        validate(self)
        for side in ("source", "target"):
            if not LANGUAGE.fullmatch(getattr(self, side)):
                raise LuthierError(
                    f'expected the language of the {side} side in two or three letters, such as "de", found '
                    f'{getattr(self, side)!r}. hint: [text] has source = "de" and target = "en"'
                )


class Language:
    """One language's rules: lines to words and back. Languages without rules of their own have English ones."""

    def __init__(self, code: str) -> None:
        from sacremoses import MosesDetokenizer, MosesTokenizer  # takes 0.2 s, and as-is text needs none of it

        # the Czech rule for decimal numbers takes the blank before any number at the end of a line
        self._split, self._join = MosesTokenizer(code), MosesDetokenizer("sk" if code == "cs" else code)

    def words(self, line: str) -> list[str]:
        """Return the words of a line; nothing is escaped.

        >>> Language("en").words("It's 3.5 km, see https://example.org/a?b=c.")
        ['It', "'s", '3.5', 'km', ',', 'see', 'https://example.org/a?b=c', '.']
        """
        whole = list(WHOLE) if _WHOLE.search(line) else None
        found: list[str] = self._split.tokenize(line, escape=False, protected_patterns=whole)
        return [word for part in found for word in part.split()]  # exotic blanks separate words, too

    def line(self, words: Sequence[str]) -> str:
        """Return words as a line of ordinary text.

        >>> Language("en").line(["It", "'s", "3.5", "km", ",", "(", "or", "so", ")", "."])
        "It's 3.5 km, (or so)."
        """
        return str(self._join.detokenize(list(words), unescape=False))


@dataclasses.dataclass(frozen=True)
class Casing:
    """How the words of a language are written, as a text shows.

    Attributes
    ----------
    forms : the ways each word (its lower-case form) was written inside sentences, the most frequent first
    capitals : whether most sentences begin with a capital
    """

    forms: Mapping[str, tuple[str, ...]]
    capitals: bool

    @classmethod
    def learned(cls, lines: Iterable[Sequence[str]]) -> Casing:
        """Return the casing of a text; words at the beginning of a sentence say nothing."""
        inside: Counter[str] = Counter()
        begun = capital = 0
        for words in lines:
            starts = _starts(words)
            inside.update(word for word, start in zip(words, starts, strict=True) if not start)
            first = next((word[0] for word in words if word[0].isalpha()), "")
            begun, capital = begun + bool(first), capital + first.isupper()
        forms: dict[str, list[str]] = {}
        for word, _ in sorted(inside.items(), key=lambda item: (-item[1], item[0])):
            forms.setdefault(word.lower(), []).append(word)
        return cls({word: tuple(found) for word, found in sorted(forms.items())}, 2 * capital > begun)

    def true(self, words: Sequence[str]) -> list[str]:
        """Return words as they are written inside sentences, where that is known.

        A word that begins a sentence, or is written as it never was, becomes its most frequent form.
        """
        found = []
        for word, start in zip(words, _starts(words), strict=True):
            forms = self.forms.get(word.lower(), ())
            found.append(forms[0] if forms and (start or word not in forms) else word)
        return found

    def restored(self, words: Sequence[str]) -> list[str]:
        """Return words with capitals where sentences begin, if the text had them there."""
        if not self.capitals:
            return list(words)
        return [
            word[:1].upper() + word[1:] if start else word for word, start in zip(words, _starts(words), strict=True)
        ]


def _starts(words: Sequence[str]) -> list[bool]:
    """Return of each word whether it is the first of a sentence, quotation marks and brackets aside."""
    found, start = [], True
    for word in words:
        found.append(start)
        start = word in ENDS or (start and word in OPENERS)
    return found


SHORTEST, LONGEST = 4, 60  # letters of a part, and of a word that is looked at
FILLERS = ("", "s", "es")  # what may stand between two parts: Sonne(n)… is a word of its own, Freiheit·s·statue is not


@dataclasses.dataclass(frozen=True)
class Compounds:
    """Words that are made of others, by how often these occur [koehn2003a]; `counts` are of lower-case words."""

    counts: Mapping[str, int]

    def parts(self, word: str) -> tuple[str, ...]:
        """Return the parts of a lower-case word, itself if no split has a larger geometric mean of counts.

        >>> Compounds({"sonnen": 4, "tag": 9, "brille": 5}).parts("sonnenbrille")
        ('sonnen', 'brille')
        """
        if not 2 * SHORTEST <= len(word) <= LONGEST or not word.isalpha():
            return (word,)
        best = float(self.counts.get(word, 0))
        parts: tuple[str, ...] = (word,)
        for found in self._splits(word, 3):
            mean = math.prod(self.counts[part] for part in found) ** (1.0 / len(found))
            if mean > best:
                best, parts = mean, found
        return parts

    def _splits(self, word: str, most: int) -> Iterator[tuple[str, ...]]:
        """Yield the splits of a word into two to `most` known parts."""
        for cut in range(SHORTEST, len(word) - SHORTEST + 1):
            head, rest = word[:cut], word[cut:]
            for known in (head.removesuffix(filler) for filler in FILLERS if head.endswith(filler)):
                if len(known) < SHORTEST or known not in self.counts:
                    continue
                if rest in self.counts:
                    yield known, rest
                if most > 2:
                    yield from ((known, *others) for others in self._splits(rest, most - 1))


SHORTEST_STEM, LONGEST_ENDING = 4, 2  # letters


@dataclasses.dataclass(frozen=True)
class Stems:
    """The words of a text, the most frequent first, by what they are without their last letters."""

    words: tuple[str, ...]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def _by_stem(self) -> dict[tuple[str, int], str]:
        """The most frequent word of each stem and number of letters behind it."""
        found: dict[tuple[str, int], str] = {}
        for word in filter(str.isalpha, self.words):
            for ending in range(min(LONGEST_ENDING, len(word) - SHORTEST_STEM) + 1):
                found.setdefault((word.lower()[: len(word) - ending], ending), word)
        return found

    def nearest(self, word: str) -> str:
        """Return a word, or, if the text does not have it, the one of the same stem with the fewest other letters.

        >>> Stems(("Ball", "ruhige", "ruhigen")).nearest("Balls"), Stems(("ruhige", "ruhigen")).nearest("ruhiges")
        ('Ball', 'ruhige')
        >>> Stems(("Ball", "Balkon")).nearest("Balsam")
        'Balsam'
        """
        if word in self._known or not word.isalpha():
            return word
        lower, most = word.lower(), min(LONGEST_ENDING, len(word) - SHORTEST_STEM)
        endings = ((mine, other) for mine in range(most + 1) for other in range(LONGEST_ENDING + 1))
        for mine, other in sorted(endings, key=sum):
            if found := self._by_stem.get((lower[: len(lower) - mine], other)):
                return found
        return word


@dataclasses.dataclass(frozen=True)
class TextForm:
    """Ordinary text as a model sees it, and back: what was set, and what was learned from its training text."""

    settings: TextSettings
    source: Casing
    target: Casing
    compounds: Compounds | None = None
    stems: Stems | None = None

    @classmethod
    def learned(cls, settings: TextSettings, source: Iterable[str], target: Iterable[str]) -> TextForm:
        """Return the form that settings and a parallel text lead to."""
        sides, counts = [], Counter[str]()
        first: list[list[str]] = []
        for code, lines in ((settings.source, source), (settings.target, target)):
            language = Language(code)
            words = [language.words(_normal(line, settings)) for line in lines]
            sides.append(Casing.learned(words))
            first = first or words
        counts.update(word.lower() for line in first for word in line if word.isalpha())
        compounds = Compounds(dict(sorted(counts.items()))) if settings.compounds else None
        form = cls(settings, sides[0], sides[1], compounds)
        if not settings.stems:
            return form
        seen = Counter(word for line in first for word in form._split(form._cased(line, form.source)))
        ordered = sorted(seen, key=lambda word: (-seen[word], word))
        return dataclasses.replace(form, stems=Stems(tuple(ordered)))

    @cached_property
    def _languages(self) -> tuple[Language, Language]:
        return Language(self.settings.source), Language(self.settings.target)

    def source_lines(self, lines: Iterable[str]) -> Texts:
        """Return lines of the source language as the model sees them."""
        cased = (self._cased(words, self.source) for words in self._words(lines, 0))
        return Texts.from_strings(" ".join(self._stemmed(self._split(words))) for words in cased)

    def target_lines(self, lines: Iterable[str]) -> Texts:
        """Return lines of the target language as the model sees them."""
        return Texts.from_strings(" ".join(self._cased(words, self.target)) for words in self._words(lines, 1))

    def restored(self, translations: Iterable[str], sources: Iterable[str]) -> Texts:
        """Return the model's translations as ordinary text; `sources` are the ordinary lines they translate.

        Words of the source that came through as they were keep the case they had there.
        """
        return Texts.from_strings(
            self._restored(line, source) for line, source in zip(translations, sources, strict=True)
        )

    def _restored(self, line: str, source: str) -> str:
        words = line.split()
        if self.settings.case == "lower":
            there = {word.lower(): word for word in self._languages[0].words(source)}
            words = [self.target.forms.get(word, (there.get(word, word),))[0] for word in words]
        if self.settings.case != "as-is":
            words = self.target.restored(words)
        return self._languages[1].line(words)

    def _words(self, lines: Iterable[str], side: int) -> Iterable[list[str]]:
        return (self._languages[side].words(_normal(line, self.settings)) for line in lines)

    def _cased(self, words: list[str], casing: Casing) -> list[str]:
        if self.settings.case == "lower":
            return [word.lower() for word in words]
        return casing.true(words) if self.settings.case == "true" else words

    def _split(self, words: list[str]) -> list[str]:
        """Return words with the parts of compounds in their places, each in its most frequent form."""
        if self.compounds is None:
            return words
        found: list[str] = []
        for word in words:
            parts = self.compounds.parts(word.lower())
            usual = parts if self.settings.case == "lower" else (self.source.forms.get(p, (p,))[0] for p in parts)
            found += [word] if len(parts) == 1 else usual
        return found

    def _stemmed(self, words: list[str]) -> list[str]:
        return words if self.stems is None else [self.stems.nearest(word) for word in words]

    def save(self, folder: Path) -> None:
        """Write it into a model's folder."""
        about: dict[str, Any] = {"kind": KIND, "settings": dataclasses.asdict(self.settings)}
        about |= {side: dataclasses.asdict(getattr(self, side)) for side in ("source", "target")}
        about["counts"] = None if self.compounds is None else dict(self.compounds.counts)
        about["words"] = None if self.stems is None else self.stems.words
        with open_output(folder / FILE) as file:
            file.write((json.dumps(about, ensure_ascii=False, indent=0) + "\n").encode("utf-8"))

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> TextForm:
        """Read it from a model's folder; raise `InputError` where it is damaged."""
        path = Path(folder, FILE)
        try:
            about: dict[str, Any] = parse_json(regular(path).read_bytes())
            if about["kind"] != KIND:
                raise ValueError("another kind of file")
            settings = TextSettings(**about["settings"])
            counts = {str(word): int(n) for word, n in about["counts"].items()} if settings.compounds else {}
            compounds = Compounds(counts) if settings.compounds else None
            stems = Stems(tuple(map(str, about["words"]))) if settings.stems else None
            return cls(settings, _casing(about["source"]), _casing(about["target"]), compounds, stems)
        except OSError as error:
            found = (error.strerror or str(error)).lower()
        except (ValueError, KeyError, TypeError, AttributeError, LuthierError) as error:
            found = f"something else ({error})"
        raise InputError(expected="what 'luthier train' writes about its text", found=found, path=str(path))


def _casing(about: Mapping[str, Any]) -> Casing:
    forms = {str(word): tuple(map(str, found)) for word, found in about["forms"].items() if found}
    return Casing(forms, bool(about["capitals"]))


def _normal(line: str, settings: TextSettings) -> str:
    return unicodedata.normalize(settings.normalize, line)  # type: ignore[arg-type]
