"""Weights as parameters of other decoders: the same choices by each decoder's own formula, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from luthier.cli.commands.data.weights import DECODERS
from luthier.core.errors import LuthierError
from luthier.kbest.fusion import FUSIONS, decoder_parameters, written_for

RNG = np.random.default_rng(3)
SCORES = {name: RNG.normal(size=400) for name in ("am", "decoder", "ctc", "lm", "ngram", "att", "b", "F0", "F1", "F2")}
SCORES["words"] = RNG.integers(1, 30, 400).astype(float)


def order(scores):
    return np.argsort(-scores, kind="stable").tolist()


def tuned(weights):
    return order(sum(value * SCORES[name] for name, value in weights.items()))


# each decoder's own sum, as its sources have it
FORMULAS = {
    "pyctcdecode": lambda p: SCORES["am"] + p["alpha"] * SCORES["lm"] + p["beta"] * SCORES["words"],
    "nemo": lambda p: SCORES["am"] + p["beam_alpha"] * SCORES["lm"] + p["beam_beta"] * SCORES["words"],
    "espnet": lambda p: (1 - p["ctc_weight"]) * SCORES["decoder"] + p["ctc_weight"] * SCORES["ctc"]
    + p["lm_weight"] * SCORES["lm"] + p["ngram_weight"] * SCORES["ngram"] + p["penalty"] * SCORES["words"],
    "icefall": lambda p: SCORES["am"] + p["ngram-lm-scale"] * SCORES["ngram"] + p["attention-scale"] * SCORES["att"]
    + p["lm-scale"] * SCORES["lm"],
    "fairseq": lambda p: (p["weight1"] * SCORES["am"] + p["weight2"] * SCORES["b"] + p["weight3"] * SCORES["lm"])
    / SCORES["words"] ** p["lenpen"],
    "marian": lambda p: sum(p[f"F{k}"] * SCORES[f"F{k}"] for k in range(3)) - p["word-penalty"] * SCORES["words"],
}  # fmt: skip
WEIGHTS = {
    "pyctcdecode": {"am": 0.4, "lm": 0.7, "words": -0.1},
    "nemo": {"lm": 0.7, "am": 0.4, "words": 0.3},
    "espnet": {"decoder": 0.5, "ctc": 0.2, "lm": 0.6, "ngram": 0.1, "words": 0.05},
    "icefall": {"am": 0.3, "ngram": 0.2, "att": 0.9, "lm": -0.1},
    "fairseq": {"am": 0.3, "b": 0.2, "lm": 0.4},
    "marian": {"F0": 0.3, "F2": 0.5, "words": 0.25},
}
NAMES = {"fairseq": {"am": "score1", "b": "score2"}}


@pytest.mark.parametrize("decoder", DECODERS)
def test_the_decoder_orders_as_the_weights_do(decoder):
    weights = WEIGHTS[decoder]
    named = {NAMES.get(decoder, {}).get(name, name): value for name, value in weights.items()}
    found = decoder_parameters(named, decoder)
    assert order(FORMULAS[decoder](found)) == tuned(weights)
    assert len(set(order(FORMULAS[decoder](found))[:50])) == 50
    doubled = decoder_parameters({name: 4 * value for name, value in named.items()}, decoder)
    assert doubled == pytest.approx(found) or decoder in ("fairseq", "marian")


def test_every_decoder_has_a_form():
    assert tuple(FUSIONS) == DECODERS
    said = {name: written_for({"am": 2.0, "lm": 1.0}, name, {}) for name in ("pyctcdecode", "nemo", "icefall")}
    assert said == {
        "pyctcdecode": "alpha=0.5, beta=0.0",
        "nemo": "beam_alpha=[0.5] beam_beta=[0.0]",
        "icefall": "--ngram-lm-scale 0.0 --attention-scale 0.0 --lm-scale 0.5",
    }
    assert written_for({"att": 1.0, "ctc": 1.0}, "espnet", {}).splitlines()[0] == "ctc_weight: 0.5"
    assert written_for({"F1": 1.0, "F0": 2.0, "words": 1.0}, "marian", {}) == "--weights 2.0 1.0 --word-penalty -1.0"
    assert (
        written_for({"lm": 1.0, "score": 2.0}, "fairseq", {})
        == "--weight1 2.0 --weight2 0.0 --weight3 1.0 --lenpen 0.0"
    )


def test_a_total_brings_the_parameters_it_was_decoded_with():
    before = {"alpha": 0.5, "beta": 1.5}
    total = SCORES["am"] + before["alpha"] * SCORES["lm"] + before["beta"] * SCORES["words"]
    found = decoder_parameters({"logit_score": 0.2, "lm_score": 0.6, "words": -0.3}, "pyctcdecode", before)
    assert order(FORMULAS["pyctcdecode"](found)) == order(0.2 * SCORES["am"] + 0.6 * total - 0.3 * SCORES["words"])
    with pytest.raises(LuthierError, match=r"'lm_score' is the score with alpha and beta of pyctcdecode at work"):
        decoder_parameters({"logit_score": 0.2, "lm_score": 0.6}, "pyctcdecode", {"alpha": 0.5})


@pytest.mark.parametrize(
    ("decoder", "weights", "before", "said"),
    [
        (
            "nemo",
            {"am": 1, "kiwi": 2},
            {},
            "nemo: no parameter for the weight of 'kiwi'. It has them for beam_alpha: lm",
        ),
        ("nemo", {"am": -1, "lm": 2}, {}, "expected a positive weight of 'am' or"),
        ("nemo", {"lm": 2}, {}, "by which the others are divided, found 0"),
        ("nemo", {"am": 1, "acoustic": 1}, {}, "expected one feature for the base, found 'am' and 'acoustic'"),
        ("espnet", {"decoder": 1, "ctc": -0.5}, {}, "expected a positive weight"),
        ("icefall", {"am": 1, "words": 1}, {}, "no parameter for the weight of 'words'"),
        ("fairseq", {"lp": 1}, {}, "no parameter for the weight of 'lp'"),
        ("marian", {"F0": 1, "lm": 1}, {}, "marian: no parameter for the weight of 'lm'"),
        ("marian", {"words": 1}, {}, "marian: no parameter for no model"),
        ("nemo", {"am": 1}, {"gamma": 1}, "nemo has no parameter 'gamma'. it has: beam_alpha, beam_beta"),
    ],
)
def test_what_has_no_place_is_refused_by_name(decoder, weights, before, said):
    with pytest.raises(LuthierError, match=said):
        decoder_parameters(weights, decoder, before)


def test_weights_of_0_need_no_place():
    assert decoder_parameters({"am": 1.0, "kiwi": 0.0, "lm": 0.5}, "nemo")["beam_alpha"] == 0.5


def test_the_command(run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.txt").write_text("logit_score 0.5\nlm_score 0.5\n")
    command = ["data", "weights", "w.txt", "-", "--to", "pyctcdecode"]
    assert run_cli(*command, "--decoded-with", "alpha=0.5", "--decoded-with", "beta=1.5")[:2] == (
        0,
        "alpha=0.25, beta=0.75\n",
    )
    code, _, err = run_cli(*command)
    assert code == 2
    assert "hint: say --decoded-with alpha=VALUE" in err
    code, _, err = run_cli("data", "weights", "w.txt", "out.txt", "--to", "cdec", "--decoded-with", "alpha=1")
    assert (code, "--decoded-with is for --to pyctcdecode" in err) == (2, True)
    code, _, _ = run_cli("data", "weights", "w.txt", "out.txt", "--to", "nemo", "--json")
    assert code == 2
