"""The loop around a decoder: what it merges, when it ends, and that it goes on from where it was."""

import copy
import dataclasses
import functools
import itertools
import json
import shutil

import numpy as np
import pytest
from toys import Scripted, Wanderer

from luthier.core.errors import InputError, LuthierError
from luthier.core.rng import child_rng
from luthier.kbest.rerank import rerank
from luthier.kbest.storage.pool_file import open_pool
from luthier.kbest.weights import Weights, read_weights
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.loops.folder import HELDOUT, LISTS, RecordedLists
from luthier.tuning.loops.loop import LoopOptions, LoopPlace, tune_loop
from luthier.tuning.loops.report import Iteration, distance, why_ended

BLEU = load_metric("bleu")
LISTS_OF = SyntheticLists(sentences=6, k=40, mean_length=6.0, n_features=4)
START = LISTS_OF.decoder_weights


@functools.cache
def all_hypotheses(seed):
    return LISTS_OF.generate(seed)


class Searching:
    """A decoder whose space is a pool: it returns the k best of each list, the best first or not."""

    def __init__(self, seed=1, k=5, fail_at=None):
        self.pool, self.k, self.asked, self.fail_at = all_hypotheses(seed), k, [], fail_at

    def __call__(self, weights):
        self.asked.append(dict(weights))
        if len(self.asked) == self.fail_at:
            raise LuthierError("the decoder has broken down")
        scores = self.pool.scores(np.array([weights[name] for name in self.pool.features.names]))
        spans = zip(self.pool.offsets[:-1], self.pool.offsets[1:], strict=True)
        rows = [np.sort(low + np.argsort(-scores[low:high], kind="stable")[: self.k]) for low, high in spans]
        return self.pool.take(np.concatenate(rows))


def files_of(folder):
    """Return all that a loop wrote but its times."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "times.jsonl"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def small_loop(decode, folder=None, *, resume=False, heldout=None, threads=1, method=None, **options):
    options = LoopOptions(**{"iterations": 4, "patience": 0, "choose": "last", "threads": threads, **options})
    place = None if folder is None else LoopPlace(str(folder), resume)
    return tune_loop(decode, START, method or Wanderer(), BLEU, options, heldout=heldout, place=place)


def test_every_turn_decodes_with_what_the_turn_before_tuned():
    decode = Searching()
    result = small_loop(decode)
    assert decode.asked == [START, *(dict(turn.weights) for turn in result.iterations[:-1])]
    assert [turn.number for turn in result.iterations] == list(range(1, len(decode.asked) + 1))
    assert result.chosen == len(result.iterations)
    assert dict(result.weights) == dict(result.iterations[-1].weights)


def test_scores_and_counts_are_those_of_a_plain_reckoning():
    decode = Searching()
    result = small_loop(decode)
    seen, pool = [set() for _ in range(6)], decode.pool
    for asked, turn in zip(decode.asked, result.iterations, strict=True):
        lists = Searching()(asked)
        vector = np.array([asked[name] for name in pool.features.names])
        stats = ListProblem.of(lists, BLEU).stats[rerank(lists, vector)].sum(axis=0)
        assert turn.decoded == pytest.approx(float(BLEU.score(stats)), abs=1e-12)
        new = 0
        for sentence in range(6):
            rows = range(lists.offsets[sentence], lists.offsets[sentence + 1])
            keys = {(lists.texts[row], lists.features.dense[row].tobytes()) for row in rows}
            new += len(keys - seen[sentence])
            seen[sentence] |= keys
        assert (turn.hypotheses, turn.new) == (lists.n_hypotheses, new)
        assert turn.merged == sum(map(len, seen))
        assert turn.after >= turn.before


def test_the_loop_ends_when_nothing_is_new():
    # lists longer than the space: the first turn has all of it
    result = small_loop(Searching(k=1000))
    assert [turn.new for turn in result.iterations][1:] == [0]
    assert result.iterations[1].same
    assert "ignores the weights" in result.ended
    assert dict(result.weights) == dict(result.iterations[0].weights)


class Halving(Searching):
    """Brings in its second turn half of what it brought before."""

    def __call__(self, weights):
        pool = super().__call__(weights)
        if len(self.asked) == 1:
            return pool
        return pool.take(np.arange(0, pool.n_hypotheses, 2))


def test_fewer_hypotheses_are_not_the_same_lists():
    result = small_loop(Halving(k=1000))
    assert not result.iterations[1].same
    assert "brought nothing new" in result.ended


def test_the_limit_ends_it_too():
    result = small_loop(Searching(), iterations=2)
    assert "the limit of 2 turns" in result.ended
    assert len(result.iterations) == 2


class Reluctant(Wanderer):
    """Hands its start back in some turns, which it knows by their seeds."""

    idle = frozenset({1, 3})

    def steps(self, problem, start, rng):
        """Yield nothing but the start in an idle turn."""
        turn = next(n for n in range(1, 9) if child_rng(n, 0).random() == copy.deepcopy(rng).random())
        yield from itertools.islice(super().steps(problem, start, rng), 1 if turn in self.idle else None)


def test_a_tuner_that_hands_its_start_back_does_not_end_the_loop():
    decode = Searching()
    result = small_loop(decode, method=Reluctant(), iterations=6)
    assert [turn.change == 0 for turn in result.iterations[:3]] == [True, False, True]
    assert (result.iterations[1].new, result.iterations[1].same) == (0, False)  # of the start: no sign of the decoder
    assert result.iterations[2].new > 0
    assert len(result.iterations) == 6


def test_weights_stay_near_those_that_decoded_best():
    free, near = (small_loop(Searching(), iterations=6, trust=trust) for trust in (0.0, 0.3))
    decoded, used = [], [START]
    for turn in near.iterations:
        decoded.append(turn.decoded)
        used.append(turn.weights)
        limit, best = 0.3, -1.0  # by hand
        for score in decoded:
            limit, best = (min(0.3, 2 * limit), score) if score > best else (limit / 2, best)
        assert distance(used[int(np.argmax(decoded))], turn.weights) <= limit + 1e-12
    assert max(distance(START, turn.weights) for turn in free.iterations) > 0.3  # without it they go


def turns_of(scores, metric=BLEU):
    made = [
        Iteration(n, 9, 1, 9, same=False, decoded=score, before=0.0, after=0.0, change=1.0, heldout=None,
                  weights=Weights({}), lists="")
        for n, score in enumerate(scores, start=1)
    ]  # fmt: skip
    return why_ended(made, LoopOptions(iterations=99), higher_is_better=metric.higher_is_better)


@pytest.mark.parametrize(
    ("scores", "ends"),
    [
        ([30.0], False),
        ([30.0, 20.0, 25.0], False),
        ([30.0, 20.0, 25.0, 27.0, 29.0], False),  # it comes back from a turn that went astray
        ([30.0, 20.0, 25.0, 30.005, 30.009], True),  # 0.01 more is better
        ([30.0, 20.0, 25.0, 30.02], False),
        ([30.0, 31.0, 30.9, 31.0], False),
        ([30.0, 31.0, 30.9, 31.0, 30.0], True),
    ],
)
def test_decoded_scores_of_several_turns_end_it(scores, ends):
    assert bool(turns_of(scores)) == ends
    assert bool(turns_of([100.0 - score for score in scores], load_metric("ter"))) == ends


def test_distance_does_not_see_the_scale():
    assert distance({"a": 1.0, "b": -3.0}, {"b": -6.0, "a": 2.0}) == 0
    assert distance({"a": 1.0}, {"b": 5.0}) == 2  # |0 − 1| + |1 − 0|
    assert distance({"a": 0.0}, {"a": 0.0}) == 0


def test_the_held_out_set_chooses_where_asked_to():
    heldout = Searching(seed=2)
    # weights that get worse and worse: the start is best
    result = small_loop(Searching(), heldout=heldout, method=Scripted(way="-5 -9"), choose="heldout", iterations=2)
    scores = [result.start_heldout, *(turn.heldout for turn in result.iterations)]
    assert result.chosen == int(np.argmax(scores)) == 0
    assert dict(result.weights) == START
    assert dict(small_loop(Searching(), heldout=heldout, method=Scripted(way="-5 -9")).weights)["lm"] == -9
    with pytest.raises(LuthierError, match="held-out set is to choose"):
        small_loop(Searching(), choose="heldout")


def test_the_answer_is_what_decoded_the_tuning_sentences_best_if_asked():
    ways = ("-5 -9 3", "3 -9 -9", "-9 -5 -9")
    for way in ways:
        result = small_loop(Searching(), method=Scripted(way=way), choose="decoded", iterations=3)
        decoded = [turn.decoded for turn in result.iterations]
        tried = [dict(result.start), *(dict(turn.weights) for turn in result.iterations)]
        assert len(decoded) > 1
        assert dict(result.weights) == tried[result.chosen] == tried[decoded.index(max(decoded))]
        assert result.chosen < len(result.iterations)  # the last weights decoded nothing yet


def test_a_folder_keeps_every_turn(tmp_path):
    result = small_loop(Searching(), tmp_path / "a", heldout=Searching(2))
    plain = small_loop(Searching(), heldout=Searching(2))
    assert result.iterations == plain.iterations
    for number, turn in enumerate(result.iterations, start=1):
        assert dict(read_weights(tmp_path / "a" / "weights" / f"{number:03d}.json")) == dict(turn.weights)
        assert open_pool(tmp_path / "a" / "lists" / f"{number - 1:03d}.arrow").digest() == turn.lists
    assert dict(read_weights(tmp_path / "a" / "weights.json")) == dict(result.weights)
    assert all(seconds.decode is not None for seconds in result.seconds)
    assert json.dumps(result.as_dict())


def test_one_thread_and_two_give_the_same_bytes(tmp_path):
    for threads in (1, 2):
        small_loop(Searching(), tmp_path / str(threads), threads=threads, restarts=3)
    assert files_of(tmp_path / "1") == files_of(tmp_path / "2")


@pytest.mark.parametrize("broken", [1, 2, 3, 4])
def test_a_loop_that_broke_off_goes_on_to_the_same_bytes(tmp_path, broken):
    whole = small_loop(Searching(), tmp_path / "whole", heldout=Searching(2))
    with pytest.raises(LuthierError, match="broken down"):
        small_loop(Searching(fail_at=broken), tmp_path / "part", heldout=Searching(2))
    decode = Searching()
    result = small_loop(decode, tmp_path / "part", heldout=Searching(2), resume=True)
    assert files_of(tmp_path / "part") == files_of(tmp_path / "whole")
    assert result.iterations == whole.iterations
    assert len(decode.asked) == len(whole.iterations) - broken + 1  # nothing is decoded twice


def test_every_file_that_a_kill_can_leave_leads_to_the_same_end(tmp_path):
    small_loop(Searching(), tmp_path / "whole", heldout=Searching(2))
    expected = files_of(tmp_path / "whole")
    lines = expected["iterations.jsonl"].splitlines(keepends=True)
    for kept in range(len(lines)):
        part = tmp_path / f"part{kept}"
        shutil.copytree(tmp_path / "whole", part)
        # half a line at the end, lists of the turn under way cut off, the answer not yet written
        (part / "iterations.jsonl").write_bytes(b"".join(lines[:kept]) + lines[kept][:20])
        (part / "weights.json").unlink()
        ahead = part / "lists" / f"{max(0, kept - 2):03d}.arrow"
        ahead.write_bytes(ahead.read_bytes()[:1000])
        small_loop(Searching(), part, heldout=Searching(2), resume=True)
        assert files_of(part) == expected


def test_recorded_lists_give_the_run_that_recorded_them(tmp_path):
    small_loop(Searching(), tmp_path / "first", heldout=Searching(2))
    recorded = [RecordedLists(str(tmp_path / "first"), part) for part in (LISTS, HELDOUT)]
    small_loop(recorded[0], tmp_path / "second", heldout=recorded[1])
    assert files_of(tmp_path / "first") == files_of(tmp_path / "second")
    with pytest.raises(LuthierError, match="no lists were recorded for these weights"):
        small_loop(recorded[0], seed=9)


def test_more_turns_may_be_asked_for_later(tmp_path):
    small_loop(Searching(), tmp_path / "a", iterations=2)
    small_loop(Searching(), tmp_path / "a", iterations=3, resume=True)
    small_loop(Searching(), tmp_path / "b", iterations=3)
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_a_folder_is_of_one_loop_only(tmp_path):
    small_loop(Searching(), tmp_path)
    with pytest.raises(LuthierError, match="there is a loop already"):
        small_loop(Searching(), tmp_path)
    with pytest.raises(LuthierError, match="another loop: its tuner is not the same"):
        small_loop(Searching(), tmp_path, method=Wanderer(count=2), resume=True)
    with pytest.raises(LuthierError, match="another loop: its seed is not the same"):
        small_loop(Searching(), tmp_path, seed=5, resume=True)
    turns = tmp_path / "iterations.jsonl"
    turns.write_bytes(turns.read_bytes().replace(b'"number": 1', b'"number": 7'))
    with pytest.raises(InputError, match="changed after it was written"):
        small_loop(Searching(), tmp_path, resume=True)


def test_lists_that_were_changed_are_found_out(tmp_path):
    small_loop(Searching(), tmp_path)
    shutil.copy(tmp_path / "lists" / "001.arrow", tmp_path / "lists" / "000.arrow")
    with pytest.raises(InputError, match="expected the pool"):
        small_loop(Searching(), tmp_path, resume=True)


class Fewer(Searching):
    def __call__(self, weights):
        pool = super().__call__(weights)
        return pool if len(self.asked) == 1 else pool.take_sentences([0, 1, 2])


def test_lists_of_other_sentences_are_refused():
    with pytest.raises(LuthierError, match="expected lists of the same 6 sentences in every turn, found 3"):
        small_loop(Fewer())


def test_bounds_hold_in_every_turn():
    options = LoopOptions(iterations=2)
    result = tune_loop(Searching(), START, Wanderer(), BLEU, options, bounds={"lm": (0.2, 0.2)})
    assert all(turn.weights["lm"] == 0.2 for turn in result.iterations)


def test_a_folder_grows_by_what_each_turn_decoded_and_by_nothing_else(tmp_path):
    class Endless(Searching):
        """It never returns a list twice, so that the loop goes on."""

        def __call__(self, weights):
            pool = super().__call__(weights)
            dense = pool.features.dense.copy()
            dense[:, 0] += len(self.asked)
            return dataclasses.replace(pool, features=dataclasses.replace(pool.features, dense=dense))

    found = small_loop(Endless(k=3), tmp_path / "loop", iterations=30)
    assert len(found.iterations) == 30
    assert found.iterations[-1].merged > 20 * found.iterations[0].hypotheses
    sizes = [path.stat().st_size for path in sorted((tmp_path / "loop" / LISTS).iterdir())]
    assert len(sizes) == 30
    assert max(sizes) < 1.2 * sizes[0]  # each turn's own lists, not all that were merged
    others = sum(len(data) for name, data in files_of(tmp_path / "loop").items() if not name.startswith(LISTS))
    assert others < 60_000
