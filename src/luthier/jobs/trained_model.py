"""A trained system in a folder: rules, language model, weights, and the limits they were made for."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import content_hash, open_output, regular
from luthier.core.segments import segment_of_rows
from luthier.core.settings import parse_json
from luthier.corpus.raw_text import FILE as TEXT
from luthier.corpus.raw_text import TextForm
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner, tokenize
from luthier.decoding.chart.options import SearchOptions
from luthier.decoding.decoder import Decoder
from luthier.grammar.extraction.extract import extract
from luthier.grammar.extraction.options import Limits, feature_names
from luthier.grammar.grammar import Grammar
from luthier.grammar.model import FILE as RULES
from luthier.grammar.model import Model, open_model
from luthier.kbest.pool import Pool
from luthier.kbest.weights import Weights, read_weights
from luthier.lm.model import LanguageModel
from luthier.lm.storage import open_lm

FILE, KIND = "model.json", "luthier translation model 1"
LM, WEIGHTS = "lm.arpa.gz", "weights.json"


@dataclasses.dataclass(frozen=True)
class ModelSettings:
    """What a model's folder says of itself; `raw` is whether it takes ordinary text, as its `text.json` says."""

    limits: Limits
    features: tuple[str, ...]
    search: SearchOptions
    raw: bool = False

    def save(self, folder: Path) -> None:
        """Write it into the folder."""
        about = {"kind": KIND, **dataclasses.asdict(self)}
        with open_output(folder / FILE) as file:
            file.write((json.dumps(about, indent=1) + "\n").encode("utf-8"))

    @classmethod
    def read(cls, folder: Path) -> ModelSettings:
        """Read it again; raise `InputError` where there is none."""
        path = folder / FILE
        try:
            about: dict[str, Any] = parse_json(regular(path).read_bytes())
            if about.pop("kind") != KIND:
                raise ValueError("another kind of file")
            features = tuple(str(name) for name in about["features"])
            feature_names(features)
            search = SearchOptions(**about["search"])
            return cls(Limits(**about["limits"]), features, search, bool(about.get("raw", False)))
        except OSError as error:
            found = (error.strerror or str(error)).lower()
        except InputError as error:
            found = error.found
        except (ValueError, KeyError, TypeError, AttributeError, LuthierError) as error:
            found = f"something else ({error})"
        raise InputError(
            expected=f"a folder with a trained model ({FILE})",
            found=found,
            path=str(folder),
            hint="make it: luthier train CONFIG.toml",
        )


@dataclasses.dataclass(frozen=True, eq=False)
class TranslationModel:
    """A trained system, open; `text` is None where text is taken as it is."""

    settings: ModelSettings
    rules: Model
    lms: tuple[LanguageModel, ...]
    weights: Weights
    text: TextForm | None = None

    @classmethod
    def open(cls, folder: str | os.PathLike[str], weights: str | None = None) -> TranslationModel:
        """Open a folder; `weights` names a file to use in place of its own."""
        home = Path(folder)
        settings = ModelSettings.read(home)
        found = read_weights(regular(home / WEIGHTS) if weights is None else weights)
        text = TextForm.read(home) if settings.raw else None
        return cls(settings, open_model(home), (open_lm(regular(home / LM)),), found, text)

    def source_lines(self, lines: Texts) -> Texts:
        """Return lines to translate as the model sees them."""
        return lines if self.text is None else self.text.source_lines(lines)

    def target_lines(self, lines: Texts) -> Texts:
        """Return lines of the target language as the model sees them."""
        return lines if self.text is None else self.text.target_lines(lines)

    def restored(self, translations: Texts, lines: Texts) -> Texts:
        """Return the model's translations of lines as people write."""
        return translations if self.text is None else self.text.restored(translations, lines)

    def ordinary(self, pool: Pool, lines: Texts) -> Pool:
        """Return lists of the model's translations of lines as people write, without references."""
        if self.text is None:
            return pool
        texts = self.restored(pool.texts, lines.take(segment_of_rows(pool.offsets)))
        vocab = Interner()
        tokens = tokenize(texts, vocab)
        return dataclasses.replace(
            pool, texts=texts, tokens=tokens, vocab=vocab.texts(), sources=lines, references=None, stats={}
        )

    def grammar(self, sentences: Texts, *, threads: int = 1) -> Grammar:
        """Return the rules for sentences as the model sees them."""
        return extract(self.rules, sentences, self.settings.limits, features=self.settings.features, threads=threads)

    def decoder(self, grammar: Grammar) -> Decoder:
        """Return a decoder with a grammar of this model."""
        return Decoder(grammar, self.lms, self.settings.search)

    def translate(self, lines: Texts, *, threads: int = 1) -> Texts:
        """Return the best translation of each line; rules are looked up for all of them at once."""
        return self.restored(self.translated(lines, threads=threads), lines)

    def translated(self, lines: Texts, *, threads: int = 1) -> Texts:
        """Return the translations as the model made them, before they become ordinary text."""
        sentences = self.source_lines(lines)
        decoder = self.decoder(self.grammar(sentences, threads=threads))
        return decoder.decode(sentences, self.weights, derivations=False, threads=threads).texts


def model_identity(folder: str, texts: Sequence[str]) -> str:
    """Return a hash of a model's rules, language model, limits and treatment of text, and of texts."""
    state = hashlib.blake2b(digest_size=16)
    names = (FILE, RULES, LM, *([TEXT] if ModelSettings.read(Path(folder)).raw else []))
    for path in (*(Path(folder, name) for name in names), *map(Path, texts)):
        state.update(content_hash(path).encode())
    return state.hexdigest()
