"""What the two synthetic languages talk about, and the words they have for it."""

from __future__ import annotations

import dataclasses

from luthier.synthetic.pair.draws import Bag, Draws

# Kinds of things. What a word means often hangs on the kind of its neighbour.
CLASSES = ("person", "animal", "tool", "place", "food", "matter", "event", "idea")
PERSON, ANIMAL, TOOL, PLACE, FOOD, MATTER, EVENT, IDEA = range(len(CLASSES))
N_CLASSES = len(CLASSES)
# Topic of the words that are at home everywhere.
ANY_TOPIC = -1

# What a verb takes beside its subject: nothing; an object; an object and a recipient; an object for which
# the target language wants a preposition; a clause.
ALONE, OBJECT, RECIPIENT, GOVERNED, CLAUSE = range(5)

PRESENT, PAST, FUTURE = range(3)
SINGULAR, PLURAL = range(2)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Stem:
    """A source word before its endings.

    Attributes
    ----------
    text
        The stem; of a verb with a particle, without it.
    harmony
        Which of two forms its endings have: 0 after a, o, u; 1 after e, i, ö, ü.
    particle
        Separable first part of a verb: in second place of a main clause, before the stem elsewhere.
    partner
        The word that makes one meaning with an empty verb, right before it.
    """

    text: str
    harmony: int
    particle: str = ""
    partner: str = ""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Word:
    """A target word with its forms.

    Attributes
    ----------
    forms
        Of a noun: singular, plural. Of an adjective: by 2·gender + number. Of a verb: by 2·tense + number for
        present and past, then the form after an auxiliary. Of anything else: the word.
    gender
        Of a noun, 0 or 1.
    before
        Whether an adjective stands before its noun, not behind.
    particle
        Of a verb, the part behind a short object, or behind the verb.
    preposition
        Of a verb, what it wants before its object.
    """

    forms: tuple[str, ...]
    gender: int = 0
    before: bool = False
    particle: str = ""
    preposition: str = ""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Concept:
    """A meaning with its source stems and its target synonyms.

    Which synonym is preferred depends on the kind of the neighbour: `words` are two bags of the same words.
    The `citation`, a form of the first of them, represents the concept in glosses.
    """

    name: str
    citation: str
    weight: float
    topic: int
    stems: Bag[Stem]
    words: tuple[Bag[Word], Bag[Word]]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Noun(Concept):
    """Something of a kind."""

    kind: int


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Verb(Concept):
    """Something done, with what it takes and of which kinds its subject and its object are."""

    frame: int
    subjects: tuple[int, ...]
    objects: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Adjective(Concept):
    """A property of things of some kinds."""

    kinds: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Lexicon:
    """All concepts, and bags of those that fit a place in a sentence.

    Attributes
    ----------
    nouns
        By kind, then by topic; the last bag of a kind holds those of any topic.
    verbs
        By topic: all verbs, those of the topic more often.
    verbs_of_subject, verbs_of_object
        By kind: verbs that can have such a subject, verbs with an object that can have such an object.
    adjectives
        By kind: those that a noun of the kind can have.
    manners, times
        Adverbs.
    favourite_objects, favourite_adjectives, favourite_modifiers
        What often stands with a verb or a noun, by the verb's or the noun's name.
    names
        Known names.
    """

    nouns: tuple[tuple[Bag[Noun], ...], ...]
    verbs: tuple[Bag[Verb], ...]
    verbs_of_subject: tuple[Bag[Verb], ...]
    verbs_of_object: tuple[Bag[Verb], ...]
    adjectives: tuple[Bag[Adjective], ...]
    manners: Bag[Concept]
    times: Bag[Concept]
    favourite_objects: dict[str, tuple[Noun, ...]]
    favourite_adjectives: dict[str, tuple[Adjective, ...]]
    favourite_modifiers: dict[str, tuple[Noun, ...]]
    names: Bag[str]

    @property
    def n_topics(self) -> int:
        """How many topics sentences can have."""
        return len(self.verbs)


def draw_word(concept: Concept, neighbour: int, draws: Draws) -> Word:
    """Return a target word for a concept beside something of the kind `neighbour`."""
    return concept.words[neighbour & 1].draw(draws)
