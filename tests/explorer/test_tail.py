"""Files of states that grow, are replaced, or are those of a loop."""

import gzip
import json

import numpy as np
import pytest
from served import make_session

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.journal import JournalWriter
from luthier.explorer.app import answer
from luthier.explorer.sessions import tail as following
from luthier.explorer.sessions.tail import Followed
from luthier.kbest.weights import Weights
from luthier.tuning.loops.folder import KIND
from luthier.tuning.loops.report import Iteration


def read(line, number):
    found = json.loads(line)
    if found == "bad":
        raise InputError(expected="a state", found="bad", path="t", line=number)
    return None if found is None else {"value": found, "line": number}


def values(seen):
    return [state["value"] for state in seen.states]


def look_through(followed):
    looks = 1
    while followed.look().more:
        looks += 1
    return looks


def test_a_file_that_grows_is_read_on(tmp_path, monkeypatch):
    path = tmp_path / "t"
    followed = Followed(str(path), read)
    assert followed.look().waiting
    assert followed.look().generation == followed.look().generation
    with path.open("w") as file:
        file.write("null\n1\n\n2")
        file.flush()
        seen = followed.look()
        assert (values(seen), seen.waiting) == ([1], False)
        file.write('3\n{"a": 4}')
        file.flush()
        assert values(followed.look()) == [1, 23, {"a": 4}]  # a whole object needs no end of line
        monkeypatch.setattr(following, "_opened", None)  # nothing new: nothing is opened
        assert followed.look() is followed.look()
        monkeypatch.undo()
        file.write("\n5\n")
    seen = followed.look()
    assert [state["line"] for state in seen.states] == [2, 4, 5, 6]
    assert seen.generation == 1
    assert followed.line_of(1, 1) == (b"23", 4)
    with pytest.raises(LuthierError, match="has changed meanwhile"):
        followed.line_of(1, 0)


def test_another_file_begins_anew(tmp_path):
    path, other = tmp_path / "t", tmp_path / "u"
    followed = Followed(str(path), read)
    path.write_text("1\n2\n")
    assert values(followed.look()) == [1, 2]
    path.write_text("7\n8\n9\n")  # in place, and longer
    assert values(followed.look()) == [7, 8, 9]
    path.write_text("7\n")
    assert values(followed.look()) == [7]
    other.write_text("7\n8\n")
    other.replace(path)
    seen = followed.look()
    assert (values(seen), seen.generation) == ([7, 8], 3)
    path.unlink()
    assert followed.look().waiting


def test_a_bad_line_is_told_each_time_and_what_follows_it_is_found_once_it_is_mended(tmp_path):
    path = tmp_path / "t"
    followed = Followed(str(path), read)
    path.write_text('1\n"bad"\n3\n')
    for _ in range(2):
        with pytest.raises(InputError, match="t:2: expected a state, found bad"):
            followed.look()
    path.write_text("1\n2\n3\n")
    assert values(followed.look()) == [1, 2, 3]


def test_long_files_are_read_in_parts_and_packed_ones_too(tmp_path, monkeypatch):
    monkeypatch.setattr(following, "MOST_READ", 64)
    monkeypatch.setattr(following, "MOST_STATES", 100)
    text = "".join(f"{i}\n" for i in range(100))
    plain, packed = tmp_path / "t", tmp_path / "t.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    for path in (plain, packed):
        followed = Followed(str(path), read)
        assert look_through(followed) == 5
        assert values(followed.look()) == list(range(100))
        assert followed.line_of(70, 0) == (b"70", 71)
    plain.write_text(text + "1\n")
    with pytest.raises(InputError, match="at most 100 states"):
        look_through(Followed(str(plain), read))
    plain.write_text("1" * 64 + "\n")
    with pytest.raises(InputError, match="a longer one"):
        Followed(str(plain), read).look()


def ask(session, name, **body):
    return answer(session, name, json.dumps(body).encode()).values


@pytest.mark.parametrize("metric", ["bleu", "ter"])
def test_a_loop_that_runs_is_followed_by_its_turns(tmp_path, metric):
    folder = tmp_path / "loop"
    session = make_session(metric, traces=[str(folder)])
    problem = session.problem
    assert ask(session, "trace")["waiting"]
    folder.mkdir()
    with JournalWriter(folder / "iterations.jsonl") as writer:
        writer.append({"kind": KIND, "identity": {"metric": problem.metric.signature}})
        writer.append({"heldout": None})
        assert ask(session, "trace")["states"] == []
        turn = Iteration(
            number=1, hypotheses=30, new=20, merged=20, same=False, decoded=30.0, before=31.0, after=35.0, change=0.1,
            heldout=29.0, weights=Weights({problem.names[2]: 0.75, "unknown": 1.0}), lists="x",
        )  # fmt: skip
        writer.append(turn.as_record())
        found = ask(session, "trace", has=0, generation=0)
    sign = 1 if problem.metric.higher_is_better else -1
    (told,) = found["states"]
    assert (told["gain"], told["heldout_gain"], told["step"]) == (sign * 35.0, sign * 29.0, 1)
    assert "20 new hypotheses" in told["did"]
    expected = np.zeros(problem.n_features)
    expected[2] = 0.75
    weights = np.array(session.start)
    for d, value in ask(session, "state", state=0)["weights"]["set"]:
        weights[d] = value
    assert weights.tolist() == expected.tolist()
    again = ask(session, "trace", has=1, generation=found["generation"])
    assert (again["first"], again["states"]) == (1, [])
    other = make_session("ter" if metric == "bleu" else "bleu", traces=[str(folder)])
    with pytest.raises(InputError, match="expected a loop that tunes for"):
        ask(other, "trace")
