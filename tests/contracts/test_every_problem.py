"""One tuning job for all problems: the same lists as a pool, as shards and as forests of their rows."""

import json
import warnings

import numpy as np
import pytest

import luthier
from luthier.corpus.texts import Texts
from luthier.decoding.forests.files import Forests
from luthier.decoding.forests.hypergraph import Hypergraph, RuleTable
from luthier.kbest.features import Features
from luthier.kbest.shards.shard import shard
from luthier.metrics.loading import load_metric
from luthier.metrics.pools import with_statistics
from luthier.report.console import show
from luthier.report.tables.tuning import tuning_tables
from luthier.synthetic.lists.noisy_channel import SyntheticLists

pytestmark = pytest.mark.compiled
METRIC = "bleu"


def forests_of_rows(pool, weights):
    """Return a forest for each list, with a rule for each hypothesis: its words, and its features."""
    words = {word: number for number, word in enumerate({w for text in pool.texts for w in str(text).split()})}
    sides = [[words[w] for w in str(text).split()] for text in pool.texts]
    dense, names = pool.features.dense, pool.features.names
    rules = RuleTable(
        np.cumsum([0, *map(len, sides)]), np.array([s for side in sides for s in side]), Texts.from_strings(words),
        Features.from_dense(names[:-1], dense[:, :-1]), Texts.from_strings([str(i) for i in range(len(sides))]),
        names[-1:],
    )  # fmt: skip
    graphs = []
    for first, last in zip(pool.offsets[:-1], pool.offsets[1:], strict=True):
        n = int(last - first)
        graphs.append(
            Hypergraph([0, n], np.full((n, 2), -1), np.arange(first, last), dense[first:last, -1:], [0], [[0, 1]])
        )
    return Forests(tuple(graphs), rules, weights)


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    home = tmp_path_factory.mktemp("problems")
    pool = with_statistics(SyntheticLists(sentences=12, k=8, vocabulary=120).generate(4), load_metric(METRIC))
    start = np.linspace(0.5, 1.5, pool.n_features)
    refs = home / "refs.txt"
    refs.write_text("".join(f"{pool.references.of(i)[0]}\n" for i in range(pool.n_sentences)), encoding="utf-8")
    manifest = shard(pool, 3, home / "shards")
    return {
        "pool": (pool, {}),
        "shards": (manifest, {}),
        "forests": (forests_of_rows(pool, start), {"refs": [str(refs)]}),
    }, start  # fmt: skip


def tuned(form, start, **options):
    source, more = form
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        report = luthier.tune(source, METRIC, "mert", start=start, seed=3, threads=1, **more, **options)
    return report, [str(warning.message) for warning in said]


@pytest.mark.parametrize(
    "options",
    [{}, {"restarts": 2}, {"bound": {"lm": (0.0, 5.0)}}, {"standardize_features": True}, {"axis": ["lm", "length"]}],
    ids=str,
)
def test_the_same_lists_have_the_same_answer_in_every_form(forms, options):
    by_form, start = forms
    pool, _ = tuned(by_form["pool"], start, **options)
    for name in ("shards", "forests"):
        other, _ = tuned(by_form[name], start, **options)
        assert other.weights == pytest.approx(dict(pool.weights), rel=1e-9), name
        assert other.after == pytest.approx(pool.after, abs=1e-9)
        assert other.replicas[0].result.agreed == pool.replicas[0].result.agreed
        json.dumps(other.as_dict())


def test_shards_say_and_show_what_the_pool_does(forms, capsys):
    by_form, start = forms
    seen = {}
    for name in ("pool", "shards"):
        report, said = tuned(by_form[name], start)
        show(tuning_tables(report, []))
        lines = [line for line in capsys.readouterr().out.splitlines() if "CPU" not in line and "s" in line]
        seen[name] = (said, [line.split() for line in lines if "mert" not in line][:3])
    assert seen["pool"][0] == seen["shards"][0]


def test_a_held_out_pool_goes_with_every_form(forms):
    by_form, start = forms
    unseen = SyntheticLists(sentences=5, k=8, vocabulary=120).generate(9)
    reports = {name: tuned(form, start, heldout=unseen)[0] for name, form in by_form.items()}
    scores = {name: (report.heldout_before, report.heldout_after) for name, report in reports.items()}
    assert scores["shards"] == pytest.approx(scores["pool"])
    assert scores["forests"][1] == pytest.approx(scores["pool"][1])


@pytest.mark.parametrize(("options", "message"), [({"folds": 2}, "lists in one pool"), ({"add": ["x=lm*2"]}, "whole")])
def test_what_a_form_cannot_do_is_said(forms, options, message):
    by_form, start = forms
    for name in ("shards", "forests"):
        with pytest.raises(luthier.LuthierError, match=message):
            tuned(by_form[name], start, **options)


def test_held_out_sentences_that_were_tuned_on_are_said_of_lists_and_shards(forms):
    by_form, start = forms
    heldout = by_form["pool"][0].take_sentences(np.arange(4))
    expected = "4 of 4 held-out sentences are tuning sentences too"
    for name in ("pool", "shards"):
        _, said = tuned(by_form[name], start, heldout=heldout)
        assert any(expected in sentence for sentence in said), name
