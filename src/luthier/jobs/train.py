"""Training: ``luthier.train``, parallel text → links → language model → rules → loop → evaluation, into a folder."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from luthier import __version__
from luthier.core.errors import InputError
from luthier.core.files.io import content_hash, make_folder, open_output, regular, write_lines
from luthier.core.files.written import secondary
from luthier.core.params import DEFAULT_SEED, checked, path_of
from luthier.core.progress import notice
from luthier.core.rng import child_rng
from luthier.core.settings import parse_json
from luthier.core.tasks import Threads
from luthier.corpus.lines import read_lines
from luthier.corpus.raw_text import FILE as TEXT
from luthier.corpus.raw_text import TextForm
from luthier.corpus.texts import Texts
from luthier.evaluation.comparison import Comparison, Settings, compare
from luthier.grammar.model import FILE as RULES
from luthier.grammar.model import open_model, read_model, save_model
from luthier.grammar.storage import open_grammar, save_grammar
from luthier.jobs.align import align
from luthier.jobs.compare import systems_from_files
from luthier.jobs.lm import estimate_lm
from luthier.jobs.loop import ForestDecoder, OwnDecoder, show_loop
from luthier.jobs.loop_config import Sentences
from luthier.jobs.opening import AnyPath, cores
from luthier.jobs.run_file import about_loop, loop_run
from luthier.jobs.score import read_parallel
from luthier.jobs.train_config import TrainConfig, read_train_config
from luthier.jobs.train_text import PREPARED, copies, for_text, make_copies, published_signature, say_if_raw
from luthier.jobs.trained_model import LM, WEIGHTS, ModelSettings, TranslationModel
from luthier.kbest.weights import Weights, read_weights, write_weights
from luthier.lm.storage import open_lm
from luthier.metrics.base import Metric
from luthier.report.tables.training import Sample, Trained
from luthier.tuning.loops.folder import read_result, recorded_decoder
from luthier.tuning.loops.loop import LoopPlace, tune_loop
from luthier.tuning.loops.report import LoopResult
from luthier.tuning.options import LoopOptions

# Steps of a long job that are left out where nothing has changed: inputs, settings and outputs are hashed.

FILE = "steps.json"


@dataclasses.dataclass(frozen=True)
class Step:
    """What became of a step: left out, or done in so many seconds."""

    name: str
    skipped: bool
    seconds: float


class Steps:
    """The steps of a job in a folder; what was done is written there as it is done."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.done = folder, list[Step]()
        self._path = folder / FILE
        self._kept = _read(self._path)

    def key(self, inputs: Sequence[str | Path], about: Any) -> str:
        """Return a hash of the contents of files and of settings (`about`): what a step's result depends on."""
        state = hashlib.blake2b(digest_size=16)
        state.update(json.dumps([__version__, about], sort_keys=True, default=repr).encode())
        for path in inputs:
            state.update(content_hash(path).encode())
        return state.hexdigest()

    def run(self, name: str, key: str, outputs: Sequence[str], work: Callable[[], Any]) -> None:
        """Do a step, unless it was done with the same key and its outputs are as it left them.

        `outputs` are names of files in the folder.
        """
        begin = time.perf_counter()
        kept = self._kept.get(name, {})
        skipped = kept.get("key") == key and all(self._same(kept, output) for output in outputs)
        if skipped:
            notice(f"{name}: nothing has changed")
        else:
            notice(f"{name} …")
            work()
            self._kept[name] = {"key": key, "outputs": {name: content_hash(self.folder / name) for name in outputs}}
            with secondary(self._path), open_output(self._path) as file:
                file.write((json.dumps(self._kept, indent=1) + "\n").encode("utf-8"))
        self.done.append(Step(name, skipped, round(time.perf_counter() - begin, 3)))

    def _same(self, kept: dict[str, Any], output: str) -> bool:
        path = self.folder / output
        return path.is_file() and kept.get("outputs", {}).get(output) == content_hash(path)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Return what was done; nothing where the file is not what we write, and all is done again."""
    try:
        found = parse_json(regular(path).read_bytes()) if path.exists() else {}
        if isinstance(found, dict) and all(isinstance(found[name]["outputs"], dict) for name in found):
            return found
    except (ValueError, TypeError, KeyError, OSError, InputError):
        pass
    notice(f"{path}: damaged; all steps are done again")
    return {}


LINKS, START = "links.gz", "start.json"
UNTUNED, TUNED = "untuned", "tuned"
PERTURBATION = 0.2  # of each weight of a replica's start
SAMPLES = 5


@checked
def train(
    config: AnyPath,
    output: AnyPath | None = None,
    *,
    data: AnyPath | None = None,
    seed: int = DEFAULT_SEED,
    threads: int | None = None,
) -> Trained:
    """Train a translation system as a settings file says: alignment, language model, rules, tuning, evaluation.

    Parameters
    ----------
    config
        The system's settings, a TOML file (docs/tutorial.md).
    output
        The model's folder (default: beside the settings); what was made there from the same inputs is not made again.
    data
        Where relative paths start (default: beside the settings).
    """
    n_threads = cores(threads)
    settings = read_train_config(config, data=None if data is None else path_of(data), seed=seed, threads=n_threads)
    folder = path_of(output) if output else f"{Path(config).with_suffix('')}-model"
    return train_system(settings, folder, threads=n_threads)


def train_system(config: TrainConfig, folder: str, *, threads: int) -> Trained:
    """Train a system into a folder; what was made there before from the same inputs is not made again."""
    job = Training(config, make_folder(folder), threads)
    job.prepare()
    job.align()
    job.estimate()
    job.index()
    given = job.config.parts
    for name, part in given.items():
        job.extract(name, part)
    loops = job.tune()
    judged = {name: part for name, part in given.items() if name != "heldout"}
    for name, part in judged.items():
        job.translate(name, part)
    comparisons = {title: found for name in judged for title, found in job.compare(name).items()}
    shown = "test" if "test" in judged else "tune"
    return Trained(
        folder,
        tuple((s.name, s.skipped, s.seconds) for s in job.steps.done),
        tuple(loops),
        comparisons,
        tuple(job.samples(shown)),
        published_signature(for_text(config.settings.metric), len(judged[shown].refs)) if config.text else "",
    )


class Training:
    """One training under way; `given` is what its file says, `config` the same with text as the model sees it."""

    def __init__(self, config: TrainConfig, home: Path, threads: int) -> None:
        self.given = self.config = config
        self.home, self.threads = home, threads
        self.steps = Steps(home)

    @property
    def settings(self) -> ModelSettings:
        """What the model's folder says of itself."""
        c = self.config
        return ModelSettings(c.limits, c.features, c.search, raw=c.text is not None)

    def prepare(self) -> None:
        """Bring ordinary text into the form that all later steps see."""
        if self.given.text is None:
            say_if_raw(self.given)
            return
        self.config, wanted = copies(self.given, self.home)
        key = self.steps.key([copy.path for copy in wanted], dataclasses.asdict(self.given.text))
        names = [TEXT, *(copy.name for copy in wanted)]
        self.steps.run("text", key, names, lambda: make_copies(self.given, wanted, self.home))

    def path(self, name: str) -> Path:
        """Return where a file of the folder stands."""
        return self.home / name

    def align(self) -> None:
        """Align the words of the parallel text."""
        c = self.config
        key = self.steps.key([c.source, c.target], [c.aligner.spec, c.symmetrize, c.max_words])

        def work() -> None:
            align(
                c.source,
                c.target,
                c.aligner,
                symmetrize=c.symmetrize,
                output=self.path(LINKS),
                max_words=c.max_words,
                threads=self.threads,
            )

        self.steps.run("word alignment", key, [LINKS], work)

    def estimate(self) -> None:
        """Estimate the language model."""
        c = self.config
        key = self.steps.key([c.lm_text], dataclasses.asdict(c.lm))
        lm = dataclasses.asdict(c.lm)
        self.steps.run("language model", key, [LM], lambda: estimate_lm(c.lm_text, output=self.path(LM), **lm))

    def index(self) -> None:
        """Index the rules of the parallel text."""
        c = self.config
        key = self.steps.key([c.source, c.target, self.path(LINKS)], [c.limits.max_symbols, c.max_words])

        def work() -> None:
            depth = c.limits.max_symbols
            model, _ = read_model(c.source, c.target, self.path(LINKS), depth=depth, max_words=c.max_words)
            save_model(model, self.home)

        self.steps.run("index of rules", key, [RULES], work)
        self.settings.save(self.home)

    def extract(self, name: str, part: Sentences) -> None:
        """Extract the rules for a part."""
        c, output = self.config, f"{name}.grammar"
        key = self.steps.key([part.source, self.path(RULES)], [dataclasses.asdict(c.limits), c.features])

        def work() -> None:
            model = TranslationModel(self.settings, open_model(self.home), (), Weights({}))
            save_grammar(model.grammar(read_lines(part.source), threads=self.threads), self.path(output))

        self.steps.run(f"rules for {name}", key, [output], work)

    def decoder(self, name: str, part: Sentences, k: int) -> OwnDecoder:
        """Return the decoder of a part, as a loop sees it."""
        c = self.config
        model = TranslationModel(self.settings, open_model(self.home), (open_lm(self.path(LM)),), Weights({}))
        sentences = read_lines(part.source)
        references = tuple(read_parallel(part.refs, sentences, part.source))
        decoder = model.decoder(open_grammar(self.path(f"{name}.grammar")))
        return OwnDecoder(decoder, sentences, references, k, c.unique, self.threads)

    def tune(self) -> list[LoopResult]:
        """Run the loops of all replicas; the first one's weights are the model's."""
        c, settings = self.config, self.config.settings
        sets = [part for part in (c.tune, c.heldout) if part is not None]
        files = [self.path(f"{name}.grammar") for name in ("tune", "heldout")[: len(sets)]]
        options = dataclasses.replace(settings.options, threads=1)
        about = [
            settings.tuner.spec,
            settings.metric.signature,
            dataclasses.asdict(options),
            dict(settings.bounds),
            None if c.start is None else dict(c.start),
            c.k,
            c.unique,
            dataclasses.asdict(c.search),
            c.replicas,
            *(["forests"] if c.forests else []),
        ]
        key = self.steps.key([*files, self.path(LM), *(ref for part in sets for ref in part.refs)], about)
        weights = [WEIGHTS, START, *(self.weights_of(r) for r in range(c.replicas) if c.replicas > 1)]
        found: list[LoopResult] = []
        self.steps.run("tuning loop", key, weights, lambda: found.extend(self._loops(key)))
        return found or [
            read_result(self.loop_of(r), settings.tuner.spec, settings.metric, self.options_of(r))
            for r in range(c.replicas)
        ]

    def weights_of(self, replica: int) -> str:
        """Return the file of a replica's weights."""
        return WEIGHTS if self.config.replicas == 1 else f"weights.{replica + 1}.json"

    def loop_of(self, replica: int) -> Path:
        """Return the folder of a replica's loop."""
        return self.path("loop" if self.config.replicas == 1 else f"loop.{replica + 1}")

    def options_of(self, replica: int) -> LoopOptions:
        """Return the options of a replica's loop: each has a seed of its own."""
        options = self.config.settings.options
        return dataclasses.replace(options, seed=options.seed + 1000 * replica)

    def start_of(self, replica: int, start: Mapping[str, float]) -> dict[str, float]:
        """Return where a replica's loop starts: each but the first elsewhere, where the tuner draws nothing."""
        settings, options = self.config.settings, self.options_of(replica)
        if not replica or settings.tuner.is_random or options.restarts:
            return dict(start)
        noise = PERTURBATION * child_rng(options.seed, 0).standard_normal(len(start))
        return {name: value * (1.0 + z) for (name, value), z in zip(start.items(), noise.tolist(), strict=True)}

    def _loops(self, key: str) -> list[LoopResult]:
        c, settings = self.config, self.config.settings
        decode = self.decoder("tune", c.tune, c.k)
        heldout = None if c.heldout is None else self.decoder("heldout", c.heldout, 1)
        start = c.start or decode.decoder.default_weights()
        found = []
        for replica in range(c.replicas):
            folder = self.loop_of(replica)
            if (folder / "iterations.jsonl").exists() and recorded_decoder(str(folder)) != key:
                notice(f"{folder}: a loop with other inputs or settings; it is begun anew")
                shutil.rmtree(folder)
            options = self.options_of(replica)
            with loop_run(folder, "train", settings.metric, settings.tuner.spec, options.seed) as run:
                result = tune_loop(
                    ForestDecoder(decode, folder) if c.forests else decode,
                    self.start_of(replica, start),
                    settings.tuner,
                    settings.metric,
                    options,
                    heldout=heldout,
                    bounds=settings.bounds,
                    place=LoopPlace(str(folder), resume=True, decoder=key, begun=run.begin),
                )
                run.finish(**about_loop(result))
            write_weights(result.weights, self.path(self.weights_of(replica)))
            show_loop(result, folder)
            found.append(result)
        write_weights(start, self.path(START))
        write_weights(found[0].weights, self.path(WEIGHTS))
        return found

    def translations(self, name: str) -> Mapping[str, Sequence[str]]:
        """Return where the translations of a part stand: untuned, and of each replica."""
        tuned = [f"{name}.{TUNED}.{r + 1}.txt" for r in range(self.config.replicas)]
        return {UNTUNED: [f"{name}.{UNTUNED}.txt"], TUNED: tuned}

    def translate(self, name: str, part: Sentences) -> None:
        """Translate a part with the weights of the start and of all replicas."""
        c, places = self.config, self.translations(name)
        weights = [START, *(self.weights_of(r) for r in range(c.replicas))]
        outputs = [path for paths in places.values() for path in paths]
        in_words = [f"{PREPARED}/{path}" for path in outputs] if c.text else outputs
        inputs = [self.path(item) for item in (f"{name}.grammar", LM, *weights, *([TEXT] if c.text else []))]

        def work() -> None:
            decoder = self.decoder(name, part, 1)
            for vector, output, plain in zip(weights, in_words, outputs, strict=True):
                found = decoder.decoder.decode(
                    decoder.sentences, read_weights(self.path(vector)), derivations=False, threads=self.threads
                )
                write_lines(self.path(output), found.texts)
                if c.text:
                    lines = read_lines(self.given.parts[name].source)
                    write_lines(self.path(plain), TextForm.read(self.home).restored(found.texts, lines))

        key = self.steps.key([*inputs, part.source], dataclasses.asdict(c.search))
        self.steps.run(f"translation of {name}", key, list(dict.fromkeys([*outputs, *in_words])), work)

    def compare(self, name: str) -> dict[str, Comparison]:
        """Compare the translations of a part, by title: as people read them and, of ordinary text, as tuned too."""
        metric, files = self.config.settings.metric, self.translations(name)
        found = {name: self._compared(files, self.given.parts[name], for_text(metric) if self.config.text else metric)}
        if self.config.text:
            in_words = {system: [f"{PREPARED}/{path}" for path in paths] for system, paths in files.items()}
            found[f"{name}, tokenised"] = self._compared(in_words, self.config.parts[name], metric)
        return found

    def _compared(self, files: Mapping[str, Sequence[str]], part: Sentences, metric: Metric) -> Comparison:
        paths = {system: [str(self.path(path)) for path in names] for system, names in files.items()}
        systems, _ = systems_from_files(paths, part.refs, {metric.name: metric})
        return compare(systems, {metric.name: metric}, Settings(seed=0), engine=Threads(self.threads))

    def samples(self, name: str) -> list[Sample]:
        """Return some sentences that tuning has changed, from first to last."""
        places, part = self.translations(name), self.given.parts[name]
        columns: list[Texts] = [read_lines(part.source), read_lines(part.refs[0])]
        columns += [read_lines(self.path(places[system][0])) for system in (UNTUNED, TUNED)]
        changed = [i for i in range(len(columns[0])) if columns[2][i] != columns[3][i]]
        chosen = [changed[j * len(changed) // SAMPLES] for j in range(SAMPLES)] if len(changed) >= SAMPLES else changed
        return [Sample(*(column[i] for column in columns)) for i in chosen]
