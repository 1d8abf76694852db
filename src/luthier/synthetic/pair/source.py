"""Grammar of the source language: verbs in second place or last, postpositions, no articles.

======================  =======================================================================
noun phrase             [possessor + small word] [number or *one*] adjectives noun(+PL)(+ACC) [relative clause]
definiteness            a definite object has the accusative; an indefinite singular that is no object, *one*
compound                one word: first noun + link + second noun
relations               postpositions, each of several meanings
main clause             subject, adverb, finite verb, recipient, object, adjuncts, rest of the verb
rest of the verb        its separable particle; in the future, the infinitive
other clauses           subject, recipient, object, adjuncts, adverb, verb (particle joined)
relative clause         its verb is a participle
adverbial clause        before the main clause, its conjunction last
pronouns                a subject pronoun is left to the verb's ending
======================  =======================================================================
"""

from __future__ import annotations

from luthier.synthetic.pair.concepts import FUTURE, GOVERNED, OBJECT, Stem
from luthier.synthetic.pair.draws import Draws
from luthier.synthetic.pair.forms import (
    ACCUSATIVES,
    BARE,
    BUT_INDEX,
    CASE_LABELS,
    CASE_WORDS,
    COMPOUND_LINKS,
    CONNECTIVES,
    COORDINATORS,
    DATIVE,
    FUTURE_AUXILIARY,
    GENITIVE,
    INFINITIVES,
    OBJECT_CASE,
    PARTICIPLES,
    PERSON_LABELS,
    PERSONS,
    PLURALS,
    POSTPOSITIONS,
    SOURCE_NOT,
    SOURCE_ONE,
    SOURCE_PRONOUNS,
    SOURCE_QUESTION,
    SOURCE_THAT,
    SOURCE_WHICH,
    SOURCE_YEAR,
    SUBORDINATORS,
    TENSE_LABELS,
    TENSES,
    harmony,
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

P_OBJECT_FIRST = 0.08


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
            put(SOURCE_QUESTION, case_node(sentence.mark_node), "Q")
        put(sentence.mark, sentence.mark_node, sentence.mark)

    def _join(self, node: int, coordinator: int) -> None:
        if coordinator < 0:
            self.out.put(";", node, ";")
            return
        if coordinator == BUT_INDEX:
            self.out.put(",", NO_NODE, ",")
        self.out.put(COORDINATORS[coordinator][0], node, ("and", "or", "but")[coordinator])

    def clause(self, clause: Clause, *, main: bool) -> None:
        """Write a clause: in a main one the finite verb second, the rest of the verb last; else all of it last."""
        stem, out = clause.verb.stems.draw(self.draws), self.out
        parts = self._parts(clause, main)
        for place, (phrase, case) in enumerate(parts):
            if isinstance(phrase, Adjunct):
                self.phrase(phrase.phrase, BARE)
                out.put(POSTPOSITIONS[phrase.relation], phrase.node, f"post{phrase.relation}")
            else:
                self.phrase(phrase, case)
            if main and not place:
                self._finite(clause, stem)
        if main and not parts:
            self._finite(clause, stem)
        if stem.partner:
            out.put(stem.partner, clause.node, f"{clause.verb.citation}.PARTNER")
        if not main:
            self._finite(clause, stem, joined=True)
        elif clause.tense == FUTURE:
            infinitive = stem.particle + stem.text + INFINITIVES[stem.harmony]
            out.put(infinitive, clause.node, f"{clause.verb.citation}.INF")
        elif stem.particle:
            out.put(stem.particle, clause.node, f"{clause.verb.citation}.PARTICLE")
        if clause.complement is not None:
            out.put(",", NO_NODE, ",")
            out.put(SOURCE_THAT, clause.complement.link_node, "that")
            self.clause(clause.complement, main=False)

    def _finite(self, clause: Clause, stem: Stem, *, joined: bool = False) -> None:
        """Write the adverb and the verb with its endings, or the auxiliary of the future of a main clause."""
        if clause.manner is not None:
            self.out.put(clause.manner.stems.draw(self.draws).text, clause.manner_node, clause.manner.citation)
        if clause.negative:
            self.out.put(SOURCE_NOT, clause.not_node, "not")
        if clause.tense == FUTURE and not joined:
            text, form, label = FUTURE_AUXILIARY, harmony(FUTURE_AUXILIARY), "FUT"
        else:
            text, form = (stem.particle if joined else "") + stem.text, stem.harmony
            text, label = text + TENSES[clause.tense][form], clause.verb.citation + TENSE_LABELS[clause.tense]
        if clause.gap is None:
            person = clause.subject.person
            self.out.put(text + PERSONS[person][form], clause.node, label + PERSON_LABELS[person])
        else:
            self.out.put(text + PARTICIPLES[form], clause.node, label + ".PART")

    def _parts(self, clause: Clause, main: bool) -> list[tuple[Phrase | Adjunct, int]]:
        """Return what stands around the verb, in order, with cases."""
        others: list[tuple[Phrase | Adjunct, int]] = []
        subject, spoken = clause.subject, None if clause.gap == OBJECT_GAP else clause.object
        if clause.recipient is not None:
            others.append((clause.recipient, DATIVE))
        if spoken is not None:
            others.append((spoken, DATIVE if clause.verb.frame == GOVERNED else OBJECT_CASE))
        others += [(adjunct, BARE) for adjunct in clause.adjuncts]
        if clause.gap == SUBJECT_GAP or (isinstance(subject, Pronoun) and not subject.stressed):
            return others
        definite = isinstance(spoken, Thing) and spoken.definite
        fronted = main and definite and clause.verb.frame == OBJECT and self.draws.chance(P_OBJECT_FIRST)
        others.insert(1 if fronted else 0, (subject, BARE))
        return others

    def phrase(self, phrase: Phrase, case: int) -> None:
        """Write a phrase in a case, the small word of the case behind it."""
        self._phrase(phrase, case)
        if CASE_WORDS[case]:
            self.out.put(CASE_WORDS[case], case_node(phrase.node), CASE_LABELS[case])

    def _phrase(self, phrase: Phrase, case: int) -> None:
        out = self.out
        if isinstance(phrase, Thing):
            self._thing(phrase, case)
        elif isinstance(phrase, Name):
            out.put(phrase.text, phrase.node, phrase.text)
        elif isinstance(phrase, Pronoun):
            word, label = SOURCE_PRONOUNS[phrase.person], PERSON_LABELS[phrase.person][1:]
            if case == OBJECT_CASE:
                word, label = word + ACCUSATIVES[harmony(word)], label + CASE_LABELS[case]
            out.put(word, phrase.node, label)
        elif isinstance(phrase, Group):
            for i, member in enumerate(phrase.members):
                if i and i < len(phrase.members) - 1:
                    out.put(",", NO_NODE, ",")
                elif i:
                    word = COORDINATORS[phrase.coordinator][0]
                    out.put(word, phrase.node, ("and", "or", "but")[phrase.coordinator])
                self._phrase(member, case if case == OBJECT_CASE else BARE)

    def _thing(self, thing: Thing, case: int) -> None:
        out, draws = self.out, self.draws
        if thing.possessor is not None:
            self.phrase(thing.possessor, GENITIVE)
        if thing.number:
            out.put(thing.number, thing.number_node, thing.number)
        elif not (thing.definite or thing.plural or case == OBJECT_CASE):
            out.put(SOURCE_ONE, thing.article_node, "a")
        for node, adjective in reversed(thing.adjectives):
            out.put(adjective.stems.draw(draws).text, node, adjective.citation)
        stem = thing.noun.stems.draw(draws)
        text, label, form = stem.text, thing.noun.citation, stem.harmony
        if thing.modifier is not None:
            first = thing.modifier.stems.draw(draws)
            text = first.text + COMPOUND_LINKS[first.harmony] + text
            label = f"{thing.modifier.citation}+{label}"
        if thing.plural:
            text, label = text + PLURALS[form], label + ".PL"
        if thing.definite and case == OBJECT_CASE:
            text, label = text + ACCUSATIVES[form], label + CASE_LABELS[case]
        out.put(text, thing.node, label)
        if thing.relative is not None:
            out.put(SOURCE_WHICH, thing.relative.link_node, "which")
            self.clause(thing.relative, main=False)
