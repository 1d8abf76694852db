"""Points that are decoded: at each a whole tuning loop with bins, and held-out sentences translated by its answer."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import time
from pathlib import Path

from luthier.core.errors import unwarned
from luthier.core.files.io import content_hash
from luthier.core.files.journal import Record
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts
from luthier.decoding.decoder import Decoder
from luthier.features.bins import Bins
from luthier.features.fit_bins import bins_of_grammar
from luthier.grammar.grammar import Grammar
from luthier.jobs.loop import OwnDecoder
from luthier.jobs.loop_config import Sentences
from luthier.jobs.score import read_parallel
from luthier.jobs.sweep_config import Decoding, Point, Sweep
from luthier.jobs.trained_model import TranslationModel, model_identity
from luthier.kbest.weights import Weights, read_weights
from luthier.metrics.batch import Batch
from luthier.tuning.loops.folder import LISTS
from luthier.tuning.loops.loop import LoopPlace, tune_loop

LOOPS = "loops"


class DecodedPoints:
    """A trained system, and the loops of points in ``loops`` of the choice's folder."""

    def __init__(self, choosing: Sweep, folder: Path) -> None:
        assert choosing.decoding is not None
        self.choosing, self.folder, self._decoding = choosing, folder, choosing.decoding
        parts = [self._decoding.tune, self._decoding.heldout]
        texts = [path for part in parts for path in (part.source, *part.refs)]
        self.digests = model_identity(str(self._decoding.model), texts), self._own_settings()

    def _own_settings(self) -> str:
        decoding: Decoding = self._decoding
        said = json.dumps([decoding.k, decoding.features, repr(decoding.options)])
        return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()

    @functools.cached_property
    def model(self) -> TranslationModel:
        """The system, with its own weights."""
        return TranslationModel.open(self._decoding.model)

    @functools.cached_property
    def start(self) -> Weights:
        """The weights of the first turn; a bin has none before it is tuned."""
        return self.model.weights if self.choosing.start is None else read_weights(self.choosing.start)

    def identity(self, point: Point) -> Record:
        """Return what a point is, in full."""
        start = self.choosing.start
        named = "the system's" if start is None else content_hash(start)
        return self.choosing.identity(point, named, self.digests)

    def sentences(self, part: Sentences) -> tuple[Texts, tuple[Texts, ...], Grammar]:
        """Return sentences, references, and the rules for them with the features that are used."""
        lines = read_lines(part.source)
        sentences = self.model.source_lines(lines)
        grammar = self.model.grammar(sentences)
        if self._decoding.features is not None:
            grammar = grammar.select_features(self._decoding.features)
        refs = tuple(self.model.target_lines(column) for column in read_parallel(part.refs, lines, part.source))
        return sentences, refs, grammar

    @functools.cached_property
    def _parts(self) -> tuple[tuple[Texts, tuple[Texts, ...], Grammar], ...]:
        return self.sentences(self._decoding.tune), self.sentences(self._decoding.heldout)

    def bins(self, point: Point) -> Bins:
        """Return the bins of a point, of the rules for the tuning sentences."""
        with unwarned():  # of features with few values, at every point
            return bins_of_grammar(self._parts[0][2], self.choosing.bins["features"], self.choosing.bin_options(point))

    def place(self, point: Point) -> Path:
        """Return the folder of a point's loop."""
        said = json.dumps(self.identity(point), sort_keys=True).encode()
        return self.folder / LOOPS / hashlib.blake2b(said, digest_size=8).hexdigest()

    def answer(self, point: Point) -> tuple[Weights, Bins]:
        """Return the weights and the bins of a point that was tried."""
        return read_weights(self.place(point) / "weights.json"), self.bins(point)

    def tried(self, point: Point) -> Record:
        """Run the loop of a point, or resume it, translate the held-out sentences, and return its line."""
        clock = time.process_time()
        choosing, decoding, bins = self.choosing, self._decoding, self.bins(point)
        (sentences, references, grammar), (others, answers, rules) = self._parts
        search = self.model.settings.search
        decode = OwnDecoder(Decoder(grammar, self.model.lms, search, bins=bins), sentences, references, decoding.k)
        result = tune_loop(
            decode,
            self.start,
            choosing.tuner(point),
            choosing.metric,
            decoding.options,
            place=LoopPlace(str(self.place(point)), resume=True, decoder=" ".join(self.digests)),
        )
        heldout = Decoder(rules, self.model.lms, search, bins=bins).decode(others, result.weights, derivations=False)
        stats = choosing.metric.stats(Batch.from_lines(heldout.texts, answers))
        score = choosing.metric.score(stats.sum(axis=0))
        return {
            **self.identity(point),
            "features": len(decode.decoder.feature_names),
            "tuned": result.iterations[-1].after,
            "heldout": float(score),
            "gain": float(choosing.metric.gain(score)),
            "cpu_seconds": round(time.process_time() - clock, 3),
            "note": result.ended,
            "record": {},
        }

    def after(self, point: Point) -> None:
        """Remove the lists of a loop once its line is kept: they are large."""
        shutil.rmtree(self.place(point) / LISTS, ignore_errors=True)
