"""Grammar of the source language: verb last, endings for case and person, no articles.

======================  =======================================================================
noun phrase             [relative clause] [possessor + GEN] [number] adjectives noun(+PL)(+case)
number                  after a numeral the noun stays singular
definiteness            not spoken, but a definite object has the accusative
compound                one word: first noun + link + second noun
main clause             subject, particle of the verb, adjuncts, recipient, object, adverb, verb
other clauses           the same, the particle joined to the verb
relative clause         before its noun, its verb a participle
adverbial clause        before the main clause, its conjunction last
pronouns                a subject pronoun is left to the verb's ending
======================  =======================================================================
"""

from __future__ import annotations

from luthier.corpus.pair_concepts import GOVERNED
from luthier.corpus.pair_draws import Draws
from luthier.corpus.pair_forms import (
    ACCUSATIVE,
    BARE,
    BUT_INDEX,
    CASE_LABELS,
    CASES,
    COMPOUND_LINKS,
    CONNECTIVES,
    COORDINATORS,
    DATIVE,
    GENITIVE,
    NEGATIVES,
    PARTICIPLES,
    PERSON_LABELS,
    PERSONS,
    PLURALS,
    POSTPOSITIONS,
    SOURCE_PRONOUNS,
    SOURCE_QUESTION,
    SOURCE_THAT,
    SOURCE_YEAR,
    SUBORDINATORS,
    TENSE_LABELS,
    TENSES,
    harmony,
)  # fmt: skip
from luthier.corpus.pair_meaning import (
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
)  # fmt: skip
from luthier.corpus.pair_side import NO_NODE, Side, SideWriter

P_OBJECT_EARLY, P_OBJECT_FIRST = 0.25, 0.3
# Names have no endings; small words stand for the case.
NAME_CASES = ("", "", "awo", "ko")


def speak_source(sentence: Sentence, draws: Draws) -> Side:
    """Return the sentence in the source language; `draws` decides what is free there."""
    speaker = _Source(draws)
    speaker.sentence(sentence)
    return speaker.out.finish()


class _Source:
    def __init__(self, draws: Draws) -> None:
        self.draws, self.out = draws, SideWriter()

    def sentence(self, sentence: Sentence) -> None:
        put = self.out.put
        if sentence.connective >= 0:
            put(CONNECTIVES[sentence.connective][0], sentence.connective_node, "moreover")
            put(",", NO_NODE, ",")
        if sentence.subordinate is not None:
            self.clause(sentence.subordinate, main=False)
            put(SUBORDINATORS[sentence.subordinator][0], sentence.subordinator_node, "conj")
            put(",", NO_NODE, ",")
        if sentence.year:
            put(sentence.year, sentence.time_node, sentence.year)
            put(SOURCE_YEAR, sentence.time_node, "year")
        elif sentence.time is not None:
            word = sentence.time.stems.draw(self.draws).text
            put(word, sentence.time_node, sentence.time.citation)
        for i, clause in enumerate(sentence.clauses):
            if i:
                self._join(*sentence.coordinators[i - 1])
            self.clause(clause, main=True)
        if sentence.mark == "?":
            put(SOURCE_QUESTION, NO_NODE, "Q")
        put(sentence.mark, sentence.mark_node, sentence.mark)

    def _join(self, node: int, coordinator: int) -> None:
        if coordinator < 0:
            self.out.put(";", node, ";")
            return
        if coordinator == BUT_INDEX:
            self.out.put(",", NO_NODE, ",")
        self.out.put(COORDINATORS[coordinator][0], node, ("and", "or", "but")[coordinator])

    def clause(self, clause: Clause, *, main: bool) -> None:
        """Write a clause, its verb last; the particle of a main clause stands in second place."""
        stem, out = clause.verb.stems.draw(self.draws), self.out
        parted = bool(stem.particle) and main
        for place, (phrase, case) in enumerate(self._parts(clause, main)):
            if isinstance(phrase, Adjunct):
                self.phrase(phrase.phrase, BARE)
                out.put(POSTPOSITIONS[phrase.relation], phrase.node, f"post{phrase.relation}")
            else:
                self.phrase(phrase, case)
            if parted and not place:
                out.put(stem.particle, clause.node, f"{clause.verb.citation}.PARTICLE")
                parted = False
        if clause.manner is not None:
            out.put(clause.manner.stems.draw(self.draws).text, clause.manner_node, clause.manner.citation)
        if clause.complement is not None:
            self.clause(clause.complement, main=False)
            out.put(SOURCE_THAT, clause.complement.link_node, "that")
        if parted:
            out.put(stem.particle, clause.node, f"{clause.verb.citation}.PARTICLE")
        if stem.partner:
            out.put(stem.partner, clause.node, f"{clause.verb.citation}.PARTNER")
        joined = "" if main else stem.particle
        self._verb(clause, joined + stem.text, stem.harmony)

    def _verb(self, clause: Clause, text: str, form: int) -> None:
        text += (NEGATIVES[form] if clause.negative else "") + TENSES[clause.tense][form]
        label = clause.verb.citation + (".NEG" if clause.negative else "") + TENSE_LABELS[clause.tense]
        if clause.gap is None:
            person = clause.subject.person
            self.out.put(text + PERSONS[person][form], clause.node, label + PERSON_LABELS[person])
        else:
            self.out.put(text + PARTICIPLES[form], clause.node, label + ".PART")

    def _parts(self, clause: Clause, main: bool) -> list[tuple[Phrase | Adjunct, int]]:
        """Return what stands before the verb, in order, with cases."""
        parts: list[tuple[Phrase | Adjunct, int]] = [(adjunct, BARE) for adjunct in clause.adjuncts]
        thing, subject, at = clause.object, clause.subject, None
        if clause.recipient is not None:
            parts.append((clause.recipient, DATIVE))
        if thing is not None and clause.gap != OBJECT_GAP:
            case = DATIVE if clause.verb.frame == GOVERNED else _object_case(thing)
            early = self.draws.chance(P_OBJECT_EARLY)
            if main and early and isinstance(thing, Thing) and case == ACCUSATIVE:
                at = 0 if self.draws.chance(P_OBJECT_FIRST) else None
            parts.insert(0 if early else len(parts), (thing, case))
        unspoken = isinstance(subject, Pronoun) and not subject.stressed
        if clause.gap != SUBJECT_GAP and not unspoken:
            parts.insert(0 if at is None else 1, (subject, BARE))
        return parts

    def phrase(self, phrase: Phrase, case: int) -> None:
        """Write a phrase in a case."""
        out = self.out
        if isinstance(phrase, Thing):
            self._thing(phrase, case)
        elif isinstance(phrase, Name):
            out.put(phrase.text, phrase.node, phrase.text)
            if NAME_CASES[case]:
                out.put(NAME_CASES[case], phrase.node, CASE_LABELS[case][1:])
        elif isinstance(phrase, Pronoun):
            word = SOURCE_PRONOUNS[phrase.person]
            label = PERSON_LABELS[phrase.person][1:] + CASE_LABELS[case]
            out.put(word + CASES[case][harmony(word)], phrase.node, label)
        elif isinstance(phrase, Group):
            for i, member in enumerate(phrase.members):
                if i and i < len(phrase.members) - 1:
                    out.put(",", NO_NODE, ",")
                elif i:
                    word = COORDINATORS[phrase.coordinator][0]
                    out.put(word, phrase.node, ("and", "or", "but")[phrase.coordinator])
                # A joined object is marked where each part of it is definite.
                self.phrase(member, _object_case(member) if case == ACCUSATIVE else case)

    def _thing(self, thing: Thing, case: int) -> None:
        out, draws = self.out, self.draws
        if thing.relative is not None:
            self.clause(thing.relative, main=False)
        if thing.possessor is not None:
            self.phrase(thing.possessor, GENITIVE)
        if thing.number:
            out.put(thing.number, thing.number_node, thing.number)
        for node, adjective in reversed(thing.adjectives):
            out.put(adjective.stems.draw(draws).text, node, adjective.citation)
        stem = thing.noun.stems.draw(draws)
        text, label, form = stem.text, thing.noun.citation, stem.harmony
        if thing.modifier is not None:
            first = thing.modifier.stems.draw(draws)
            text = first.text + COMPOUND_LINKS[first.harmony] + text
            label = f"{thing.modifier.citation}+{label}"
        if thing.plural and not thing.number:
            text, label = text + PLURALS[form], label + ".PL"
        out.put(text + CASES[case][form], thing.node, label + CASE_LABELS[case])


def _object_case(phrase: Phrase) -> int:
    """Return the case of an object: the accusative for what is definite."""
    if isinstance(phrase, Thing):
        return ACCUSATIVE if phrase.definite else BARE
    return ACCUSATIVE
