"""Grammar of the target language: verb second, articles, gender, and free choices among true translations.

======================  =======================================================================
noun phrase             article [number] adjectives noun [of noun] adjectives [of possessor] [relative clause]
articles                definite, indefinite (none in the plural); *of* and the definite one melt
agreement               article, adjectives and relative pronoun with the noun; verb with its subject
adjectives              behind the noun, some before it
main clause             subject [not] [auxiliary] verb [adverb] object [particle] adjuncts
recipient               behind the object with a preposition, or bare before it
relative clause         behind its noun, with a pronoun
adverbial clause        before the main clause or behind it, its conjunction first
pronouns                always spoken
======================  =======================================================================
"""

from __future__ import annotations

from luthier.synthetic.pair.concepts import FUTURE, PLURAL, SINGULAR, Word, draw_word
from luthier.synthetic.pair.draws import Draws
from luthier.synthetic.pair.forms import (
    AUXILIARIES,
    AUXILIARY_FORM,
    BUT_INDEX,
    BY_NAME,
    CONNECTIVES,
    COORDINATORS,
    DEFINITE,
    IN_YEAR,
    INDEFINITE,
    NOT,
    OBJECT_PRONOUNS,
    OF,
    OF_DEFINITE,
    QUESTION,
    RELATIONS,
    RELATIVES,
    SPARE_PREPOSITION,
    SUBJECT_PRONOUNS,
    SUBORDINATORS,
    THAT,
    TO,
    agreement,
)
from luthier.synthetic.pair.meaning import (
    NO_NODE,
    OBJECT_GAP,
    SUBJECT_GAP,
    Adjunct,
    Clause,
    Group,
    Name,
    Phrase,
    Pronoun,
    Sentence,
    Side,
    SideWriter,
    Thing,
    case_node,
)

# How likely the second of two ways of saying the same is taken.
P_CLAUSE_LAST, P_TIME_LAST, P_ADVERB_LAST, P_BARE_RECIPIENT, P_NAME_FIRST = 0.35, 0.4, 0.2, 0.35, 0.3
P_NO_THAT, P_OTHER_RELATIVE, P_OTHER_AUXILIARY = 0.12, 0.2, 0.2
# Preference for the first, second, third word of the same meaning among small words.
SMALL_WORD_SHARES = (0.65, 0.9, 1.0)
LONGEST_SHORT_OBJECT = 4
NUMBERS = ("SG", "PL")
SUBJECT, OTHER = range(2)


def speak_target(sentence: Sentence, draws: Draws) -> Side:
    """Return the sentence in the target language; `draws` decides what is free there."""
    speaker = _Target(draws)
    speaker.sentence(sentence)
    return speaker.out.finish()


class _Target:
    def __init__(self, draws: Draws) -> None:
        self.draws, self.out = draws, SideWriter()

    def _either(self, words: tuple[str, ...]) -> str:
        """Return one of several small words, the first most often."""
        level = self.draws.unit() * SMALL_WORD_SHARES[len(words) - 1]
        return next(word for word, up_to in zip(words, SMALL_WORD_SHARES, strict=False) if level < up_to)

    def sentence(self, sentence: Sentence) -> None:
        put, draws = self.out.put, self.draws
        if sentence.connective >= 0:
            put(self._either(CONNECTIVES[sentence.connective][1]), sentence.connective_node, "connective")
            put(",", NO_NODE, ",")
        late_clause = draws.chance(P_CLAUSE_LAST)
        late_time = draws.chance(P_TIME_LAST)
        if sentence.subordinate is not None and not late_clause:
            self._subordinate(sentence, sentence.subordinate)
            put(",", NO_NODE, ",")
        if sentence.mark == "?":
            put(QUESTION, case_node(sentence.mark_node), "Q")
        if not late_time:
            self._time(sentence)
        for i, clause in enumerate(sentence.clauses):
            if i:
                self._join(*sentence.coordinators[i - 1])
            self.clause(clause)
            if not i and late_time:
                self._time(sentence)
        if sentence.subordinate is not None and late_clause:
            self._subordinate(sentence, sentence.subordinate)
        put(sentence.mark, sentence.mark_node, sentence.mark)

    def _subordinate(self, sentence: Sentence, clause: Clause) -> None:
        word = self._either(SUBORDINATORS[sentence.subordinator][1])
        self.out.put(word, sentence.subordinator_node, f"conj{sentence.subordinator}")
        self.clause(clause)

    def _time(self, sentence: Sentence) -> None:
        if sentence.year:
            self.out.put(IN_YEAR, sentence.time_node, "year")
            self.out.put(sentence.year, sentence.time_node, "year")
        elif sentence.time is not None:
            word = draw_word(sentence.time, 0, self.draws)
            self.out.put(word.forms[0], sentence.time_node, sentence.time.name)

    def _join(self, node: int, coordinator: int) -> None:
        if coordinator < 0:
            self.out.put(";", node, ";")
            return
        if coordinator == BUT_INDEX:
            self.out.put(",", NO_NODE, ",")
        self.out.put(COORDINATORS[coordinator][1], node, "coordinator")

    def clause(self, clause: Clause) -> None:
        """Write a clause, its verb behind its subject."""
        out, draws = self.out, self.draws
        if clause.gap != SUBJECT_GAP:
            self.phrase(clause.subject, SUBJECT)
        verb = draw_word(clause.verb, clause.neighbour, draws)
        self._verb(clause, verb)
        place, late_adverb = len(out), draws.chance(P_ADVERB_LAST)
        if not late_adverb:
            self._manner(clause)
        self._objects(clause, verb)
        if verb.particle:
            short = len(out) - place <= LONGEST_SHORT_OBJECT
            out.insert(len(out) if short else place, verb.particle, clause.node, "particle")
        for adjunct in clause.adjuncts:
            self._adjunct(adjunct)
        if late_adverb:
            self._manner(clause)
        if clause.complement is not None:
            if not draws.chance(P_NO_THAT):
                out.put(THAT, clause.complement.link_node, "that")
            self.clause(clause.complement)

    def _verb(self, clause: Clause, verb: Word) -> None:
        out, number, head = self.out, int(clause.plural), clause.subject.node
        if clause.negative:
            out.put(NOT, clause.not_node, "not")
        form = 2 * clause.tense + number
        if clause.tense == FUTURE:
            auxiliary = AUXILIARIES[self.draws.chance(P_OTHER_AUXILIARY)][number]
            out.put(auxiliary, clause.node, f"AUX.{NUMBERS[number]}", head)
            out.put(verb.forms[AUXILIARY_FORM], clause.node, clause.verb.name)
        else:
            out.put(verb.forms[form], clause.node, f"{clause.verb.name}.{NUMBERS[number]}", head)

    def _manner(self, clause: Clause) -> None:
        if clause.manner is not None:
            word = draw_word(clause.manner, clause.neighbour, self.draws)
            self.out.put(word.forms[0], clause.manner_node, clause.manner.name)

    def _objects(self, clause: Clause, verb: Word) -> None:
        spoken = None if clause.gap == OBJECT_GAP else clause.object
        recipient = clause.recipient
        if recipient is not None and self.draws.chance(P_BARE_RECIPIENT):
            self.phrase(recipient, OTHER)
            recipient = None
        if spoken is not None:
            if verb.preposition:
                self.out.put(verb.preposition, case_node(spoken.node), "preposition")
            self.phrase(spoken, OTHER)
        if recipient is not None:
            self.out.put(TO, case_node(recipient.node), "preposition")
            self.phrase(recipient, OTHER)

    def _adjunct(self, adjunct: Adjunct) -> None:
        preposition = RELATIONS[adjunct.relation].get(adjunct.phrase.kind, SPARE_PREPOSITION)
        self.out.put(preposition, adjunct.node, "preposition")
        self.phrase(adjunct.phrase, OTHER)

    def phrase(self, phrase: Phrase, role: int, *, of: bool = False) -> None:
        """Write a phrase, with *of* before it where it is a possessor."""
        if isinstance(phrase, Thing):
            self._thing(phrase, role, of=of)
            return
        if of:
            self.out.put(OF, case_node(phrase.node), "of")
        if isinstance(phrase, Name):
            self.out.put(phrase.text, phrase.node, "name")
        elif isinstance(phrase, Pronoun):
            table = SUBJECT_PRONOUNS if role == SUBJECT else OBJECT_PRONOUNS
            self.out.put(table[phrase.person], phrase.node, f"pronoun.{NUMBERS[phrase.person > 2]}")
        elif isinstance(phrase, Group):
            for i, member in enumerate(phrase.members):
                if i and i < len(phrase.members) - 1:
                    self.out.put(",", NO_NODE, ",")
                elif i:
                    self.out.put(COORDINATORS[phrase.coordinator][1], phrase.node, "coordinator")
                self.phrase(member, role)

    def _thing(self, thing: Thing, role: int, *, of: bool) -> None:
        out, draws = self.out, self.draws
        noun = draw_word(thing.noun, role, draws)
        number = PLURAL if thing.plural else SINGULAR
        form = agreement(gender=noun.gender, number=number)
        features = f"{noun.gender}.{NUMBERS[number]}"
        owner = thing.possessor
        named_first = isinstance(owner, Name) and draws.chance(P_NAME_FIRST)
        self._opening(thing, form, features, of=of, named_first=named_first)
        adjectives = [(node, a, draw_word(a, thing.kind, draws)) for node, a in thing.adjectives]
        for node, adjective, word in adjectives:
            if word.before:
                out.put(word.forms[form], node, f"{adjective.name}.{features}", thing.node)
        out.put(noun.forms[number], thing.node, f"{thing.noun.name}.{features}")
        if thing.modifier is not None:
            out.put(OF, thing.node, "of")
            first = draw_word(thing.modifier, thing.kind, draws)
            out.put(first.forms[0], thing.node, thing.modifier.name)
        for node, adjective, word in adjectives:
            if not word.before:
                out.put(word.forms[form], node, f"{adjective.name}.{features}", thing.node)
        if owner is not None and not named_first:
            self.phrase(owner, OTHER, of=True)
        if thing.relative is not None:
            table = RELATIVES[draws.chance(P_OTHER_RELATIVE)]
            out.put(table[form], thing.relative.link_node, f"relative.{features}", thing.node)
            self.clause(thing.relative)

    def _opening(self, thing: Thing, form: int, features: str, *, of: bool, named_first: bool) -> None:
        """Write what stands before the adjectives: *of*, a possessor's name or an article, a numeral."""
        out = self.out
        melts = of and thing.definite and not named_first
        if of and not melts:
            out.put(OF, case_node(thing.node), "of")
        if named_first and isinstance(thing.possessor, Name):
            out.put(thing.possessor.text, thing.possessor.node, "name")
            out.put(BY_NAME, case_node(thing.possessor.node), "of")
        elif melts:
            out.put(OF_DEFINITE[form], case_node(thing.node), f"article.{features}", thing.node)
        elif thing.definite:
            out.put(DEFINITE[form], thing.article_node, f"article.{features}", thing.node)
        elif INDEFINITE[form] and not thing.number:
            out.put(INDEFINITE[form], thing.article_node, f"article.{features}", thing.node)
        if thing.number:
            out.put(thing.number, thing.number_node, "number")
