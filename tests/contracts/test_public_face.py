"""Every public function: documented, typed, with the defaults of its command, and a result that JSON takes."""

import argparse
import dataclasses
import importlib
import inspect
import json
import typing

import numpy as np
import pytest

import luthier
from luthier.cli.main import COMMANDS, GROUPS, common_options
from luthier.core.params import KINDS, ParameterError
from luthier.core.plugins import available
from luthier.core.segments import segment_of_rows
from luthier.kbest.storage.pool_file import save_pool
from luthier.synthetic.lists.noisy_channel import SyntheticLists

FUNCTIONS = [name for name in luthier.__all__ if inspect.isfunction(getattr(luthier, name))]
# command → its function, where the names differ
OTHER_NAMES = {"lm": "estimate_lm", "score-with": "score_with"}
JOBS = [name for name in FUNCTIONS if getattr(luthier, name).__module__.startswith("luthier.jobs.")]
LISTS = SyntheticLists(sentences=6, k=6, n_features=4, vocabulary=100)
METRIC = "column:worth"


def command_of(name):
    """Return the module of the command that a function is the job of, wherever it stands; None if there is none."""
    named = {function: command for command, function in OTHER_NAMES.items()}
    wanted = named.get(name, name)
    packages = [COMMANDS, *(f"{COMMANDS}.{group}" for group in GROUPS)]
    found = {name: plugin for package in packages for name, plugin in available(package).items()}
    return importlib.import_module(found[wanted].module) if wanted in found else None


def options_of(module):
    """Return the defaults of a command's options by name; those of dataclass fields are the fields' own."""
    parser = argparse.ArgumentParser(parents=[common_options()], add_help=False, allow_abbrev=False)
    module.add_arguments(parser)
    found = {}
    for action in parser._actions:
        if action.option_strings and not action.required:
            found[action.dest.removeprefix("field_")] = (action.default, action.dest.startswith("field_"))
    return found


def without(value):
    """Return None for all that says nothing: the command line's way and Python's differ."""
    return None if value in (None, "", [], (), {}) else tuple(value) if isinstance(value, list) else value


@pytest.fixture(scope="module")
def pool():
    made = LISTS.generate(3)
    worth = np.round(np.random.default_rng(1).random(made.n_hypotheses), 2)
    return dataclasses.replace(made, columns={**made.columns, "worth": worth})


SIMPLE = {"int": 1, "float": 0.5, "bool": True, "str": "x"}
GARBAGE = (object(), [None], {"a": 1}, b"x", ("a",), 2.5j)


@pytest.mark.parametrize("name", JOBS)
def test_every_simple_argument_of_another_kind_is_answered_by_a_sentence(name, pool, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, looked_at = getattr(luthier, name), 0
    parameters = inspect.signature(function).parameters
    needed = [key for key, one in parameters.items() if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    for key, parameter in parameters.items():
        kind, _, rest = str(parameter.annotation).partition(" | ")
        if kind not in KINDS or rest not in ("", "None") or parameter.kind is parameter.VAR_KEYWORD:
            continue
        looked_at += 1
        for bad in (*GARBAGE, *([True, 1.5] if kind == "int" else ["1"] if kind != "str" else [3])):
            with pytest.raises(ParameterError, match=rf"the '{key}' parameter of {name} must be an? {kind}"):
                function(**{one: SIMPLE.get(parameters[one].annotation, pool) for one in needed} | {key: bad})
    assert looked_at or not any(one.annotation in KINDS for one in parameters.values())


@pytest.mark.parametrize("key", ["worst_of", "constraint", "axis", "add", "feature", "bins", "refs", "also", "bound"])
@pytest.mark.parametrize("bad", [True, 3, object(), [None], [3]], ids=["yes", "number", "object", "none", "numbers"])
def test_lists_and_files_of_another_kind_are_answered_by_a_sentence(pool, key, bad):
    with pytest.raises(luthier.LuthierError):
        luthier.tune(pool, METRIC, method="random", folds=2, **{key: bad})


def test_numbers_of_numpy_are_numbers(pool):
    one = luthier.ablate(
        pool, METRIC, method="random", folds=np.int64(2), level=np.float64(0.1), forward=np.bool_(False)
    )
    assert one.as_dict() == luthier.ablate(pool, METRIC, method="random", folds=2, level=0.1).as_dict()


def test_the_list_of_names_is_whole():
    assert sorted(luthier.__all__) == sorted(luthier._HOMES)
    assert len(set(luthier.__all__)) == len(luthier.__all__)
    for name in luthier.__all__:
        assert getattr(luthier, name) is not None
    assert {"tune", "surface", "line", "certify", "compare", "oracle", "inspect", "explain", "score"} <= set(JOBS)


def test_the_package_says_what_there_is():
    said = luthier.__doc__
    assert [name for name in JOBS if name not in said] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_documented_and_typed(name):
    function = getattr(luthier, name)
    first = inspect.getdoc(function).partition("\n")[0]
    assert first.endswith((".", ":")), f"the first line of {name} is no sentence: {first}"
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty, f"{name}({parameter.name}) has no type"
    positional = [p for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert len(positional) <= 5, f"{name}: options are given by name"


@pytest.mark.parametrize("name", JOBS)
def test_defaults_are_those_of_the_command(name):
    module = command_of(name)
    if module is None:
        assert name in ("raster", "explain"), f"{name} is a job of no command"
        return
    options, compared = options_of(module), 0
    for parameter in inspect.signature(getattr(luthier, name)).parameters.values():
        if parameter.name not in options or parameter.default is inspect.Parameter.empty:
            continue
        default, is_field = options[parameter.name]
        if not is_field:  # fields have their defaults in one place; the next test compares them
            assert without(parameter.default) == without(default), f"{name}({parameter.name})"
            compared += 1
    assert compared or name in ("induce", "discretize", "inspect", "export"), (
        f"{name} has no option in common with its command"
    )


def field_defaults():
    """Yield functions with the dataclasses whose fields are their options."""
    from luthier.evaluation.comparison import Settings
    from luthier.landscape.certified.certify import CertifyOptions
    from luthier.landscape.certified.windows import WindowOptions
    from luthier.landscape.selections.constraints import CurveSettings, GeometrySettings
    from luthier.lm.estimate import EstimateOptions

    yield from [("certify", CertifyOptions), ("certify", WindowOptions), ("compare", Settings), ("evaluate", Settings)]
    yield from [("bounds", CurveSettings), ("bounds", GeometrySettings), ("estimate_lm", EstimateOptions)]


@pytest.mark.parametrize(("name", "kind"), list(field_defaults()), ids=lambda value: getattr(value, "__name__", value))
def test_options_of_fields_are_all_there_with_their_defaults(name, kind):
    parameters = inspect.signature(getattr(luthier, name)).parameters
    for field in dataclasses.fields(kind):
        assert field.name in parameters, f"{name} lacks {field.name}"
        if field.name not in ("seed", "threads"):
            assert parameters[field.name].default == field.default


@pytest.mark.parametrize("name", JOBS)
def test_a_job_returns_a_frozen_result_that_json_takes(name):
    kind = typing.get_type_hints(getattr(luthier, name), localns=_types())["return"]
    assert dataclasses.is_dataclass(kind), f"{name} returns {kind}"
    assert kind.__dataclass_params__.frozen
    assert callable(kind.as_dict)


def _types():
    """Return types that functions name for type checkers alone."""
    from luthier.core.tasks import Engine
    from luthier.decoding.forests.files import Forests
    from luthier.features.bins import Bins
    from luthier.kbest.shards.manifest import Manifest

    return {"Forests": Forests, "Bins": Bins, "Manifest": Manifest, "Engine": Engine}


def calls(pool, folder):
    """Yield a call of every function of lists and landscapes."""
    weights = dict.fromkeys(pool.features.names, 1.0)
    first, second = pool.features.names[:2]
    yield "tune", lambda source: luthier.tune(source, METRIC, "mert", restarts=2)
    yield "ablate", lambda source: luthier.ablate(source, METRIC, "mert", folds=2)
    yield "surface", lambda source: luthier.surface(source, METRIC, axis=[first, second], weights=weights, certify=5)
    yield "raster", lambda source: luthier.raster(
        source, METRIC, axis=[first, second], window=[f"{first}=0:1", f"{second}=0:1"], side=4
    )  # fmt: skip
    yield "line", lambda source: luthier.line(source, METRIC, axis=first, choose="robust")
    yield "certify", lambda source: luthier.certify(source, METRIC, axis=[first], weights=weights)
    yield "compare", lambda source: luthier.compare(
        {"old": weights, "new": [{**weights, first: 0.5}, {**weights, first: 0.6}]}, METRIC, pool=source, draws=20,
        shuffles=20, sentences=1,
    )  # fmt: skip
    yield "ablate", lambda source: luthier.ablate(source, METRIC, "mert", folds=2)
    yield "tradeoff", lambda source: luthier.tradeoff(source, [METRIC, "bleu"], axis=[first])
    numbers = folder / "numbers.txt"
    numbers.write_text("".join(f"{row}\n" for row in range(pool.n_hypotheses)))
    yield "add", lambda source: luthier.add(source, f"row={numbers}", column="row")
    yield "export", lambda source: luthier.export(source, "text", folder / "exported")
    yield "mbr", lambda source: luthier.mbr(source, ["chrf", "ter"])
    yield "oracle", lambda source: luthier.oracle(source, METRIC)
    yield "inspect", lambda source: luthier.inspect(source)
    yield "score_with", lambda source: (folder / "scored.arrow.scores").unlink(missing_ok=True) or luthier.score_with(
        "repetition", source, name="rep", output=folder / "scored.arrow"
    )  # fmt: skip
    yield "pairs", lambda source: luthier.pairs(source, weights, output=folder / "pairs.jsonl")
    yield "explain", lambda source: luthier.explain(source, 2, weights, metric=METRIC)
    yield "fan", lambda source: luthier.fan(source, sentence=[0, 1], axis=[first, second], metric=METRIC)
    yield "feasible", lambda source: luthier.feasible(source, "first", metric=METRIC)
    yield (
        "cones",
        lambda source: luthier.cones(
            source, METRIC, axis=[first], output=folder / f"{isinstance(source, luthier.Pool)}.arrow"
        ),
    )
    yield "bounds", lambda source: luthier.bounds(source, METRIC, sample=5, weights=weights)
    yield "separable", lambda source: luthier.separable(source, METRIC, draws=20, kept=5, alpha=0.01)


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")
def test_every_function_of_lists_runs_on_a_pool_and_on_its_file(pool, tmp_path):
    save_pool(pool, tmp_path / "pool.arrow")
    names = []
    for name, call in calls(pool, tmp_path):
        found = [json.dumps(_without_seconds(call(source).as_dict())) for source in (pool, tmp_path / "pool.arrow")]
        assert found[0] == found[1], name
        names.append(name)
    assert set(names) >= {name for name in JOBS if _takes_lists(name)}


def _takes_lists(name):
    return "pool" in inspect.signature(getattr(luthier, name)).parameters and name != "induce"


def _without_seconds(found):
    if isinstance(found, dict):
        return {key: _without_seconds(value) for key, value in found.items() if "seconds" not in key}
    return [_without_seconds(value) for value in found] if isinstance(found, list | tuple) else found


@pytest.mark.compiled
def test_explain_takes_the_list_apart(pool):
    weights = {name: 0.5 + d for d, name in enumerate(pool.features.names)}
    rows = luthier.rerank(pool, weights)
    for sentence in range(pool.n_sentences):
        found = luthier.explain(pool, sentence, weights, metric=METRIC)
        assert found.winner.text == pool.texts[rows[sentence]]
        assert sum(found.contributions[0].values()) == pytest.approx(found.winner.score)
        best = max(found.hypotheses, key=lambda one: one.metric_score)
        assert found.hypotheses[found.oracle].metric_score == best.metric_score
        assert luthier.explain(pool, str(pool.sentence_ids[sentence]), weights, metric=METRIC).winner == found.winner
        flip = found.smallest_flip
        if flip is not None:
            for share, text in ((1 - 1e-6, found.winner.text), (1 + 1e-6, flip.text)):
                moved = {**weights, flip.feature: weights[flip.feature] + share * flip.change}
                assert pool.texts[luthier.rerank(pool, moved)[sentence]] == text


def test_explain_counts_sentences_as_the_pool_does(pool):
    holed = pool.take(np.flatnonzero(segment_of_rows(pool.offsets) != 1))  # the second list is empty
    weights = dict.fromkeys(pool.features.names, 1.0)
    found, plain = (luthier.explain(lists, 2, weights, metric=METRIC) for lists in (holed, pool))
    assert (found.sentence, found.hypotheses) == (2, plain.hypotheses)
    for sentence, said in ((1, "sentence 1 has no hypotheses"), (6, "from 0 to 5, or its id, found 6")):
        with pytest.raises(luthier.LuthierError, match=said):
            luthier.explain(holed, sentence, weights, metric=METRIC)


def test_wrong_arguments_give_sentences(pool, tmp_path):
    first = pool.features.names[0]
    for call, said in [
        (lambda: luthier.line(pool, METRIC, axis=first, choose="best"), "expected to choose highest, robust"),
        (lambda: luthier.line(pool, METRIC, axis=first, threads=0), "expected `threads` of at least 1, found 0"),
        (lambda: luthier.surface(pool, METRIC, axis=[first]), "expected 2 axes, found 1"),
        (lambda: luthier.surface(pool, METRIC, axis=[first, first], keep=0), "expected `keep` of at least 1, found 0"),
        (lambda: luthier.surface(tmp_path / "none.arrow", METRIC, axis=[first, first]), "found no such file"),
        (lambda: luthier.line(3, METRIC, axis=first), "expected a Pool, found int"),
        (lambda: luthier.feasible(pool, [0, 1]), "expected a row for each of 6 sentences"),
        (lambda: luthier.feasible(pool, np.full(6, 99)), "for sentence 0, or -1, found 99"),
        (lambda: luthier.compare({"a": []}, METRIC, pool=pool), "expected weights of the system 'a'"),
        (lambda: luthier.inspect(pool, verify=True), "expected the file of a pool to verify"),
        (lambda: luthier.cones(pool, METRIC, axis=first, output="x", order="up"), "expected the order breadth"),
    ]:
        with pytest.raises(luthier.LuthierError, match=said):
            call()
