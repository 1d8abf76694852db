"""Sounds, endings and small words of the two synthetic languages: the tables of both grammars.

The small words and the endings are the same for every seed, the other words are not.
"""

from __future__ import annotations

from luthier.synthetic.pair.concepts import (
    ANIMAL,
    EVENT,
    FOOD,
    IDEA,
    MATTER,
    PERSON,
    PLACE,
    TOOL,
)  # fmt: skip
from luthier.synthetic.words import Sounds

SOURCE_SOUNDS: Sounds = (
    [*"hhjjkkkwqxyzttt", "ts", "kh", "sh", "th"],
    [*"aaaoouuueeeiiüö", "ei"],
    [*[""] * 7, "k", "m", "sh", "n"],
)
TARGET_SOUNDS: Sounds = (
    [*"bbddfgllmmnnpprrsstv", "br", "tr", "st", "pl", "fl"],
    [*"aaaeeeiiooouu", "ai", "ou"],
    [*[""] * 6, "n", "r", "s", "l"],
)
NAME_SOUNDS: Sounds = ([*"bdfgklmnprstvz", "ch", "dr"], [*"aeiou"], ["", "", "n", "r", "l", "ss"])
FRONT_VOWELS = frozenset("eiöü")

# ---- the source language: endings come in two forms, for stems of harmony 0 and 1 -------------------
PLURALS = ("ol", "el")
# No case, object, recipient, possessor: a definite object is told by an ending, the last two by a small
# word behind.
BARE, OBJECT_CASE, DATIVE, GENITIVE = range(4)
ACCUSATIVES = ("ya", "ye")
CASE_WORDS = ("", "", "mim", "ko")
CASE_LABELS = ("", ".ACC", "DAT", "GEN")
SOURCE_NOT = "mat"
# Before an indefinite singular that is no object; an indefinite object is told by having no accusative.
SOURCE_ONE = "hin"
TENSES = (("", ""), ("ta", "te"), ("zu", "zi"))
TENSE_LABELS = (".PRES", ".PAST", ".FUT")
# First, second, third person singular, then plural.
PERSONS = (("n", "n"), ("sh", "sh"), ("", ""), ("nak", "nek"), ("shak", "shek"), ("rak", "rek"))
PERSON_LABELS = (".1SG", ".2SG", ".3SG", ".1PL", ".2PL", ".3PL")
INFINITIVES = ("un", "ün")
FUTURE_AUXILIARY = "weza"
PARTICIPLES = ("dho", "dhe")
COMPOUND_LINKS = ("u", "ü")
SOURCE_PRONOUNS = ("wan", "shei", "hö", "wannol", "sheiyel", "höyel")
SOURCE_PARTICLES = ("an", "ob", "ur", "es", "it", "om", "ul", "ek")
POSTPOSITIONS = ("sutta", "khem", "awo", "tsil", "jorr", "dhei", "maku", "xen")
SOURCE_THAT, SOURCE_WHICH, SOURCE_YEAR, SOURCE_QUESTION = "qe", "yoq", "hatt", "hönu"
SOURCE_AND, SOURCE_OR, SOURCE_BUT = "ja", "wo", "tem"

# ---- the target language: gender 0 or 1, singular or plural, as 2·gender + number -------------------
DEFINITE = ("dan", "dar", "fen", "fer")
INDEFINITE = ("mo", "", "mi", "")
OF = "di"
OF_DEFINITE = ("dil", "dirr", "dif", "differ")
ADJECTIVE_ENDINGS = ("o", "or", "e", "er")
RELATIVES = (("kel", "ker", "kef", "kerf"), ("alun", "alur", "alen", "aler"))
# Endings by 2·tense + number, and the form behind an auxiliary.
VERB_ENDINGS = ("is", "in", "av", "aven", "u")
AUXILIARY_FORM = 4
AUXILIARIES = (("sa", "san"), ("vel", "velan"))
SUBJECT_PRONOUNS = ("em", "tes", "ol", "nem", "vem", "olen")
OBJECT_PRONOUNS = ("emi", "tesi", "oli", "nemi", "vemi", "oleni")
TARGET_PARTICLES = ("af", "tor", "ris", "pon", "vek", "lum")
GOVERNED_PREPOSITIONS = ("ud", "kontel", "vo", "ota", "prin")
NOT, THAT, TO, BY_NAME, QUESTION, IN_YEAR = "nu", "ke", "ota", "se", "ar", "eb"
AND, OR, BUT = "i", "oru", "bel"

# ---- relations: a postposition is one word, its translation hangs on the kind of the noun ------------
RELATIONS: tuple[dict[int, str], ...] = (
    {PLACE: "eb", EVENT: "dul", IDEA: "sulo"},
    {TOOL: "pur", PERSON: "kom", MATTER: "esk"},
    {PLACE: "vash", PERSON: "ota", EVENT: "tilo"},
    {PLACE: "frel", MATTER: "esk", PERSON: "avu"},
    {IDEA: "prin", EVENT: "prin", PERSON: "temu"},
    {TOOL: "sorb", PLACE: "apo", FOOD: "sorb"},
    {FOOD: "sil", PERSON: "sil", ANIMAL: "trul"},
    {PLACE: "trul", EVENT: "poth", MATTER: "sulo"},
)
SPARE_PREPOSITION = "prin"

# ---- words that join clauses: source word, target words with the preferred one first -----------------
# The first two share their source word: the one in the future, the other elsewhere.
IF, WHEN = 0, 1
SUBORDINATORS = (
    ("xotte", ("selb", "kasu")),
    ("xotte", ("wen", "dumel")),
    ("hajem", ("pruke", "sindo")),
    ("thuka", ("malgo", "brenke", "totun")),
    ("yeitsa", ("anteb",)),
    ("woshu", ("posk", "aprul")),
)
CONNECTIVES = (
    ("temhe", ("entu", "masul")),
    ("kwoja", ("tamo", "altur")),
    ("qehaj", ("dulke", "alom", "pertu")),
    ("jarru", ("olbe", "plun")),
)
COORDINATORS = ((SOURCE_AND, AND), (SOURCE_OR, OR), (SOURCE_BUT, BUT))
AND_INDEX, OR_INDEX, BUT_INDEX = range(3)

SOURCE_TAKEN = frozenset((
    *SOURCE_PRONOUNS, *SOURCE_PARTICLES, *POSTPOSITIONS, SOURCE_THAT, SOURCE_WHICH, SOURCE_YEAR,
    SOURCE_QUESTION, FUTURE_AUXILIARY, SOURCE_NOT, SOURCE_ONE, *CASE_WORDS, SOURCE_AND, SOURCE_OR, SOURCE_BUT,
    *(row[0] for row in SUBORDINATORS + CONNECTIVES),
))  # fmt: skip
TARGET_TAKEN = frozenset((
    *DEFINITE, *INDEFINITE, OF, *OF_DEFINITE, *SUBJECT_PRONOUNS, *OBJECT_PRONOUNS, *TARGET_PARTICLES,
    *GOVERNED_PREPOSITIONS, NOT, THAT, TO, BY_NAME, QUESTION, IN_YEAR, AND, OR, BUT, SPARE_PREPOSITION,
    *(word for row in RELATIVES + AUXILIARIES for word in row),
    *(word for row in RELATIONS for word in row.values()),
    *(word for row in SUBORDINATORS + CONNECTIVES for word in row[1]),
))  # fmt: skip


def harmony(text: str) -> int:
    """Return which form of an ending a source stem takes: 1 when its last vowel is e, i, ö or ü.

    >>> harmony("kashe"), harmony("xirru")
    (1, 0)
    """
    for letter in reversed(text):
        if letter in FRONT_VOWELS:
            return 1
        if letter in "aou":
            return 0
    return 0


def noun_forms(stem: str) -> tuple[str, ...]:
    """Return singular and plural of a target noun."""
    return stem, stem + ("s" if stem[-1] in "aeiou" else "es")


def adjective_forms(stem: str) -> tuple[str, ...]:
    """Return the forms of a target adjective by 2·gender + number."""
    return tuple(stem + ending for ending in ADJECTIVE_ENDINGS)


def verb_forms(stem: str) -> tuple[str, ...]:
    """Return the forms of a target verb by 2·tense + number, then the one behind an auxiliary."""
    return tuple(stem + ending for ending in VERB_ENDINGS)


def agreement(*, gender: int, number: int) -> int:
    """Return the place of a gender and a number in the tables.

    >>> DEFINITE[agreement(gender=1, number=1)], DEFINITE[agreement(gender=0, number=0)]
    ('fer', 'dan')
    """
    return 2 * gender + number
