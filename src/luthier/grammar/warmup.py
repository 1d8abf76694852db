"""Small jobs that reach the kernels of this room, for `luthier.jobs.warm`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from luthier.corpus.texts import Texts
from luthier.grammar._trie_kernels import rehash
from luthier.grammar.extraction.extract import extract
from luthier.grammar.extraction.leave_one_out import extract_held_out
from luthier.grammar.extraction.options import Limits
from luthier.grammar.model import open_model, read_model, save_model
from luthier.grammar.reading import read_grammar
from luthier.grammar.storage import open_grammar, save_grammar
from luthier.grammar.writing import write_grammar

MOSES = "a [X][X] b [X] ||| c [X][X] [X] ||| 0.5 1 ||| 0-0 1-1 ||| 1 2\n"


def _rules() -> None:
    texts = ["a b c a b d", "b c a", "c c d"] * 300  # enough for the arrays to grow
    with tempfile.TemporaryDirectory() as name:
        links = Path(name, "links")
        links.write_text("0-0 1-1 2-2\n" * len(texts), encoding="utf-8")
        model, _ = read_model(texts, texts, links)
        save_model(model, Path(name, "model"))
        model = open_model(Path(name, "model"))
        extract(model, Texts.from_strings(texts), Limits(tight=False))
        grammar, _ = extract_held_out(model, Texts.from_strings(texts[:2]))
        save_grammar(grammar, Path(name, "grammar"))
        write_grammar(open_grammar(Path(name, "grammar")), Path(name, "text.gz"))
        read_grammar(Path(name, "text.gz")).trie.child(0, 1)
        Path(name, "moses").write_text(MOSES, encoding="utf-8")
        read_grammar(Path(name, "moses"))


def _growth() -> None:
    keys, nodes = np.full(8, -1, np.int64), np.full(8, -1, np.int32)
    rehash(keys, nodes, np.full(16, -1, np.int64), np.full(16, -1, np.int32))  # only long texts need it


JOBS = (_rules, _growth)
