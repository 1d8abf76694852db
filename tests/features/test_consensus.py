"""Expected utilities: against sacrebleu, against plain Python, and pruned against all pairs."""

import dataclasses
import zlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER

import luthier
import luthier.features.consensus.mbr as mbr_module
import luthier.features.consensus.pairs as pairs_module
from luthier.core.errors import LuthierError
from luthier.features.consensus.evidence import Evidence, make_block
from luthier.features.consensus.mbr import EQUAL, expected_utilities, matrix_utilities, select_by
from luthier.features.consensus.utilities import Utility, text_batch
from luthier.metrics.batch import Batch
from luthier.metrics.loading import load_metric
from luthier.scorers._scorer import Scorer

pytestmark = pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")

WORDS = ["the", "a", "cat", "dog", "Dog", "sat", "on", "mat,", "in", "(big)", "red", "é", "漢字", "x", "x!", "."]
SACREBLEU = {
    "chrf": CHRF(),
    "chrf++": CHRF(word_order=2),
    "chrf(eps_smoothing=True)": CHRF(eps_smoothing=True),
    "bleu(sentence_smoothing=exp)": BLEU(effective_order=True, tokenize="none", force=True),
    "bleu(sentence_smoothing=floor)": BLEU(
        effective_order=True, tokenize="none", force=True, smooth_method="floor", smooth_value=0.1
    ),
    "ter": TER(),
}
OURS = ("wer", "cer", "per", "bleu", "bleu(sentence_smoothing=add_k)", "bleu(order=2,sentence_smoothing=none)")


def pool_of(lists, **columns):
    rows = [(i, text, float(k)) for i, texts in enumerate(lists) for k, text in enumerate(texts)]
    frame = {"id": [r[0] for r in rows], "hyp": [r[1] for r in rows], "lm": [r[2] for r in rows]}
    return luthier.pool_from_frame({**frame, **columns}, columns=list(columns))


def alike(rng, n, length=12):
    """Return n texts that share most of their words, as K-best lists do: words replaced, dropped, moved."""
    base = [WORDS[k] for k in rng.integers(len(WORDS), size=length)]
    texts = []
    for _ in range(n):
        words = list(base)
        for _ in range(rng.integers(4)):
            k = int(rng.integers(len(words) or 1))
            words[k : k + rng.integers(3)] = [WORDS[j] for j in rng.integers(len(WORDS), size=rng.integers(3))]
        if rng.random() < 0.4 and len(words) > 4:
            a = int(rng.integers(len(words) - 2))
            words = [*words[a + 2 :], *words[a : a + 2], *words[:a]]
        texts.append(" ".join(words))
    return texts


def random_lists(seed, k=30, long=90):
    rng = np.random.default_rng(seed)
    return [
        ["", "a", "", "a"],
        ["one text alone"],
        ["b", "a b c d e f g h", "b a"],
        [" ".join(WORDS[k] for k in rng.integers(len(WORDS), size=n)) for n in (0, 1, 2, 3, 5, 9, 14)],
        alike(rng, k),
        alike(rng, 2, length=long),
    ]


def brute_force(lists, score):
    return [np.mean([score(h, r) for r in texts]) for texts in lists for h in texts]


@pytest.mark.parametrize("spec", SACREBLEU)
def test_equal_to_sacrebleus_sentence_scores_averaged(spec):
    pool = pool_of(random_lists(1, k=8, long=40) if spec == "ter" else random_lists(1))
    lists = [list(pool.texts)[a:b] for a, b in zip(pool.offsets, pool.offsets[1:], strict=False)]
    metric, sign = SACREBLEU[spec], -1.0 if spec == "ter" else 1.0
    wanted = brute_force(lists, lambda h, r: sign * metric.sentence_score(h, [r]).score)
    found = expected_utilities(pool, [Utility.of(load_metric(spec))])[0, :, 0]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("spec", [*OURS, "chrf(char_order=3, word_order=1, whitespace=True, beta=1)", "ter"])
def test_equal_to_the_metrics_own_sentence_scores(spec):
    pool = pool_of(random_lists(2))
    metric = load_metric(spec)

    def score(h, r):
        return float(metric.gain(metric.sentence_score(metric.stats(Batch.from_lines([h], [[r]])))[0]))

    lists = [list(pool.texts)[a:b] for a, b in zip(pool.offsets, pool.offsets[1:], strict=False)]
    found = expected_utilities(pool, [Utility.of(metric)])[0, :, 0]
    np.testing.assert_allclose(found, brute_force(lists, score), rtol=0, atol=1e-9)


def test_an_expression_is_the_sum_of_its_parts():
    pool = pool_of(random_lists(3))
    specs = ("chrf", "ter", "minimize(0.5*ter - 2*chrf + 3)")
    chrf, ter, mix = expected_utilities(pool, [Utility.of(load_metric(spec)) for spec in specs])[:, :, 0]
    np.testing.assert_allclose(mix, 2 * chrf + 0.5 * ter - 3, atol=1e-9)
    for spec in ("length", "column:q"):
        with pytest.raises(LuthierError, match="has no score of pairs of hypotheses"):
            Utility.of(load_metric(f"minimize({spec})"))


def edit_rate(h, r):
    """Return −100 · edit distance / length, by the textbook's table."""
    h, r = h.split(), r.split()
    row = list(range(len(r) + 1))
    for i, a in enumerate(h, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(r, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return -100.0 * row[-1] / len(r)


SMALL = [["a b c", "a b", "c b a", "a b d e"], ["x", "y z"]]


def expected(lists, weights, shown=None, *, leave_out=None):
    """Return Σ w u / Σ w, written out; `leave_out(i, h)` is what is taken off the weight of hypothesis h itself."""
    found = []
    for i, texts in enumerate(lists):
        evidence, counted = (shown or lists)[i], weights[i]
        for h, text in enumerate(texts):
            own = [w - (leave_out(i, h) if leave_out and r == h else 0.0) for r, w in enumerate(counted)]
            scores = [edit_rate(text, evidence[r]) for r in range(len(own))]
            found.append(sum(w * s for w, s in zip(own, scores, strict=True)) / sum(own))
    return found


def wer(lists, **evidence):
    return expected_utilities(lists, [Utility.of(load_metric("wer"))], Evidence(**evidence))[0]


def test_evidence_in_every_form():
    counts = [[2.0, 0.0, 1.0, 3.0], [1.0, 4.0]]
    pool = pool_of(SMALL, drawn=[c for row in counts for c in row])
    uniform = [[1.0] * len(texts) for texts in SMALL]
    np.testing.assert_allclose(wer(pool)[:, 0], expected(SMALL, uniform))
    np.testing.assert_allclose(wer(pool, first=2)[:, 0], expected(SMALL, [[1, 1], [1, 1]]))
    np.testing.assert_allclose(wer(pool, counts="drawn")[:, 0], expected(SMALL, counts))
    other = [["a b c d", "a"], ["y z", "y z", "x y"]]
    found = wer(pool, pool=pool_of(other, other=[0.0] * 5))[:, 0]  # no repeated row is dropped: ranks differ
    np.testing.assert_allclose(found, expected(SMALL, [[1, 1], [1, 1, 1]], other))
    w, grid = np.array([0.7]), (0.5, 2.0)
    found = wer(pool, posterior=w, temperatures=grid)
    for t, tau in enumerate(grid):
        weights = [np.exp(0.7 * np.arange(len(texts)) / tau).tolist() for texts in SMALL]
        np.testing.assert_allclose(found[:, t], expected(SMALL, weights))
        alone = wer(pool, posterior=w, temperatures=(tau,), leave_self_out=True)[:, 0]
        np.testing.assert_allclose(alone, expected(SMALL, weights, leave_out=lambda i, h, w=weights: w[i][h]))


def test_a_hypothesis_is_left_out_of_its_own_evidence():
    lists = [["a b", "a b", "a c", "b"]]
    pool = luthier.pool_from_frame(
        {"id": [0] * 4, "hyp": lists[0], "lm": [1.0, 2, 3, 4], "n": [2.0, 1, 0, 1]}, columns=["n"]
    )
    found = wer(pool, leave_self_out=True)[:, 0]
    np.testing.assert_allclose(found, expected(lists, [[1.0] * 4], leave_out=lambda i, h: 1.0))
    found = wer(pool, counts="n", leave_self_out=True)[:, 0]  # of two draws one is left out, of none nothing
    np.testing.assert_allclose(found, expected(lists, [[2, 1, 0, 1]], leave_out=lambda i, h: [1, 1, 0, 1][h]))
    found = wer(pool, first=2, leave_self_out=True)[:, 0]
    np.testing.assert_allclose(found, expected(lists, [[1, 1]], leave_out=lambda i, h: 1.0))
    assert wer(pool_of([["alone"]]), leave_self_out=True).tolist() == [[0.0]]


def test_posteriors_of_any_scale():
    pool = pool_of([["a b", "a c", "b"]])
    for size in (1e-12, 1.0, 300.0):
        weights = np.exp(size * np.arange(3.0) - size * 2)
        found = wer(pool, posterior=np.array([size]), leave_self_out=True)[:, 0]
        np.testing.assert_allclose(
            found, expected([list(pool.texts)], [weights], leave_out=lambda i, h, w=weights: w[h])
        )
    with pytest.raises(LuthierError, match="without one hypothesis no evidence of the sentence '0' counts"):
        wer(pool, posterior=np.array([1e6]), leave_self_out=True)


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ({"first": 0}, "expected at least 1 hypothesis of each list as evidence, found 0"),
        ({"counts": "none"}, "there is no column 'none' to count by. known: q"),
        ({"counts": "q"}, "expected whole numbers from 0 on in the column 'q', found 0.5"),
        ({"temperatures": (0.0,)}, "expected temperatures above 0, found 0.0"),
        ({"pool": pool_of([["a"]])}, "found none for the sentence '1'"),
        ({"pool": pool_of(SMALL), "leave_self_out": True}, "is left out of its own list only"),
        ({"counts": "q", "posterior": np.ones(1)}, "by a column or by a posterior, not by both"),
    ],
)
def test_evidence_that_cannot_be(evidence, said):
    pool = pool_of(SMALL, q=[0.5] * 6)
    with pytest.raises(LuthierError, match=said):
        wer(pool, **evidence)


def test_evidence_of_no_weight_is_refused():
    pool = pool_of(SMALL, n=[0.0] * 4 + [1.0, 0.0])
    with pytest.raises(LuthierError, match="found none that counts for the sentence '0'"):
        wer(pool, counts="n")


@pytest.mark.parametrize("most", [1 << 22, 5])
def test_matrices_from_elsewhere(most, monkeypatch):
    monkeypatch.setattr(mbr_module, "MOST_COUNTED", most)  # rows of a matrix are weighed some at a time
    pool = pool_of(SMALL)
    tables = {str(i): [[edit_rate(h, r) for r in texts] for h in texts] for i, texts in enumerate(SMALL)}
    for evidence in ({}, {"first": 2}, {"leave_self_out": True}, {"posterior": np.array([0.3])}):
        found = matrix_utilities(pool, lambda name: np.array(tables[name]), Evidence(**evidence))
        np.testing.assert_allclose(found, wer(pool, **evidence))
    with pytest.raises(LuthierError, match="expected a matrix of 4 × 4 scores for the sentence '0', found shape"):
        matrix_utilities(pool, lambda name: np.zeros((3, 4)))
    peaked = Evidence(posterior=np.array([1e6]), leave_self_out=True)
    with pytest.raises(LuthierError, match="without one hypothesis no evidence of the sentence '0' counts"):
        matrix_utilities(pool, lambda name: np.array(tables[name]), peaked)
    with pytest.raises(LuthierError, match="expected a matrix of 4 × 4 scores"):
        matrix_utilities(pool, lambda name: np.zeros((4, 5)))
    with pytest.raises(LuthierError, match="expected finite scores of pairs"):
        matrix_utilities(pool, lambda name: np.full((4, 4), np.nan))


def grams(text, n):
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


def aggregated_chrf(h, texts):
    """Return chrF with mean counts, by dictionaries."""
    h, texts = h.replace(" ", ""), [t.replace(" ", "") for t in texts]
    precision = recall = effective = 0.0
    for n in range(1, 7):
        own, mean = grams(h, n), Counter()
        for text in texts:
            for gram, count in grams(text, n).items():
                mean[gram] += count / len(texts)
        hyp, ref = sum(own.values()), sum(mean.values())
        if hyp and ref:
            matches = sum(min(count, mean[gram]) for gram, count in own.items())
            precision, recall, effective = precision + matches / hyp, recall + matches / ref, effective + 1
    below = 4 * precision + recall
    return 100 * 5 * precision * recall / below / effective if below else 0.0


def aggregated_bleu(h, texts):
    """Return BLEU, smoothed by plus one, with mean counts and the mean length."""
    h, texts = tuple(h.split()), [tuple(t.split()) for t in texts]
    logs, found, length = [], 0.0, np.mean([len(t) for t in texts])
    for n in range(1, min(4, len(h)) + 1):
        own = grams(h, n)
        mean = Counter({g: np.mean([grams(t, n)[g] for t in texts]) for g in own})
        matches, total = sum(min(count, mean[g]) for g, count in own.items()), sum(own.values())
        found += matches
        more = n > 1
        logs.append(np.log((matches + more) / (total + more)) if matches + more else -np.inf)
    return 100 * np.exp(min(0, 1 - length / len(h)) + np.mean(logs)) if found else 0.0


@pytest.mark.parametrize(("spec", "twin"), [("chrf", aggregated_chrf), ("bleu", aggregated_bleu)])
def test_aggregated_references(spec, twin):
    pool = pool_of(random_lists(4))
    lists = [list(pool.texts)[a:b] for a, b in zip(pool.offsets, pool.offsets[1:], strict=False)]
    found = expected_utilities(pool, [Utility.of(load_metric(spec))], aggregate=True)[0, :, 0]
    np.testing.assert_allclose(found, [twin(h, texts) for texts in lists for h in texts], atol=1e-9)
    with pytest.raises(LuthierError, match="ter has no aggregated references"):
        expected_utilities(pool, [Utility.of(load_metric("ter"))], aggregate=True)


PRUNED = (
    "chrf", "chrf++", "bleu", "bleu(sentence_smoothing=exp)", "bleu(sentence_smoothing=floor)", "ter", "wer", "cer",
    "per", "0.3*chrf + 0.7*bleu", "chrf(eps_smoothing=True)", "bleu(sentence_smoothing=add_k)", "maximize(chrf - ter)",
)  # fmt: skip
TEXT = st.lists(st.sampled_from("abcd"), max_size=7).map(" ".join)


@settings(max_examples=60)
@given(st.lists(st.lists(TEXT, min_size=1, max_size=9), min_size=1, max_size=8), st.integers(0, 12))
def test_pruned_winners_are_the_exact_ones(lists, which):
    pool = pool_of(lists)
    utility = Utility.of(load_metric(PRUNED[which]))
    exact, pruned = (select_by(pool, utility, prune=prune) for prune in (False, True))
    assert exact.rows.tolist() == pruned.rows.tolist()
    np.testing.assert_allclose(pruned.utilities, exact.utilities, atol=1e-9)
    assert pruned.scored <= exact.scored == exact.pairs
    block = make_block(pool, Evidence(), np.arange(pool.n_sentences))
    batch = text_batch(block.texts, block.lists.offsets)
    sums, limits = (f(block.lists, batch) for f in (utility.sums, utility.limits))
    assert (limits >= sums - EQUAL * (1 + np.abs(sums))).all()


@pytest.mark.compiled
@pytest.mark.parametrize("spec", ["chrf", "bleu", "ter"])
def test_pruning_leaves_most_of_a_list_out(spec):
    rng = np.random.default_rng(5)
    pool = pool_of([alike(rng, 60) for _ in range(4)])
    utility, evidence = Utility.of(load_metric(spec)), Evidence(posterior=np.array([-0.05]))
    exact, pruned = (select_by(pool, utility, evidence, prune=prune) for prune in (False, True))
    assert exact.rows.tolist() == pruned.rows.tolist()
    assert pruned.scored < 0.7 * pruned.pairs
    with pytest.raises(LuthierError, match="limits hold for the scores of pairs with the candidate itself"):
        select_by(pool, utility, Evidence(leave_self_out=True), prune=True)


def test_ties_go_to_the_first_and_empty_lists_to_none():
    pool = pool_of([["b a", "a b"], ["x"], ["c d e", "e d c", "c d e f"]]).take([0, 1, 3, 4, 5])
    for spec in ("per", "chrf", "ter"):
        found = select_by(pool, Utility.of(load_metric(spec)))
        assert found.rows[:2].tolist() == [0, -1]
    assert found.rows[2] >= 2


@pytest.mark.compiled
def test_any_number_of_threads_gives_the_same_bytes(monkeypatch):
    rng = np.random.default_rng(6)
    pool = pool_of([alike(rng, 12) for _ in range(9)])
    utilities = [Utility.of(load_metric(spec)) for spec in ("chrf", "ter")]
    whole = expected_utilities(pool, utilities)
    monkeypatch.setattr("luthier.features.consensus.mbr.BLOCK_ROWS", 20)
    assert expected_utilities(pool, utilities).tobytes() == whole.tobytes()
    assert expected_utilities(pool, utilities, threads=2).tobytes() == whole.tobytes()


def odd_score(h, r):
    """Return a number in [0, 1] that knows nothing of symmetry, not even that a text is like itself."""
    return (zlib.crc32(f"{h}|{r}".encode()) % 1000) / 2000 + (0.5 if h.split()[:1] == r.split()[:1] else 0.0)


@dataclasses.dataclass(frozen=True)
class Odd(Scorer):
    calls: list = dataclasses.field(default_factory=list)

    def score(self, batch):
        self.calls.extend((item.id, item.hyp, item.refs) for item in batch)
        return [odd_score(item.hyp, item.refs[0]) for item in batch]


EVIDENCE = [{}, {"first": 3}, {"counts": "n"}, {"posterior": {"lm": 0.3}, "temperature": 0.5}]


@pytest.mark.parametrize("more", [*EVIDENCE, {"leave_self_out": True}])
def test_a_scorer_of_pairs_is_a_matrix_that_nobody_holds(more):
    lists = random_lists(3, k=9)
    pool = pool_of(lists, n=[float(k % 3) + 1 for k in range(sum(map(len, lists)))])
    texts = [list(pool.texts)[a:b] for a, b in zip(pool.offsets, pool.offsets[1:], strict=False)]
    matrices = {str(i): np.array([[odd_score(h, r) for r in own] for h in own]) for i, own in enumerate(texts)}
    wide = {k: m[:, : more.get("first", m.shape[1])] for k, m in matrices.items()}
    wanted = luthier.mbr(pool, matrix={"odd": wide}, **more).pool.features.column("mbr_odd")
    scorer = Odd()
    found = luthier.mbr(pool, score_with={"odd": scorer}, **more).pool.features.column("mbr_odd")
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    assert len(scorer.calls) == len(set(scorer.calls))  # equal texts are scored once
    by_matrix = luthier.mbr(pool, select="odd", matrix={"odd": wide}, **more)
    by_scorer = luthier.mbr(pool, select="odd", score_with={"odd": Odd()}, **more)
    assert by_scorer.rows.tolist() == by_matrix.rows.tolist()
    assert by_scorer.selection.scored == by_scorer.selection.pairs


@pytest.mark.parametrize("more", EVIDENCE)
@pytest.mark.parametrize("portion", [1 << 18, 7])
def test_a_scorer_whose_limits_are_known_leaves_pairs_unscored(more, portion, monkeypatch):
    monkeypatch.setattr(pairs_module, "MOST_PAIRS", portion)
    rng = np.random.default_rng(8)
    sizes = [(int(rng.integers(1, 40)), int(rng.integers(1, 9))) for _ in range(10 if portion == 7 else 80)]
    lists = [alike(rng, k, length=length) for k, length in sizes]
    pool = pool_of(lists, n=[1.0 + k % 4 for k in range(sum(map(len, lists)))])
    scorer = Odd()
    exact = luthier.mbr(pool, select="odd", score_with={"odd": Odd()}, **more)
    pruned = luthier.mbr(pool, select="odd", score_with={"odd": scorer}, bounds={"odd": (0, 1)}, prune=True, **more)
    assert pruned.rows.tolist() == exact.rows.tolist()
    np.testing.assert_allclose(pruned.selection.utilities, exact.selection.utilities, atol=1e-12)
    assert len(scorer.calls) == len(set(scorer.calls)) == pruned.selection.scored < pruned.selection.pairs


def test_what_a_scorer_of_pairs_is_refused():
    pool = pool_of([["a b", "a"]])
    for bounds, prune, said in (
        (None, True, "to prune, the highest score of odd must be known"),
        ({"odd": (0, 0.2)}, True, "expected scores of odd from 0 to 0.2, found"),
        ({"odd": (1, 0)}, False, "the lower first, found 1 to 0"),
        ({"odd": 3}, False, "expected the lowest and the highest score of odd as `bounds`, found 3"),
        ({"other": (0, 1)}, False, "bounds are of scorers, and none is called 'other'. known: odd"),
    ):
        with pytest.raises(LuthierError, match=said):
            luthier.mbr(pool, select="odd", score_with={"odd": Odd()}, bounds=bounds, prune=prune)
    with pytest.raises(LuthierError, match="a selection by the one matrix or scorer that is given"):
        luthier.mbr(pool, select="chrf", score_with={"odd": Odd()})
    with pytest.raises(LuthierError, match="there is nothing to leave out"):
        luthier.mbr(pool, select="odd", matrix={"odd": {"0": np.eye(2)}}, prune=True)
    with pytest.raises(LuthierError, match="two utilities have one name"):
        luthier.mbr(pool, score_with={"odd": Odd()}, matrix={"odd": {"0": np.eye(2)}})
    both = luthier.mbr(pool, ["odd", "wer"], score_with={"odd": Odd()}).pool.features.names
    assert both == ("lm", "mbr_wer", "mbr_odd")
