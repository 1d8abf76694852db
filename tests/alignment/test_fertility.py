"""The aligner with fertilities: what its sampler draws by, against the whole model enumerated, and its links."""

import itertools
import math

import hypothesis
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from luthier.alignment import _fertility_kernels as kernels
from luthier.alignment.aligner import align, apply_model
from luthier.alignment.bitext import read_bitext
from luthier.alignment.cells import directions, number_cells
from luthier.alignment.methods import fertility
from luthier.alignment.model import open_model, save_model
from luthier.alignment.symmetrize import symmetrize
from luthier.core.errors import InputError

SIDE = st.lists(st.sampled_from("ab"), min_size=1, max_size=3)
TEXTS = st.lists(st.tuples(SIDE, SIDE), min_size=1, max_size=2)


def dirichlet(counts, prior):
    """Return log p of counts under a Dirichlet-multinomial, sequence by sequence; `counts` has every outcome."""
    whole = math.lgamma(prior * len(counts)) - math.lgamma(prior * len(counts) + sum(counts))
    return whole + sum(math.lgamma(c + prior) - math.lgamma(prior) for c in counts)


def joint(pairs, links, priors, reach, most):
    """Return log p of all links and words of a text, parameters integrated out: the model, in plain Python."""
    types = sorted({(f, e) for given, predicted in pairs for f in given for e in predicted})
    lexicon = dict.fromkeys(types, 0)
    words = sorted({e for _, predicted in pairs for e in predicted})
    null, jumps, many = dict.fromkeys(words, 0), [0] * (2 * reach + 1), {f: [0] * (most + 1) for f, _ in types}
    total = 0.0
    for (given, predicted), row in zip(pairs, links, strict=True):
        before = -1
        for e, i in zip(predicted, row, strict=True):
            if i < 0:
                null[e] += 1
                total += math.log(priors.null)
                continue
            lexicon[given[i], e] += 1
            jumps[min(max(i - before, -reach), reach) + reach] += 1
            total += math.log(1 - priors.null)
            before = i
        jumps[min(max(len(given) - before, -reach), reach) + reach] += 1
        for i, f in enumerate(given):
            many[f][min(sum(a == i for a in row), most)] += 1
    total += sum(dirichlet([c for (g, _), c in lexicon.items() if g == f], priors.alpha) for f in many)
    total += dirichlet(list(null.values()), priors.null_alpha) + dirichlet(jumps, priors.jump)
    return total + sum(dirichlet(counts, priors.fertility) for counts in many.values())


def chain_of(pairs, side, links, priors, reach, most):
    """Return text, state and counts of a chain with these links."""
    texts = [" ".join(given) for given, _ in pairs], [" ".join(predicted) for _, predicted in pairs]
    direction = directions(number_cells(read_bitext(*(texts if side == 0 else texts[::-1]))))[side]
    state = fertility._state(direction, 0, 0)
    room = priors.alpha * np.bincount(direction.given_of_type, minlength=direction.n_given)
    counts = fertility._counts(direction, priors.alpha)._replace(
        room=room,
        jumps=np.zeros(2 * reach + 1, np.int64),
        fertilities=np.zeros((direction.n_given, most + 1), np.int32),
    )
    state.links[:] = [i for row in links for i in row]
    text, at = direction.text, 0
    for k, ((given, predicted), row) in enumerate(zip(pairs, links, strict=True)):
        before, n, m = -1, len(given), len(predicted)
        for j, i in enumerate(row):
            if i < 0:
                counts.null[text.predicted_ids[text.predicted_offsets[k] + j]] += 1
                counts.sums[0] += 1
                continue
            counts.types[text.cells[text.cell_offsets[k] + (i * m + j if side else j * n + i)]] += 1
            counts.given[state.given_ids[at + i]] += 1
            state.fertilities[at + i] += 1
            counts.jumps[min(max(i - before, -reach), reach) + reach] += 1
            before = i
        counts.jumps[min(max(n - before, -reach), reach) + reach] += 1
        for i in range(n):
            counts.fertilities[state.given_ids[at + i], min(state.fertilities[at + i], most)] += 1
        at += n
    counts.sums[1] = counts.jumps.sum()
    return text, state, counts


@settings(max_examples=40)
@hypothesis.given(TEXTS, st.data(), st.sampled_from([0, 1]), st.sampled_from([1, 3]))
def test_a_word_is_drawn_by_the_conditional_of_the_model(pairs, data, side, reach):
    most = 2
    seen = len({e for _, predicted in pairs for e in predicted})
    priors = kernels.Priors(0.3, 0.2, 0.2 * seen, 0.5, 0.4, 0.1)
    links = [[data.draw(st.integers(-1, len(g) - 1)) for _ in p] for g, p in pairs]
    k = data.draw(st.integers(0, len(pairs) - 1))
    j = data.draw(st.integers(0, len(pairs[k][1]) - 1))
    text, state, counts = chain_of(pairs, side, links, priors, reach, most)
    n, first = len(pairs[k][0]), int(text.predicted_offsets[k])
    kernels.next_places(state.links, first, len(pairs[k][1]), n, state.following)
    before = next((i for i in links[k][:j][::-1] if i >= 0), -1)
    taken_out(text, state, counts, k, j, before, reach, most, turned=side)
    kernels.weigh(text, state, counts, priors, k, j, before, 2)
    found = state.weights[: n + 1] / state.weights[: n + 1].sum()
    logs = []
    for i in (*range(n), -1):
        changed = [list(row) for row in links]
        changed[k][j] = i
        logs.append(joint(pairs, changed, priors, reach, most))
    wanted = np.exp(np.array(logs) - max(logs))
    np.testing.assert_allclose(found, wanted / wanted.sum(), rtol=1e-9)


def taken_out(text, state, counts, k, j, before, reach, most, *, turned):
    """Uncount the link of one word, as a sweep does."""
    g0, p0 = int(text.given_offsets[k]), int(text.predicted_offsets[k])
    n, m = int(text.given_offsets[k + 1]) - g0, int(text.predicted_offsets[k + 1]) - p0
    i = int(state.links[p0 + j])
    kernels.count_jumps(counts, before, i, state.following[j], reach, -1)
    if i >= 0:
        counts.types[text.cells[text.cell_offsets[k] + (i * m + j if turned else j * n + i)]] -= 1
        counts.given[state.given_ids[g0 + i]] -= 1
        kernels.shift(counts, state, g0 + i, -1, most)
    else:
        counts.null[text.predicted_ids[p0 + j]] -= 1
        counts.sums[0] -= 1


def test_a_chain_visits_alignments_as_often_as_the_model_says():
    pairs, reach, most = [(["a", "b"], ["x", "y"])], 2, 2
    priors = kernels.Priors(0.5, 0.5, 1.0, 0.5, 0.5, 0.2)
    text, state, counts = chain_of(pairs, 0, [[0, 1]], priors, reach, most)
    every = list(itertools.product((-1, 0, 1), repeat=2))
    logs = np.array([joint(pairs, [list(row)], priors, reach, most) for row in every])
    wanted = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    visits = dict.fromkeys(every, 0)
    for _ in range(20_000):
        kernels.sweep(text, state, counts, priors, 2)
        visits[tuple(state.links.tolist())] += 1
    assert sum(visits.values()) == 20_000
    assert np.abs(np.array([visits[row] for row in every]) / 20_000 - wanted).max() < 0.02


def test_counts_stay_those_of_the_links():
    pairs = [(list("abca"), list("xyx")), (list("ab"), list("yyxz"))]
    priors = kernels.Priors(0.01, 0.01, 0.03, 0.5, 0.5, 0.2)
    text, state, counts = chain_of(pairs, 1, [[0, -1, 2], [1, 1, -1, 0]], priors, 3, 2)
    for stage in (0, 1, 2, 2):
        kernels.sweep(text, state, counts, priors, stage)
    links = np.split(state.links, [3])
    _, fresh_state, fresh = chain_of(pairs, 1, [row.tolist() for row in links], priors, 3, 2)
    for name in counts._fields:
        np.testing.assert_array_equal(getattr(counts, name), getattr(fresh, name), err_msg=name)
    np.testing.assert_array_equal(state.fertilities, fresh_state.fertilities)


def test_a_kept_model_aligns_new_text(tmp_path):
    source = ["das haus", "das buch", "ein buch", "ein haus"] * 5
    target = ["the house", "the book", "a book", "a house"] * 5
    done = align(source, target, "fertility")
    assert done.symmetrized()[0] == [(0, 0), (1, 1)]
    save_model(done.model, tmp_path / "model")
    kept = open_model(tmp_path / "model")
    new = apply_model(kept, ["das buch", "ein neues haus"], ["the book", "a new house"])
    assert new.symmetrized()[0] == [(0, 0), (1, 1)]
    assert np.isfinite(new.scores).all()
    np.testing.assert_array_equal(apply_model(kept, source, target).scores, apply_model(kept, source, target).scores)
    assert symmetrize(new.forward, new.backward, "intersect")[1]


def test_own_parameters_of_another_size_are_damage(tmp_path):
    save_model(align(["a b"], ["x y"], "fertility", passes=1).model, tmp_path / "model")
    arrays = dict(np.load(tmp_path / "model"))
    arrays["forward_own"] = arrays["forward_own"][:-1]
    with open(tmp_path / "model", "wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(InputError, match="forward_own"):
        open_model(tmp_path / "model")
