"""What a sentence says, before it is said in either language."""

from __future__ import annotations

import dataclasses

from luthier.synthetic.pair.concepts import Adjective, Concept, Noun, Verb

# One side of a sentence pair: words, and what each of them represents.

# Of words that represent nothing in the other language.
NO_NODE = -1


def case_node(node: int) -> int:
    """Return the number of the small word that tells the case of a phrase with the number `node`."""
    return -2 - node


@dataclasses.dataclass(frozen=True, slots=True)
class Side:
    """A sentence of T words in one language.

    Attributes
    ----------
    words
        The words, punctuation apart.
    nodes
        The part of the meaning each word expresses: words of the two languages with the same number
        translate each other; −1 for those that have no counterpart.
    labels
        What each word is: in the source language a gloss, in the target language its features.
    heads
        The part of the meaning with which the form of a word agrees, or −1.
    """

    words: tuple[str, ...]
    nodes: tuple[int, ...]
    labels: tuple[str, ...]
    heads: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.words)

    def __str__(self) -> str:
        return " ".join(self.words)


class SideWriter:
    """A side in the making."""

    __slots__ = ("heads", "labels", "nodes", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.nodes: list[int] = []
        self.labels: list[str] = []
        self.heads: list[int] = []

    def __len__(self) -> int:
        return len(self.words)

    def put(self, word: str, node: int, label: str, head: int = NO_NODE) -> None:
        """Write the next word."""
        self.words.append(word)
        self.nodes.append(node)
        self.labels.append(label)
        self.heads.append(head)

    def insert(self, place: int, word: str, node: int, label: str) -> None:
        """Write a word before the one at `place`."""
        self.words.insert(place, word)
        self.nodes.insert(place, node)
        self.labels.insert(place, label)
        self.heads.insert(place, NO_NODE)

    def finish(self) -> Side:
        """Return what was written."""
        return Side(tuple(self.words), tuple(self.nodes), tuple(self.labels), tuple(self.heads))


# Which part of a relative clause its noun is.
SUBJECT_GAP, OBJECT_GAP = range(2)
THIRD_SINGULAR, THIRD_PLURAL = 2, 5


@dataclasses.dataclass(slots=True, eq=False)
class Pronoun:
    """I, you, it, …: `person` counts first, second, third singular, then plural.

    The source language speaks a subject pronoun only where it is `stressed`; elsewhere the verb's ending
    does, and `node` is the verb's.
    """

    node: int
    person: int
    stressed: bool = True


@dataclasses.dataclass(slots=True, eq=False)
class Name:
    """A name, the same in both languages; `kind` tells people from places."""

    node: int
    text: str
    kind: int
    person: int = THIRD_SINGULAR


@dataclasses.dataclass(slots=True, eq=False)
class Thing:
    """A noun with all that belongs to it.

    Attributes
    ----------
    node, article_node
        Numbers by which the words of the two languages find each other.
    number
        A numeral, or ""; then `plural` is true.
    modifier
        First part of a compound.
    adjectives
        With their nodes, from the noun outwards.
    """

    node: int
    article_node: int
    noun: Noun
    plural: bool
    definite: bool
    number: str = ""
    number_node: int = -1
    modifier: Noun | None = None
    adjectives: list[tuple[int, Adjective]] = dataclasses.field(default_factory=list)
    possessor: Phrase | None = None
    relative: Clause | None = None

    @property
    def person(self) -> int:
        """Third person, singular or plural."""
        return THIRD_PLURAL if self.plural else THIRD_SINGULAR

    @property
    def kind(self) -> int:
        """The kind of the noun."""
        return self.noun.kind


@dataclasses.dataclass(slots=True, eq=False)
class Group:
    """Several phrases joined by *and* or *or*; all members are of one kind."""

    node: int
    members: list[Thing | Name]
    coordinator: int
    kind: int
    person: int = THIRD_PLURAL


Phrase = Thing | Name | Pronoun | Group


@dataclasses.dataclass(slots=True, eq=False)
class Adjunct:
    """A phrase in a relation, told by a postposition in the one language, a preposition in the other."""

    node: int
    relation: int
    phrase: Thing | Name


@dataclasses.dataclass(slots=True, eq=False)
class Clause:
    """A verb with all that belongs to it.

    `subject` is always there; in a relative clause whose noun is the subject or the object, `gap` says
    that it is not spoken. `link_node` belongs to the word that joins the clause to what stands above it,
    `not_node` to the negation.
    """

    node: int
    link_node: int
    not_node: int
    verb: Verb
    tense: int
    negative: bool
    subject: Phrase
    object: Phrase | None = None
    recipient: Phrase | None = None
    complement: Clause | None = None
    adjuncts: list[Adjunct] = dataclasses.field(default_factory=list)
    manner: Concept | None = None
    manner_node: int = -1
    gap: int | None = None

    @property
    def plural(self) -> bool:
        """Whether the verb agrees with a plural subject."""
        return self.subject.person > THIRD_SINGULAR

    @property
    def neighbour(self) -> int:
        """The kind on which the sense and the synonym of the verb hang: the object's, else the subject's."""
        beside = self.subject if self.object is None else self.object
        return 0 if isinstance(beside, Pronoun) else beside.kind


@dataclasses.dataclass(slots=True, eq=False)
class Sentence:
    """Main clauses with what joins them, and the time of it all.

    Attributes
    ----------
    clauses
        The main clauses; `coordinators`, one fewer, stand between them (−1 is a semicolon).
    subordinator, subordinate
        An adverbial clause of the first main clause, where there is one.
    connective
        How the sentence goes on from the one before, or −1.
    """

    clauses: list[Clause]
    coordinators: list[tuple[int, int]]
    mark: str
    mark_node: int
    subordinator: int = -1
    subordinator_node: int = -1
    subordinate: Clause | None = None
    connective: int = -1
    connective_node: int = -1
    time: Concept | None = None
    year: str = ""
    time_node: int = -1
