"""A trained system in a folder: rules, language model, weights, and the limits they were made for."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import content_hash, open_output, regular
from luthier.core.settings import parse_json
from luthier.corpus.texts import Texts
from luthier.decoding.chart.options import SearchOptions
from luthier.decoding.decoder import Decoder
from luthier.grammar.extraction.extract import extract
from luthier.grammar.extraction.options import Limits, feature_names
from luthier.grammar.grammar import Grammar
from luthier.grammar.model import FILE as RULES
from luthier.grammar.model import Model, open_model
from luthier.kbest.weights import Weights, read_weights
from luthier.lm.model import LanguageModel
from luthier.lm.storage import open_lm

FILE, KIND = "model.json", "luthier translation model 1"
LM, WEIGHTS = "lm.arpa.gz", "weights.json"


@dataclasses.dataclass(frozen=True)
class ModelSettings:
    """What a model's folder says of itself."""

    limits: Limits
    features: tuple[str, ...]
    search: SearchOptions

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
            return cls(Limits(**about["limits"]), features, SearchOptions(**about["search"]))
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
    """A trained system, open."""

    settings: ModelSettings
    rules: Model
    lms: tuple[LanguageModel, ...]
    weights: Weights

    @classmethod
    def open(cls, folder: str | os.PathLike[str], weights: str | None = None) -> TranslationModel:
        """Open a folder; `weights` names a file to use in place of its own."""
        home = Path(folder)
        settings = ModelSettings.read(home)
        found = read_weights(regular(home / WEIGHTS) if weights is None else weights)
        return cls(settings, open_model(home), (open_lm(regular(home / LM)),), found)

    def grammar(self, sentences: Texts, *, threads: int = 1) -> Grammar:
        """Return the rules for sentences."""
        return extract(self.rules, sentences, self.settings.limits, features=self.settings.features, threads=threads)

    def decoder(self, grammar: Grammar) -> Decoder:
        """Return a decoder with a grammar of this model."""
        return Decoder(grammar, self.lms, self.settings.search)

    def translate(self, sentences: Texts, *, threads: int = 1, weights: Mapping[str, float] | None = None) -> Texts:
        """Return the best translation of each sentence; rules are looked up for all of them at once."""
        decoder = self.decoder(self.grammar(sentences, threads=threads))
        return decoder.decode(sentences, weights or self.weights, derivations=False, threads=threads).texts


def model_identity(folder: str, texts: Sequence[str]) -> str:
    """Return a hash of a model's rules, language model and limits, and of texts."""
    state = hashlib.blake2b(digest_size=16)
    for path in (*(Path(folder, name) for name in (FILE, RULES, LM)), *map(Path, texts)):
        state.update(content_hash(path).encode())
    return state.hexdigest()
