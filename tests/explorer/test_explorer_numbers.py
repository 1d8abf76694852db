"""Every number of the explorer against the commands, which share its kernels but not its way."""

import json
import time

import numpy as np
import pytest
import sacrebleu
from served import ask, changed, make_pool, make_session, raw, serving, weights_of

from luthier.explorer.app import answer
from luthier.explorer.endpoints.about import about
from luthier.explorer.sessions.responses import signed
from luthier.explorer.sessions.session import Named, Session
from luthier.geometry.subspace import Subspace
from luthier.kbest.rerank import rerank, selected_texts
from luthier.kbest.storage.pool_file import save_pool
from luthier.kbest.weights import Weights, write_weights
from luthier.landscape.lines.coordinate_gains import coordinate_gains
from luthier.landscape.lines.line_report import follow_line
from luthier.landscape.lines.projection_cache import ProjectionCache
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.plane import Plane
from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
from luthier.metrics.batch import Batch
from luthier.metrics.loading import load_metric
from luthier.tuning.base import tuner
from luthier.tuning.validation.baselines import baselines
from luthier.tuning.validation.folds import folds_of
from luthier.tuning.validation.resampling import resample_answer

RANDOM = 1000  # weight vectors


@pytest.fixture(scope="module", params=["bleu", "ter"])
def server(request):
    session = make_session(request.param)
    with serving(session) as found:
        yield found


@pytest.fixture(scope="module")
def folder(server, tmp_path_factory):
    home = tmp_path_factory.mktemp("explorer")
    problem = server.session.problem
    save_pool(problem.pool, home / "pool.arrow")
    for item in server.session.named:
        write_weights(Weights.from_vector(problem.names, item.weights), home / item.name)
    (home / "refs.txt").write_text("".join(f"{problem.pool.references.of(i)[0]}\n" for i in range(24)))
    return home


def command(run_cli, *arguments):
    code, out, err = run_cli(*arguments, "--json", "--seed", 3)
    assert code == 0, err
    return json.loads(out)


def metric_of(server):
    return server.session.problem.metric.name.lower()


def test_a_selection_is_what_rerank_and_score_say(server, folder, run_cli):
    weights = weights_of(server.session.problem.pool, 7)
    write_weights(Weights.from_vector(server.session.problem.names, weights), folder / "w.txt")
    command(run_cli, "rerank", folder / "pool.arrow", "--weights", folder / "w.txt", "-o", folder / "out.txt")
    found, _ = ask(server, "select", weights=changed(weights, server.session.start), count=200, order="sentence")
    said = command(run_cli, "score", folder / "out.txt", "--refs", folder / "refs.txt", "--metric", metric_of(server))
    (score,) = said["translations"][0]["scores"].values()
    assert found["score"] == score
    assert found["shown"] == f"{score:.2f}"
    lines = (folder / "out.txt").read_text().splitlines()
    assert found["changed"] == len(found["rows"]) > 3
    for row in found["rows"]:
        assert row["after"] == lines[row["sentence"]] != row["before"]


@pytest.mark.slow
def test_scores_of_many_random_weights(server):
    problem, rng = server.session.problem, np.random.default_rng(0)
    references = [[problem.pool.references.of(i)[0] for i in range(problem.pool.n_sentences)]]
    before, known = selected_texts(problem.pool, rerank(problem.pool, server.session.named[1].weights)), {}
    weights = np.zeros(problem.n_features)
    for turn in range(RANDOM):
        anew = rng.normal(size=problem.n_features) * 10.0 ** rng.integers(-12, 13)
        weights = weights.copy() if turn % 4 else anew
        weights[turn % problem.n_features] += rng.normal() * 10.0 ** rng.integers(-12, 3)  # as one weight is dragged
        texts = tuple(selected_texts(problem.pool, rerank(problem.pool, weights)))
        if texts not in known:
            stats = problem.metric.stats(Batch.from_lines(texts, references))
            known[texts] = float(problem.metric.score(stats.sum(axis=0)))
        body = {"weights": changed(weights, server.session.start), "against": 1, "count": 0}
        found = answer(server.session, "select", json.dumps(body).encode()).values
        assert found["score"] == known[texts]
        assert found["changed"] == sum(a != b for a, b in zip(before, texts, strict=True))
    assert len(known) > RANDOM / 10


def test_the_changed_sentences_are_ordered_and_filtered(server):
    problem = server.session.problem
    weights = changed(weights_of(problem.pool, 9), server.session.start)
    worst, _ = ask(server, "select", weights=weights, order="worst", count=200)
    best, _ = ask(server, "select", weights=weights, order="best", count=200)
    gains = [row["gain"] for row in worst["rows"]]
    assert gains == sorted(gains)
    assert sorted(gains, reverse=True) == [row["gain"] for row in best["rows"]]
    part, _ = ask(server, "select", weights=weights, order="worst", first=2, count=3)
    assert part["rows"] == worst["rows"][2:5]
    word = worst["rows"][0]["after"].split()[-1].upper()
    with_word, _ = ask(server, "select", weights=weights, count=200, filter={"text": word})
    held = [
        row for row in worst["rows"] if word.lower() in f"{row['before']} {row['after']} {row['reference']}".lower()
    ]
    assert {row["sentence"] for row in held} <= {row["sentence"] for row in with_word["rows"]}
    assert 0 < with_word["listed"] <= worst["listed"]
    short, _ = ask(server, "select", weights=weights, count=200, filter={"words_high": 9, "least": 0.5})
    expected = [
        row for row in worst["rows"]
        if problem.pool.tokens.lengths[problem.select(weights_of(problem.pool, 9))[row["sentence"]]] <= 9
        and abs(row["gain"]) >= 0.5
    ]  # fmt: skip
    assert short["rows"] == expected


def test_a_line_is_what_the_command_says(server, folder, run_cli):
    session = server.session
    for axis in (0, 3):
        said = command(
            run_cli, "line", folder / "pool.arrow", "--weights", folder / "other.txt", "--axis",
            session.problem.names[axis], "--metric", metric_of(server),
        )  # fmt: skip
        found, arrays = ask(server, "line", weights={"base": 1}, axis=axis)
        assert found["intervals"] == said["intervals"]
        assert found["start"] == said["start"]
        assert found["best"]["position"] == said["optimum"]["position"]
        assert found["best"]["score"] == said["optimum"]["score"]
        direction = np.eye(session.problem.n_features)[axis]
        report = follow_line(session.problem, Subspace(session.named[1].weights, direction[None]))
        assert arrays["steps"].tolist() == report.low[1:].tolist()
        assert arrays["scores"].tolist() == report.scores.tolist()


def test_what_each_weight_alone_would_gain(server):
    problem = server.session.problem
    found, _ = ask(server, "lines")
    for item in found["lines"]:
        said, _ = ask(server, "line", axis=item["feature"])
        gain = float(problem.metric.gain(np.array(said["best"]["score"] - said["start"])))
        assert item["gain"] == pytest.approx(gain, abs=1e-9)
        if item["gain"]:
            there, _ = ask(server, "select", weights={"set": [[item["feature"], item["value"]]]}, count=0)
            assert there["better"][0] == pytest.approx(item["gain"], abs=1e-9)
    most = max(found["lines"], key=lambda item: item["gain"])
    assert found["most"] == most["feature"]


def test_a_surface_shows_what_a_rerank_gives_at_every_pixel(server):
    problem, start = server.session.problem, server.session.start
    window = [-0.2, 0.3, -0.4, 0.1]
    found, arrays = ask(server, "surface", axes=[0, 2], window=window, pixels=16, form="raster")
    centres = (np.arange(16) + 0.5) / 16
    for place in range(0, 256, 5):
        y, x = divmod(place, 16)
        weights = start.copy()
        weights[0] += window[0] + centres[x] * (window[1] - window[0])
        weights[2] += window[2] + centres[y] * (window[3] - window[2])
        assert arrays["scores"][place] == problem.metric.gain(np.array(problem.gain(weights)))
    assert found["origin"] == [start[0], start[2]]
    assert found["limits"] == window


def test_cells_are_those_of_the_command(server):
    problem, session = server.session.problem, server.session
    found, arrays = ask(server, "surface", axes=[0, 2])
    assert found["form"] == "cells"
    x_low, x_high, y_low, y_high = found["limits"]
    directions = np.eye(problem.n_features)[[0, 2]]
    x, y = session.start[[0, 2]].tolist()
    window = [f"a={x + x_low!r}:{x + x_high!r}", f"b={y + y_low!r}:{y + y_high!r}"]
    from luthier.landscape.planes.plane import read_window

    subspace = Subspace(session.start, directions, ("a", "b"))
    report = look_at_plane(Plane.make(problem, subspace, read_window(problem, subspace, window)), SurfaceOptions())
    assert found["cells"] == report.survey.cells
    best = arrays["scores"].max() if problem.metric.higher_is_better else arrays["scores"].min()
    assert best == report.optimum.score
    rng = np.random.default_rng(1)
    for _ in range(12):
        x, y = rng.uniform([x_low, y_low], [x_high, y_high])
        cell, _ = ask(server, "cell", axes=[0, 2], x=x, y=y)
        weights = session.start.copy()
        for d, value in cell["weights"]["set"]:
            weights[d] = value
        if cell["representable"]:
            assert cell["score"] == problem.metric.gain(np.array(problem.gain(weights)))
        for item in cell["neighbours"]:
            assert item["text"] in list(problem.pool.texts)


def test_beyond_each_side_lies_what_is_said(server):
    problem, session = server.session.problem, server.session
    cell = Plane.make(problem, Subspace(session.start, np.eye(problem.n_features)[[0, 2]])).overlay.cell_at(0.01, 0.02)
    assert len(cell.beyond) == len(cell.sides)  # the whole plane has no border
    for side, row in zip(cell.sides, cell.beyond, strict=True):
        on_side = [p for p in cell.polygon if np.isfinite(p).all() and abs(side[0] + side[1:] @ p) < 1e-9]
        if len(on_side) == 2:
            x, y = np.mean(on_side, axis=0) - 1e-7 * side[1:]
            there = Plane.make(problem, Subspace(session.start, np.eye(problem.n_features)[[0, 2]])).overlay.cell_at(
                x, y
            )
            assert row in there.selection


def test_a_comparison_is_what_the_command_says(server, folder, run_cli):
    said = command(
        run_cli, "compare", "--pool", folder / "pool.arrow", "--weights", folder / "start.txt", "--weights",
        folder / "other.txt", "--metric", metric_of(server), "--sentences", 50,
    )  # fmt: skip
    found, _ = ask(server, "compare", systems=[{"base": 0}, {"base": 1}], names=["start.txt", "other.txt"])
    baseline, other = said["metrics"][0]["results"]
    difference = other["against_baseline"]
    assert found["rows"][0][:3] == ["start.txt", f"{baseline['mean']:.1f}", f"{baseline['s_sel']:.1f}"]
    assert found["rows"][1][7] == f"{difference['difference']:+.2f}"
    assert found["rows"][1][8] == f"{difference['interval']['low']:+.2f} … {difference['interval']['high']:+.2f}"
    p = difference["randomisation_p"]
    assert found["rows"][1][4] == ("<0.001" if p < 0.001 else f"{p:.3f}")
    expected = [item["sentence"] for item in said["sentences"][0]["sentences"]]
    assert [item["sentence"] for item in found["sentences"]] == expected


def test_a_fan_is_what_the_command_says(server, folder, run_cli):
    names = server.session.problem.names
    said = command(
        run_cli, "geometry", "fan", folder / "pool.arrow", "--sentence", 4, "--axis", names[0], "--axis", names[1],
        "-o", folder / "fan.png",
    )  # fmt: skip
    found, _ = ask(server, "fan", sentence=4, axes=[0, 1])
    assert len(found["cones"]) == len(said["cones"])


def test_the_session_says_which_features_are_unused(server):
    status, _, body = raw(server, "GET", "/api/session", headers={"X-Luthier-Token": server.token})
    assert status == 200
    found = json.loads(body)
    why = {feature["name"]: feature["unused"] for feature in found["features"]}
    assert why["same"].startswith("the same value everywhere")
    assert why["rules2"].startswith("redundant: it is")
    assert [name for name, reason in why.items() if reason] == ["rules2", "same"]
    assert found["weights"][1] == server.session.named[1].weights.tolist()


def test_unseen_sentences_stand_beside_with_what_the_commands_say():
    pool = make_pool()
    heldout = make_pool(6)
    named = [Named("start.txt", weights_of(pool)), Named("other.txt", weights_of(pool, 1))]
    session = Session(pool, load_metric("bleu"), named, heldout=heldout, seed=3)
    metric, other = session.problem.metric, weights_of(pool, 1)
    found = json.loads(answer(session, "unseen", b'{"weights": {"base": 1, "set": []}, "against": 0}').body())
    problem = ListProblem.of(heldout, metric)
    before, after = (problem.stats[problem.select(w)] for w in (weights_of(pool), other))
    score = float(metric.score(after.sum(axis=0)))
    assert found["score"] == score
    assert found["shown"] == f"{score:.2f}"
    assert found["sentences"] == 24
    assert float(found["change"].replace("−", "-")) == pytest.approx(
        score - float(metric.score(before.sum(axis=0))), abs=0.006
    )
    low, high = (float(end.replace("−", "-")) for end in found["interval"])
    assert low <= float(found["change"].replace("−", "-")) <= high
    # whatever is worse than one scorer alone says so
    best = baselines(session.problem).best_alone
    alone = float(metric.score(problem.stats[problem.select(best.weights)].sum(axis=0)))
    assert bool(found["warning"]) == (score < alone)
    assert about(session).values["lists"]["unseen"] == 24
    nobody = Session(pool, load_metric("bleu"))
    assert json.loads(answer(nobody, "unseen", b'{"weights": {"base": 0, "set": []}}').body())["sentences"] == 0


# What is made in the background.


def waited(server, name, **body):
    """Return an answer once it is there."""
    while (found := ask(server, name, **body)[0]).get("waiting"):
        time.sleep(0.02)
    return found


def test_the_region_of_a_line_is_that_of_the_command(server, folder, run_cli):
    names = server.session.problem.names
    arguments = ("--metric", metric_of(server), "--axis", names[1], "--weights", folder / "start.txt")
    said = command(run_cli, "line", folder / "pool.arrow", *arguments, "--resamples", 100)
    found = waited(server, "region", axis=1)
    assert found["region"] == pytest.approx(said["stability"]["region"], rel=1e-12)


def test_the_region_of_a_plane_is_that_of_the_command(server, folder, run_cli):
    names = server.session.problem.names
    window = [-0.02, 0.02, -0.02, 0.02]
    found = waited(server, "region", axes=[0, 1], window=window)
    origin = server.session.start[:2].tolist()
    ends = [f"{names[i]}={origin[i] + window[2 * i]!r}:{origin[i] + window[2 * i + 1]!r}" for i in range(2)]
    axes = ("--axis", names[0], "--axis", names[1], "--window", ends[0], "--window", ends[1])
    arguments = ("--metric", metric_of(server), "--weights", folder / "start.txt", *axes, "--resamples", 32)
    said = command(run_cli, "surface", folder / "pool.arrow", *arguments)
    places = np.array(said["stability"]["positions"])
    assert np.allclose(np.array(found["places"]) + origin, places, rtol=1e-9)


def test_a_promise_on_folds_is_what_refitting_each_fold_says(server):
    """By hand: the best value on the other folds, found on a pool of these, selects on this one."""
    session = server.session
    problem, metric, start = session.problem, session.problem.metric, session.start
    folds = folds_of(problem.pool, 5, seed=session.seed)
    d, total = 0, 0
    for fold in range(5):
        inside, outside = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        rest = ListProblem.of(problem.pool.take_sentences(outside), metric)
        (item,) = coordinate_gains(ProjectionCache(rest), start, np.array([d]))
        moved = start.copy()
        moved[d] += item.position if item.gain > 0 else 0.0
        total = total + problem.stats[problem.select(moved)[inside]].sum(axis=0)
    wanted = float(metric.score(total)) - session.scores[0]
    found = waited(server, "promises")
    (shown,) = [item for item in found["lines"] if item["feature"] == d]
    assert (found["by"], float(shown["shown"].replace("−", "-"))) == ("5 folds", pytest.approx(wanted, abs=0.0051))


def test_promises_on_held_out_lists_are_scores_there():
    session = make_session(heldout=make_pool(6))
    with serving(session) as there:
        chips, found = ask(there, "lines")[0]["lines"], waited(there, "promises")
    assert found["by"] == "held-out"
    base = session.heldout.score(session.start)
    for chip, item in zip(chips, found["lines"], strict=True):
        moved = session.start.copy()
        moved[item["feature"]] = chip["value"] if chip["gain"] > 0 else moved[item["feature"]]
        assert item["shown"] == signed(session.heldout.score(moved) - base, like=base)


def test_intervals_of_weights_are_those_of_resampling(server):
    session = server.session
    found = waited(server, "intervals", base=1)
    said = resample_answer(session.problem, tuner("mert"), session.named[1].weights, draws=40, seed=3)
    assert found["ends"] == said.intervals.tolist()


def test_the_front_is_that_of_the_command(server, folder, run_cli):
    names = ask(server, "about")[0]["metrics"]
    other = "chrf"
    body = {"metrics": [0, names.index(other)], "place": "line", "axes": [1]}
    found = waited(server, "tradeoff", **body)
    name = server.session.problem.names[1]
    arguments = ("--metric", f"{metric_of(server)},{other}", "--axis", name, "--weights", folder / "start.txt")
    said = command(run_cli, "tradeoff", folder / "pool.arrow", *arguments)
    assert [point["scores"] for point in found["points"]] == [list(p["scores"].values()) for p in said["front"]]
    assert (found["mix"], found["cells"]) == (said["mix"]["point"], said["cells"])
    last = len(found["points"]) - 1
    weights = waited(server, "tradeoff", **body, point=last)["weights"]
    score = ask(server, "select", weights=weights)[0]["score"]
    assert score == pytest.approx(found["points"][last]["scores"][0], rel=1e-12)


def test_agreement_is_the_metric_with_others_as_references(server):
    session = server.session
    found = ask(server, "agreement", sentence=3)[0]
    listed = ask(server, "sentence", sentence=3, count=100)[0]["rows"]
    winner = listed[0]["text"]
    score = sacrebleu.CHRF()
    texts = list(dict.fromkeys(row["text"] for row in listed if row["text"] != winner))
    wanted = sorted((score.sentence_score(winner, [text]).score for text in texts), reverse=True)
    assert [float(row["shown"]) for row in found["rows"]] == pytest.approx(wanted[:8], abs=0.0051)
    assert float(found["mean"]) == pytest.approx(np.mean(wanted), abs=0.0051)
    assert found["of"] == len(listed) == session.problem.pool.list_lengths[3]
    everybody = [np.mean([score.sentence_score(a["text"], [b["text"]]).score for b in listed]) for a in listed]
    assert found["rank"] == 1 + sum(other > everybody[0] + 1e-9 for other in everybody)


def test_a_comparison_on_unseen_sentences_has_their_scores():
    session = make_session(heldout=make_pool(6))
    with serving(session) as there:
        systems = [{"base": 0, "set": []}, {"base": 1, "set": []}]
        found = ask(there, "compare", systems=systems, names=["start.txt", "other.txt"])[0]
    before, after = (session.heldout.score(item.weights) for item in session.named)
    assert [row[1] for row in found["unseen_rows"]] == [f"{before:.1f}", f"{after:.1f}"]
