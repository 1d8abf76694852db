"""Meanings, the notes that state them, and the English sentences that say them, rightly or with mistakes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from luthier.synthetic.english.lexicon import (
    ADDITIONS,
    ALIKE,
    OF_PEOPLE,
    OF_THINGS,
    PEOPLE,
    PLACES,
    PREAMBLES,
    THINGS,
    TIMES,
    VERBS,
    Verb,
)

# Mistakes that a reader of the text alone notices, and mistakes that only one who has the note does.
GRAMMAR = ("tense", "agreement", "article", "repetition")
CONTENT = ("person", "thing", "recipient", "place lost", "time lost", "adjective lost", "exchange", "addition")
STYLE = ("preamble", "time first")  # the second is no mistake
MISTAKES = (*GRAMMAR, *CONTENT, *STYLE)


@dataclasses.dataclass(frozen=True)
class Meaning:
    """Who did what with which thing, for whom, where and when; '' where the note says nothing of it."""

    person: str
    of_person: str
    verb: Verb
    thing: str
    of_thing: str
    recipient: str
    place: str
    time: str

    @property
    def note(self) -> str:
        """The note, from which a sentence is to be written."""
        who, what = f"{self.of_person} {self.person}".strip(), f"{self.of_thing} {self.thing}".strip()
        parts = [f"{who} / {self.verb.base} / {what}", f"to {self.recipient}" * bool(self.recipient)]
        return " / ".join(part for part in (*parts, self.place, self.time) if part)

    def say(self, mistakes: Sequence[str] = (), rng: np.random.Generator | None = None) -> str:
        """Return a sentence that says it, with these mistakes; `rng` chooses among several ways to make one.

        >>> meaning = Meaning("baker", "young", VERBS[0], "letter", "", "nurse", "", "yesterday")
        >>> meaning.say()
        'The young baker sent a letter to the nurse yesterday.'
        >>> meaning.say(["tense", "time first"])
        'Yesterday the young baker sends a letter to the nurse.'
        """
        told, made = _garbled(self, mistakes, rng), set(mistakes)
        verb = told.verb.past
        if {"tense", "agreement"} & made:
            verb = told.verb.base if "agreement" in made else told.verb.third
        who = ["the", told.of_person, told.person]
        thing = " ".join(filter(None, [told.of_thing, told.thing]))
        what = [thing if "article" in made else f"{article(thing)} {thing}"]
        whom = ["to", "the", told.recipient] if told.recipient else []
        end = [told.place, told.place if "repetition" in made else ""]
        extra = [_one(ADDITIONS, rng)] if "addition" in made else []
        first, last = ([told.time], []) if "time first" in made else ([], [told.time])
        words = " ".join(filter(None, [*first, *who, verb, *what, *whom, *end, *last, *extra]))
        sentence = f"{words[0].upper()}{words[1:]}."
        return f"{_one(PREAMBLES, rng)} {sentence}" if "preamble" in made else sentence


def _garbled(meaning: Meaning, mistakes: Sequence[str], rng: np.random.Generator | None) -> Meaning:
    """Return what a sentence with mistakes of content says instead."""
    lost = {"place lost": "place", "time lost": "time"}
    changes: dict[str, Any] = {lost[name]: "" for name in mistakes if name in lost}
    if "adjective lost" in mistakes:
        changes |= {"of_person": ""} if meaning.of_person else {"of_thing": ""}
    for name in ("person", "thing", "recipient"):
        if name in mistakes and getattr(meaning, name):
            changes[name] = _one(ALIKE[getattr(meaning, name)], rng)
    told = dataclasses.replace(meaning, **changes)
    if "exchange" in mistakes and told.recipient:
        told = dataclasses.replace(told, person=told.recipient, recipient=told.person)
    return told


def article(noun: str) -> str:
    """Return the indefinite article of a noun or of the adjective before it."""
    return "an" if noun[0] in "aeiou" else "a"


def draw_meaning(rng: np.random.Generator) -> Meaning:
    """Draw what a note says; a thing goes with its verb, a recipient is another person."""
    verb = VERBS[rng.integers(len(VERBS))]
    kinds = verb.things.split()
    things = [word for line in THINGS[kinds[rng.integers(len(kinds))]] for word in line.split()]
    lines = rng.permutation(len(PEOPLE))
    person, recipient = (_one(PEOPLE[line].split(), rng) for line in lines[:2])
    return Meaning(
        person=person,
        of_person=_one(OF_PEOPLE, rng) if rng.random() < 0.6 else "",
        verb=verb,
        thing=_one(things, rng),
        of_thing=_one(OF_THINGS, rng) if rng.random() < 0.7 else "",
        recipient=recipient if verb.gives else "",
        place=_one(PLACES, rng) if rng.random() < 0.8 else "",
        time=_one(TIMES, rng) if rng.random() < 0.9 else "",
    )


def possible(meaning: Meaning) -> tuple[str, ...]:
    """Return the mistakes that change the sentence of a meaning."""
    needs = {
        "recipient": meaning.recipient,
        "exchange": meaning.recipient,
        "repetition": meaning.place,
        "place lost": meaning.place,
        "time lost": meaning.time,
        "time first": meaning.time,
        "adjective lost": meaning.of_person or meaning.of_thing,
    }
    return tuple(name for name in MISTAKES if needs.get(name, True))


def _one(words: Sequence[str], rng: np.random.Generator | None) -> str:
    return words[0 if rng is None else int(rng.integers(len(words)))]
