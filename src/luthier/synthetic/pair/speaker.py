"""The speaker: draws what a sentence says from the dictionary."""

from __future__ import annotations

from luthier.synthetic.pair.concepts import (
    ALONE,
    ANIMAL,
    CLAUSE,
    FUTURE,
    N_CLASSES,
    PAST,
    PERSON,
    PLACE,
    PRESENT,
    RECIPIENT,
    Lexicon,
    Noun,
    Verb,
)
from luthier.synthetic.pair.draws import Bag, Draws
from luthier.synthetic.pair.forms import (
    AND_INDEX,
    BUT_INDEX,
    CONNECTIVES,
    IF,
    NAME_SOUNDS,
    OR_INDEX,
    RELATIONS,
    SUBORDINATORS,
    WHEN,
)
from luthier.synthetic.pair.meaning import (
    OBJECT_GAP,
    SUBJECT_GAP,
    Adjunct,
    Clause,
    Group,
    Name,
    Phrase,
    Pronoun,
    Sentence,
    Thing,
)

# Chances for a sentence of ordinary richness; those of shards fall with depth.
DEPTH_FACTOR = 0.55
P_ADJECTIVE, P_POSSESSOR, P_RELATIVE, P_GROUP, P_MODIFIER = 0.42, 0.12, 0.09, 0.09, 0.03
P_ADJUNCT, P_MANNER = 0.55, 0.30
P_SUBORDINATE, P_SECOND_CLAUSE, P_CONNECTIVE, P_TIME = 0.24, 0.26, 0.12, 0.26
RICHNESS_SHAPE, MOST_DEPTH = 5, 4
# Chances that do not depend on richness.
P_PLURAL, P_NUMBER, P_NEGATIVE, P_QUESTION, P_EXCLAMATION = 0.26, 0.05, 0.09, 0.06, 0.02
P_DEFINITE_SUBJECT, P_DEFINITE = 0.82, 0.55
P_PRONOUN_SUBJECT, P_PRONOUN_OBJECT, P_STRESSED = 0.26, 0.08, 0.15
P_FAVOURITE, P_HOME_TOPIC, P_SAME_TENSE, P_SEMICOLON, P_YEAR = 0.6, 0.55, 0.75, 0.12, 0.2
TENSES = Bag((PRESENT, PAST, FUTURE), (0.36, 0.50, 0.14))
PERSONS = Bag(range(6), (0.24, 0.10, 0.30, 0.14, 0.04, 0.18))
COORDINATORS = Bag((AND_INDEX, OR_INDEX, BUT_INDEX), (0.62, 0.08, 0.30))
P_OR = 0.15


class Speaker:
    """Draws sentences.

    Parameters
    ----------
    lexicon
        What there is to talk about.
    elaboration
        Factor of the chances that make sentences long.
    p_name
        How likely a person or a place has a name.
    p_new_name
        How likely that is a name made up on the spot.
    """

    def __init__(self, lexicon: Lexicon, *, elaboration: float, p_name: float, p_new_name: float) -> None:
        self._lexicon = lexicon
        self._elaboration, self._p_name, self._p_new_name = elaboration, p_name, p_new_name

    def speak(self, draws: Draws) -> Sentence:
        """Return what the next sentence says."""
        richness = self._elaboration * draws.erlang(RICHNESS_SHAPE)
        return _Utterance(self._lexicon, draws, richness, self._p_name, self._p_new_name).sentence()


class _Utterance:
    """One sentence in the making, with its topic."""

    def __init__(self, lexicon: Lexicon, draws: Draws, richness: float, p_name: float, p_new_name: float) -> None:
        self.lexicon, self.draws, self.richness = lexicon, draws, richness
        self.p_name, self.p_new_name = p_name, p_new_name
        self.topic = draws.below(lexicon.n_topics)
        self.n_nodes = 0

    def node(self) -> int:
        """Return a fresh number for a part of the meaning."""
        self.n_nodes += 1
        return self.n_nodes - 1

    def likely(self, probability: float, depth: int) -> bool:
        """Return True by a chance that grows with richness and falls with depth."""
        return self.draws.unit() < min(0.9, probability * self.richness) * DEPTH_FACTOR**depth

    def sentence(self) -> Sentence:
        """Draw a whole sentence."""
        draws = self.draws
        tense = TENSES.draw(draws)
        clauses, coordinators = [self.main_clause(tense)], []
        while len(clauses) < 4 and self.likely(P_SECOND_CLAUSE, len(clauses) - 1):
            joined = -1 if draws.chance(P_SEMICOLON) else COORDINATORS.draw(draws)
            coordinators.append((self.node(), joined))
            clauses.append(self.main_clause(self.next_tense(tense)))
        mark = "?" if draws.chance(P_QUESTION) else "!" if draws.chance(P_EXCLAMATION) else "."
        sentence = Sentence(clauses, coordinators, mark, self.node())
        if self.likely(P_SUBORDINATE, 0):
            self.add_subordinate(sentence, tense)
        if self.likely(P_CONNECTIVE, 0):
            sentence.connective, sentence.connective_node = draws.below(len(CONNECTIVES)), self.node()
        if self.likely(P_TIME, 0):
            sentence.time_node = self.node()
            if draws.chance(P_YEAR):
                sentence.year = str(1850 + draws.below(200))
            else:
                sentence.time = self.lexicon.times.draw(draws)
        return sentence

    def add_subordinate(self, sentence: Sentence, tense: int) -> None:
        """Draw an adverbial clause; *if* is for the future, *when* for the rest."""
        tense = self.next_tense(tense)
        which = self.draws.below(len(SUBORDINATORS))
        if which in (IF, WHEN):
            which = IF if tense == FUTURE else WHEN
        sentence.subordinator, sentence.subordinator_node = which, self.node()
        sentence.subordinate = self.main_clause(tense, depth=1)

    def next_tense(self, tense: int) -> int:
        """Return the tense of a further clause."""
        return tense if self.draws.chance(P_SAME_TENSE) else TENSES.draw(self.draws)

    def main_clause(self, tense: int, depth: int = 0) -> Clause:
        """Draw a clause about the topic."""
        verb = self.lexicon.verbs[self.topic].draw(self.draws)
        clause = self.clause(verb, tense, self.subject(verb, depth), depth)
        self.unstress(clause)
        if verb.objects:
            clause.object = self.object(verb, depth)
        if verb.frame == RECIPIENT:
            clause.recipient = self.phrase(PERSON, depth + 1, P_DEFINITE_SUBJECT)
        if verb.frame == CLAUSE:
            clause.complement = self.main_clause(self.next_tense(tense), depth + 1)
        return clause

    def clause(self, verb: Verb, tense: int, subject: Phrase, depth: int) -> Clause:
        """Return a clause without its object, with adjuncts and an adverb."""
        draws = self.draws
        clause = Clause(self.node(), self.node(), self.node(), verb, tense, draws.chance(P_NEGATIVE), subject)
        while len(clause.adjuncts) < 3 and self.likely(P_ADJUNCT, depth + len(clause.adjuncts)):
            relation = draws.below(len(RELATIONS))
            kind = draws.pick(tuple(RELATIONS[relation]))
            clause.adjuncts.append(Adjunct(self.node(), relation, self.single(kind, depth + 1, P_DEFINITE)))
        if self.likely(P_MANNER, depth):
            clause.manner, clause.manner_node = self.lexicon.manners.draw(draws), self.node()
        return clause

    def subject(self, verb: Verb, depth: int) -> Phrase:
        """Draw a subject that fits the verb."""
        if self.draws.chance(P_PRONOUN_SUBJECT):
            return Pronoun(self.node(), PERSONS.draw(self.draws))
        return self.phrase(self.draws.pick(verb.subjects), depth, P_DEFINITE_SUBJECT)

    def unstress(self, clause: Clause) -> None:
        """Leave most subject pronouns to the ending of the verb; not in relative clauses, which have none."""
        subject = clause.subject
        if isinstance(subject, Pronoun) and not self.draws.chance(P_STRESSED):
            subject.node, subject.stressed = clause.node, False

    def object(self, verb: Verb, depth: int) -> Phrase:
        """Draw an object that fits the verb, often one of its favourites."""
        draws = self.draws
        if draws.chance(P_PRONOUN_OBJECT):
            return Pronoun(self.node(), PERSONS.draw(draws))
        if draws.chance(P_FAVOURITE):
            noun = draws.pick(self.lexicon.favourite_objects[verb.name])
            return self.thing(noun, depth, P_DEFINITE)
        return self.phrase(draws.pick(verb.objects), depth, P_DEFINITE)

    def phrase(self, kind: int, depth: int, p_definite: float) -> Phrase:
        """Draw one phrase or several joined ones."""
        first = self.single(kind, depth, p_definite)
        if not self.likely(P_GROUP, depth):
            return first
        members = [first, self.single(kind, depth + 1, p_definite)]
        if self.likely(P_GROUP, depth):
            members.append(self.single(kind, depth + 1, p_definite))
        coordinator = OR_INDEX if self.draws.chance(P_OR) else AND_INDEX
        return Group(self.node(), members, coordinator, kind)

    def single(self, kind: int, depth: int, p_definite: float) -> Thing | Name:
        """Draw a noun of a kind with its company, or a name."""
        draws = self.draws
        if kind in (PERSON, PLACE) and draws.chance(self.p_name):
            return Name(self.node(), self.name(), kind)
        home = self.topic if draws.chance(P_HOME_TOPIC) else -1
        return self.thing(self.lexicon.nouns[kind][home].draw(draws), depth, p_definite)

    def name(self) -> str:
        """Return a known name, or one made up on the spot."""
        draws = self.draws
        if not draws.chance(self.p_new_name):
            return self.lexicon.names.draw(draws)
        sounds = [draws.pick(part) for _ in range(2 + draws.below(3)) for part in NAME_SOUNDS]
        return "".join(sounds).capitalize()

    def thing(self, noun: Noun, depth: int, p_definite: float) -> Thing:
        """Draw what belongs to a noun."""
        draws = self.draws
        thing = Thing(self.node(), self.node(), noun, draws.chance(P_PLURAL), draws.chance(p_definite))
        if draws.chance(P_NUMBER):
            thing.number, thing.number_node, thing.plural = self.number(), self.node(), True
        while len(thing.adjectives) < 2 and self.likely(P_ADJECTIVE, depth + 2 * len(thing.adjectives)):
            if draws.chance(P_FAVOURITE):
                adjective = draws.pick(self.lexicon.favourite_adjectives[noun.name])
            else:
                adjective = self.lexicon.adjectives[noun.kind].draw(draws)
            thing.adjectives.append((self.node(), adjective))
        if self.likely(P_MODIFIER, 0):
            thing.modifier = (
                draws.pick(self.lexicon.favourite_modifiers[noun.name])
                if draws.chance(P_FAVOURITE)
                else self.lexicon.nouns[draws.below(N_CLASSES)][self.topic].draw(draws)
            )
        if depth < MOST_DEPTH:
            if self.likely(P_POSSESSOR, depth):
                kind = draws.pick((PERSON, PERSON, PLACE, ANIMAL))
                thing.possessor = self.single(kind, depth + 1, P_DEFINITE_SUBJECT)
            elif self.likely(P_RELATIVE, depth):
                thing.relative = self.relative(thing, depth + 1)
        return thing

    def number(self) -> str:
        """Return a numeral: mostly small, sometimes large."""
        draws = self.draws
        if draws.chance(0.65):
            return str(2 + int(18 * draws.unit() ** 2))
        return str(int(20 * 500 ** draws.unit()))

    def relative(self, thing: Thing, depth: int) -> Clause:
        """Draw a relative clause of which `thing` is the subject or the object."""
        draws = self.draws
        tense = TENSES.draw(draws)
        if draws.chance(0.55):
            verb = self.lexicon.verbs_of_subject[thing.kind].draw(draws)
            clause = self.clause(verb, tense, thing, depth)
            clause.gap = SUBJECT_GAP
            if verb.frame != ALONE:
                clause.object = self.object(verb, depth)
            return clause
        verb = self.lexicon.verbs_of_object[thing.kind].draw(draws)
        clause = self.clause(verb, tense, self.subject(verb, depth), depth)
        clause.object, clause.gap = thing, OBJECT_GAP
        return clause
