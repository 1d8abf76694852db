"""The synthetic dictionary: concepts with Zipf's weights, senses that share a word, synonyms, favourites."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

from luthier.synthetic.pair.concepts import (
    ALONE,
    ANY_TOPIC,
    CLAUSE,
    GOVERNED,
    N_CLASSES,
    OBJECT,
    PERSON,
    RECIPIENT,
    Adjective,
    Concept,
    Lexicon,
    Noun,
    Stem,
    Verb,
    Word,
)
from luthier.synthetic.pair.draws import Bag, Draws
from luthier.synthetic.pair.forms import (
    GOVERNED_PREPOSITIONS,
    NAME_SOUNDS,
    SOURCE_PARTICLES,
    SOURCE_SOUNDS,
    SOURCE_TAKEN,
    TARGET_PARTICLES,
    TARGET_SOUNDS,
    TARGET_TAKEN,
    adjective_forms,
    harmony,
    noun_forms,
    verb_forms,
)
from luthier.synthetic.words import invent_words

# How the vocabulary is shared out.
SHARES = {"noun": 0.56, "verb": 0.18, "adjective": 0.18, "manner": 0.05, "time": 0.03}
N_NAMES = 600
ZIPF_SHIFT = 2.7
P_ANY_TOPIC = 0.35
# How much more often a verb is used where its topic is the sentence's, or not.
TOPIC_BOOST, ELSEWHERE = 4.0, 0.15
# Of the concepts with synonyms, how many have two, three, four words; and how a preference falls off.
SYNONYM_COUNTS = ((2, 0.6), (3, 0.9), (4, 1.0))
PREFERENCE = 0.55
P_SECOND_STEM, SECOND_STEM_SHARE = 0.2, 0.4
MOST_SENSES, SENSE_REACH = 3, 80
P_PARTICLE, P_EMPTY_VERB, SIMPLE_VERBS, EMPTY_VERBS = 0.18, 0.07, 20, 4
P_TARGET_PARTICLE, P_BEFORE_NOUN = 0.2, 0.25
FRAMES = Bag((ALONE, OBJECT, RECIPIENT, GOVERNED, CLAUSE), (0.24, 0.50, 0.08, 0.11, 0.07))
N_FAVOURITE_OBJECTS, N_FAVOURITE_ADJECTIVES, N_MODIFIERS = 6, 4, 3

Kind = TypeVar("Kind", bound=Concept)


def make_lexicon(
    rng: np.random.Generator, *, vocabulary: int, topics: int, ambiguity: float, synonymy: float
) -> Lexicon:
    """Invent a dictionary of about `vocabulary` concepts.

    Parameters
    ----------
    topics
        Number of topics; a sentence has one, and most of its nouns are at home there.
    ambiguity
        How likely a concept takes the source word of another one, told apart by context.
    synonymy
        How likely a concept has several target words.
    """
    maker = _Maker(rng, vocabulary=vocabulary, topics=topics, ambiguity=ambiguity, synonymy=synonymy)
    sizes = {kind: max(EMPTY_VERBS, round(share * vocabulary)) for kind, share in SHARES.items()}
    # The kinds mixed by rank, so that the usual words of each kind are short.
    order = sorted((rank / size, kind, rank) for kind, size in sizes.items() for rank in range(size))
    for _, kind, rank in order:
        maker.add(kind, rank)
    names = [name.capitalize() for name in invent_words(N_NAMES, NAME_SOUNDS, rng, syllables=3)]
    return _arrange(maker, topics, Bag(names, _zipf(N_NAMES)), Draws(rng))


def _zipf(size: int) -> list[float]:
    return [1.0 / (rank + ZIPF_SHIFT) for rank in range(size)]


class _Maker:
    """The concepts made so far."""

    def __init__(
        self, rng: np.random.Generator, *, vocabulary: int, topics: int, ambiguity: float, synonymy: float
    ) -> None:
        self.draws = Draws(rng)
        self.topics, self.ambiguity, self.synonymy = topics, ambiguity, synonymy
        room = vocabulary + 5 * len(SHARES) * EMPTY_VERBS
        self.source = _supply(int(room * (1 + P_SECOND_STEM)), SOURCE_SOUNDS, rng, SOURCE_TAKEN)
        self.target = _supply(int(room * (1 + 1.6 * synonymy)), TARGET_SOUNDS, rng, TARGET_TAKEN)
        self.nouns: list[Noun] = []
        self.verbs: list[Verb] = []
        self.adjectives: list[Adjective] = []
        self.manners: list[Concept] = []
        self.times: list[Concept] = []

    def add(self, kind: str, rank: int) -> None:
        """Make the next concept of a kind."""
        name, weight = f"{kind}{rank}", 1.0 / (rank + ZIPF_SHIFT)
        match kind:
            case "noun":
                self.nouns.append(self._noun(name, weight))
            case "verb":
                self.verbs.append(self._verb(name, weight))
            case "adjective":
                self.adjectives.append(self._adjective(name, weight))
            case _:
                words = self._words(lambda text: Word((text,)))
                stems = self._stems(self._fresh_stem())
                concept = Concept(name, _citation(words), weight, ANY_TOPIC, stems, words)
                (self.manners if kind == "manner" else self.times).append(concept)

    def _topic(self) -> int:
        return ANY_TOPIC if self.draws.chance(P_ANY_TOPIC) else self.draws.below(self.topics)

    def _noun(self, name: str, weight: float) -> Noun:
        draws, topic = self.draws, self._topic()
        words = self._words(lambda text: Word(noun_forms(text), gender=draws.below(2)))
        stem = None
        if topic != ANY_TOPIC:
            stem = self._shared_stem(self.nouns, lambda other: other.topic not in (ANY_TOPIC, topic))
        stems = self._stems(stem or self._fresh_stem())
        return Noun(name, _citation(words), weight, topic, stems, words, draws.below(N_CLASSES))

    def _adjective(self, name: str, weight: float) -> Adjective:
        draws = self.draws
        kinds = self._some_kinds(4)
        words = self._words(lambda text: Word(adjective_forms(text), before=draws.chance(P_BEFORE_NOUN)))
        stem = self._shared_stem(self.adjectives, lambda other: not set(other.kinds) & set(kinds))
        stems = self._stems(stem or self._fresh_stem())
        return Adjective(name, _citation(words), weight, ANY_TOPIC, stems, words, kinds)

    def _verb(self, name: str, weight: float) -> Verb:
        draws, topic, frame = self.draws, self._topic(), FRAMES.draw(self.draws)
        subjects = tuple({PERSON, *self._some_kinds(1)}) if draws.chance(0.8) else self._some_kinds(2)
        objects = () if frame in (ALONE, CLAUSE) else self._some_kinds(3)

        def make(text: str) -> Word:
            particle = draws.pick(TARGET_PARTICLES) if draws.chance(P_TARGET_PARTICLE) else ""
            governed = draws.pick(GOVERNED_PREPOSITIONS) if frame == GOVERNED else ""
            return Word(verb_forms(text), particle=particle, preposition=governed)

        def differs(other: Verb) -> bool:
            if not objects or not other.objects:
                return bool(objects) != bool(other.objects)
            return not set(objects) & set(other.objects)

        words = self._words(make)
        stem = self._composed_stem() or self._shared_stem(self.verbs, differs) or self._fresh_stem()
        return Verb(name, _citation(words), weight, topic, self._stems(stem), words, frame, subjects, objects)

    def _some_kinds(self, count: int) -> tuple[int, ...]:
        return tuple(sorted({self.draws.below(N_CLASSES) for _ in range(count)}))

    def _fresh_stem(self) -> Stem:
        text = next(self.source)
        return Stem(text, harmony(text))

    def _composed_stem(self) -> Stem | None:
        """Return the stem of an earlier verb with a particle, or an empty verb with its partner, or None."""
        draws, n_verbs = self.draws, len(self.verbs)
        kind = draws.unit()
        if n_verbs < SIMPLE_VERBS or kind > P_PARTICLE + P_EMPTY_VERB:
            return None
        if kind > P_PARTICLE:
            empty = self.verbs[draws.below(EMPTY_VERBS)].stems.items[0]
            return Stem(empty.text, empty.harmony, partner=next(self.source))
        first = self.verbs[draws.below(n_verbs)].stems.items[0]
        return Stem(first.text, first.harmony, particle=draws.pick(SOURCE_PARTICLES))

    def _shared_stem(self, earlier: list[Kind], differs: Callable[[Kind], bool]) -> Stem | None:
        """Return the first stem of a concept of like rank, if context tells all its senses apart, or None."""
        if not self.draws.chance(self.ambiguity):
            return None
        senses: dict[str, list[Kind]] = {}
        for other in earlier[-SENSE_REACH:]:
            senses.setdefault(other.stems.items[0].text, []).append(other)
        for group in reversed(senses.values()):
            stem = group[0].stems.items[0]
            plain = not stem.particle and not stem.partner
            if plain and len(group) < MOST_SENSES and all(differs(other) for other in group):
                return stem
        return None

    def _stems(self, first: Stem) -> Bag[Stem]:
        if not self.draws.chance(P_SECOND_STEM):
            return Bag([first], [1.0])
        return Bag([first, self._fresh_stem()], [1 - SECOND_STEM_SHARE, SECOND_STEM_SHARE])

    def _words(self, make: Callable[[str], Word]) -> tuple[Bag[Word], Bag[Word]]:
        """Return the target words of a concept, with the preferences beside neighbours of two sorts."""
        draws, count = self.draws, 1
        if draws.chance(self.synonymy):
            level = draws.unit()
            count = next(n for n, up_to in SYNONYM_COUNTS if level < up_to)
        words = [make(next(self.target)) for _ in range(count)]
        weights = [PREFERENCE**place * (0.5 + draws.unit()) for place in range(count)]
        return Bag(words, weights), Bag(words, weights[::-1] if draws.chance(0.5) else weights)


def _citation(words: tuple[Bag[Word], Bag[Word]]) -> str:
    return words[0].items[0].forms[0]


def _supply(
    count: int,
    sounds: tuple[list[str], list[str], list[str]],
    rng: np.random.Generator,
    taken: frozenset[str],
) -> Iterator[str]:
    """Return an iterator of words that does not end, of which the first `count` are short first."""
    words = invent_words(count, sounds, rng, taken=taken)
    endless = (words[i % count] + words[i // count] for i in itertools.count())
    return itertools.chain(words, endless)


def _bag(concepts: Iterable[Kind], spare: list[Kind]) -> Bag[Kind]:
    """Return the concepts by their weights, or the spare ones where there is none."""
    items = list(concepts) or spare
    return Bag(items, [item.weight for item in items])


def _arrange(maker: _Maker, topics: int, names: Bag[str], draws: Draws) -> Lexicon:
    """Sort the concepts into bags and draw the favourites."""
    nouns, verbs, adjectives = maker.nouns, maker.verbs, maker.adjectives
    kinds, homes = range(N_CLASSES), [*range(topics), ANY_TOPIC]
    of_kind = [_bag((n for n in nouns if n.kind == k), nouns) for k in kinds]
    plain = [verb for verb in verbs if verb.frame in (ALONE, OBJECT)]
    with_object = [verb for verb in plain if verb.frame == OBJECT]
    adjectives_of = tuple(_bag((a for a in adjectives if k in a.kinds), adjectives) for k in kinds)
    return Lexicon(
        nouns=tuple(
            tuple(_bag((n for n in of_kind[k].items if n.topic == t), list(of_kind[k].items)) for t in homes)
            for k in kinds
        ),
        verbs=tuple(Bag(verbs, [_verb_weight(verb, topic) for verb in verbs]) for topic in range(topics)),
        verbs_of_subject=tuple(_bag((v for v in plain if k in v.subjects), plain) for k in kinds),
        verbs_of_object=tuple(_bag((v for v in with_object if k in v.objects), with_object) for k in kinds),
        adjectives=adjectives_of,
        manners=_bag(maker.manners, []),
        times=_bag(maker.times, []),
        favourite_objects={
            v.name: tuple(of_kind[draws.pick(v.objects)].draw(draws) for _ in range(N_FAVOURITE_OBJECTS))
            for v in verbs
            if v.objects
        },
        favourite_adjectives={
            noun.name: tuple(adjectives_of[noun.kind].draw(draws) for _ in range(N_FAVOURITE_ADJECTIVES))
            for noun in nouns
        },
        favourite_modifiers={
            noun.name: tuple(draws.pick(of_kind).draw(draws) for _ in range(N_MODIFIERS)) for noun in nouns
        },
        names=names,
    )


def _verb_weight(verb: Verb, topic: int) -> float:
    if verb.topic == ANY_TOPIC:
        return verb.weight
    return verb.weight * (TOPIC_BOOST if verb.topic == topic else ELSEWHERE)
