"""A small lexicon of English: people, things, verbs, places and times, with what each is easily taken for."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Verb:
    """The forms of a verb, whether it has a recipient, and which things it goes with."""

    base: str
    third: str
    past: str
    gives: bool
    things: str


# Each line has words that one may be taken for the other.
PEOPLE = (
    "baker cook waiter",
    "teacher student professor",
    "nurse doctor dentist",
    "farmer gardener shepherd",
    "sailor captain fisherman",
    "painter photographer sculptor",
    "lawyer judge clerk",
    "neighbour cousin friend",
)
THINGS = {
    "paper": ("letter postcard telegram", "map chart plan", "novel diary poem", "contract receipt invoice"),
    "goods": (
        "chair table bench",
        "lamp candle lantern",
        "bicycle scooter car",
        "violin guitar flute",
        "coat scarf hat",
    ),
    "food": ("loaf cake pie", "soup stew salad", "apple pear plum", "cheese ham sausage"),
}
VERBS = (
    Verb("send", "sends", "sent", True, "paper"),
    Verb("show", "shows", "showed", True, "paper goods"),
    Verb("sell", "sells", "sold", True, "goods food"),
    Verb("give", "gives", "gave", True, "goods food paper"),
    Verb("bring", "brings", "brought", True, "food goods"),
    Verb("write", "writes", "wrote", False, "paper"),
    Verb("copy", "copies", "copied", False, "paper"),
    Verb("repair", "repairs", "repaired", False, "goods"),
    Verb("find", "finds", "found", False, "goods paper"),
    Verb("lose", "loses", "lost", False, "goods paper"),
    Verb("prepare", "prepares", "prepared", False, "food"),
    Verb("taste", "tastes", "tasted", False, "food"),
)
OF_PEOPLE = ("young", "old", "tired", "famous", "friendly", "nervous")
OF_THINGS = ("small", "large", "expensive", "broken", "green", "heavy", "strange", "beautiful")
PLACES = (
    "at the market",
    "in the harbour",
    "at the station",
    "in the library",
    "behind the church",
    "near the bridge",
    "in the garden",
    "at the hotel",
)
TIMES = (
    "yesterday",
    "last week",
    "last winter",
    "on Monday",
    "this morning",
    "two days ago",
    "after the storm",
    "before lunch",
)
PREAMBLES = ("Sure, here you go:", "Here is the sentence:", "Of course! My answer:", "Certainly! Here it is:")
ADDITIONS = (
    "with great pleasure",
    "to the delight of all",
    "for the very first time",
    "without saying a word",
    "to everyone's surprise",
)

ALIKE: dict[str, tuple[str, ...]] = {
    word: tuple(other for other in line.split() if other != word)
    for line in (*PEOPLE, *(line for lines in THINGS.values() for line in lines))
    for word in line.split()
}
