"""One side of a sentence pair: words, and what each of them stands for."""

from __future__ import annotations

import dataclasses

# Of words that stand for nothing in the other language.
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
