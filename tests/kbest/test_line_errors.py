"""Every way a list can be bad: the message, the exit code, and that nothing is left behind."""

import gzip
import json
import random

import pytest

from luthier import read_pool
from luthier.core.errors import InputError
from luthier.kbest.reading.reader import check_columns

GOOD = "0 ||| a b ||| lm=1 tm=2 ||| 3\n0 ||| a c ||| lm=2 tm=1 ||| 2\n1 ||| d ||| lm=0.5 tm=1 ||| 1\n"
REFS = "a b\nd e\n"


def case(name, text, message, line, *, kind=None, skipped=None):
    return pytest.param(text, message, line, kind, skipped, id=name)


# what is in the list, what must be said, on which line, under which name it is counted
LINE_FAULTS = [
    case("too few fields", GOOD + "1 ||| only two\n", "at least 3 fields", 4, kind="fields"),
    case("an empty line", GOOD + "\n", "found an empty line", 4, kind="fields"),
    case("no number", GOOD + "1 ||| d ||| lm=one ||| 1\n", "a number, found 'one'", 4, kind="number"),
    case("a comma", GOOD + "1 ||| d ||| lm=1,5 ||| 1\n", "a number, found '1,5'", 4, kind="number"),
    case("nan", GOOD + "1 ||| d ||| lm=nan ||| 1\n", "a finite number, found 'nan'", 4, kind="not-finite"),
    case("inf", GOOD + "1 ||| d ||| lm=-inf ||| 1\n", "a finite number, found '-inf'", 4, kind="not-finite"),
    case("overflow", GOOD + "1 ||| d ||| lm=1e999 ||| 1\n", "finite number", 4, kind="not-finite"),
    case("a bad total", GOOD + "1 ||| d ||| lm=1 ||| x\n", "a number, found 'x'", 4, kind="number"),
    case("no reference", GOOD + "2 ||| d ||| lm=1 ||| 1\n", "one of the 2 sentences", 4, kind="unknown-id"),
    case("order", GOOD + "0 ||| z ||| lm=1 ||| 1\n", "ascending order", 4, kind="order"),
    case("a name twice", GOOD + "1 ||| z ||| lm=1 lm=2 ||| 1\n", "'lm' twice", 4, kind="repeated-name"),
    case("a loose value", GOOD + "1 ||| z ||| lm=1 7 ||| 1\n", "the loose value '7'", 4, kind="feature"),
    case("no name", GOOD + "1 ||| z ||| =7 ||| 1\n", "'=7', a value without a name", 4, kind="feature"),
]


@pytest.fixture
def refs(tmp_path):
    path = tmp_path / "refs.txt"
    path.write_text(REFS)
    return path


def read(run_cli, tmp_path, content, refs, *more):
    path, out = tmp_path / "list.txt", tmp_path / "out" / "pool.arrow"
    out.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, stdout, stderr = run_cli("pool", path, "--refs", refs, "-o", out, "--format", "moses", *more)
    return code, stdout, stderr, out, path


@pytest.mark.parametrize("text, message, line, kind, skipped", LINE_FAULTS)
def test_the_first_fault_stops(run_cli, tmp_path, refs, text, message, line, kind, skipped):
    code, stdout, stderr, out, path = read(run_cli, tmp_path, text, refs)
    assert code == 2
    assert f"{path}:{line}: expected " in stderr
    assert message in stderr
    assert stdout == ""
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize("text, message, line, kind, skipped", LINE_FAULTS)
def test_skipping_goes_on_and_counts(run_cli, tmp_path, refs, text, message, line, kind, skipped):
    code, stdout, _, out, _ = read(run_cli, tmp_path, text, refs, "--skip-bad", "--json")
    report = json.loads(stdout)
    assert code == 0
    assert report["lines_left_out"] == {kind: 1}
    assert message in report["first_of_each_kind"][kind]
    assert report["hypotheses"] == 3
    assert out.exists()


def test_the_lowest_line_speaks_first_whatever_finds_it(run_cli, tmp_path, refs):
    # line 4 is found by the builder (order), line 5 by the reader (no number)
    text = GOOD + "0 ||| z ||| lm=1 ||| 1\n1 ||| z ||| lm=x ||| 1\n"
    *_, stderr, _, path = read(run_cli, tmp_path, text, refs)
    assert f"{path}:4:" in stderr


def test_positional_values_must_be_complete(run_cli, tmp_path, refs):
    text = "0 ||| a ||| tm= 1 2 3 lm= 4 ||| 0\n1 ||| b ||| tm= 1 2 lm= 4 ||| 0\n"
    code, _, stderr, out, path = read(run_cli, tmp_path, text, refs)
    assert code == 2
    assert f"{path}:2: expected 3 values of 'tm=', as on the first line, found 2" in stderr
    assert list(out.parent.iterdir()) == []


def test_an_absent_name_counts_zero(run_cli, tmp_path, refs):
    from luthier import open_pool

    text = "0 ||| a ||| lm=1 x=5 ||| 0\n1 ||| b ||| lm=2 ||| 0\n"
    code, *_, out, _ = read(run_cli, tmp_path, text, refs)
    assert code == 0
    assert open_pool(out).features.column("x").tolist() == [5, 0]


def test_names_that_collide(run_cli, tmp_path, refs):
    text = "0 ||| a ||| tm= 1 2 tm_0=3 ||| 0\n1 ||| b ||| tm= 1 2 tm_0=3 ||| 0\n"
    code, _, stderr, out, _ = read(run_cli, tmp_path, text, refs)
    assert code == 2
    assert "two that come to 'tm_0'" in stderr
    assert list(out.parent.iterdir()) == []


def test_bad_utf8(run_cli, tmp_path, refs):
    raw = GOOD.encode() + b"1 ||| caf\xe9 ||| lm=1 ||| 1\n"
    code, _, stderr, out, path = read(run_cli, tmp_path, raw, refs)
    assert code == 2
    assert f"{path}:4: expected UTF-8 text" in stderr
    assert "iconv" in stderr
    assert list(out.parent.iterdir()) == []
    code, stdout, *_ = read(run_cli, tmp_path, raw, refs, "--skip-bad", "--json")
    assert (code, json.loads(stdout)["lines_left_out"]) == (0, {"utf-8": 1})


def test_truncated_gz(run_cli, tmp_path, refs):
    rng = random.Random(1)
    lines = [f"{i // 50} ||| w{rng.random()} ||| lm={rng.random()} ||| 1\n" for i in range(100)]
    raw = gzip.compress("".join(lines).encode())[:-600]
    code, _, stderr, out, path = read(run_cli, tmp_path, raw, refs)
    assert code == 2
    assert "expected a whole compressed file" in stderr
    assert str(path) in stderr
    assert list(out.parent.iterdir()) == []
    code, stdout, *_ = read(run_cli, tmp_path, raw, refs, "--skip-bad", "--json")
    report = json.loads(stdout)
    assert code == 0
    assert report["lines_left_out"] == {"truncated": 1}
    assert 50 < report["hypotheses"] < 100


@pytest.mark.parametrize(
    "raw, expected, fixed",
    [
        (GOOD.replace("\n", "\r\n").encode(), "Windows line end", {"windows-line-end": 3}),
        (b"\xef\xbb\xbf" + GOOD.encode(), "byte-order mark", {"byte-order-mark": 1}),
    ],
    ids=["windows line end", "byte-order mark"],
)
def test_what_can_be_mended(run_cli, tmp_path, refs, raw, expected, fixed):
    code, _, stderr, out, path = read(run_cli, tmp_path, raw, refs)
    assert code == 2
    assert f"{path}:1: expected" in stderr
    assert expected in stderr
    assert "hint: " in stderr
    assert list(out.parent.iterdir()) == []
    code, stdout, *_ = read(run_cli, tmp_path, raw, refs, "--skip-bad", "--json")
    report = json.loads(stdout)
    assert (code, report["places_mended"], report["hypotheses"]) == (0, fixed, 3)


@pytest.mark.parametrize("name", ["empty", "empty.gz"])
def test_an_empty_file(run_cli, tmp_path, refs, name):
    path, out = tmp_path / name, tmp_path / "pool.arrow"
    path.write_bytes(gzip.compress(b"") if name.endswith("gz") else b"")
    for more in ([], ["--skip-bad"], ["--format", "moses"]):
        code, _, stderr = run_cli("pool", path, "--refs", refs, "-o", out, *more)
        assert code == 2
        assert f"{path}: expected at least one line, found an empty file" in stderr
        assert not out.exists()


def test_random_bytes(run_cli, tmp_path, refs):
    path, out = tmp_path / "noise", tmp_path / "pool.arrow"
    path.write_bytes(random.Random(2).randbytes(20_000))
    code, _, stderr = run_cli("pool", path, "--refs", refs, "-o", out)
    assert code == 2
    assert f"{path}:1: expected a list in a known format" in stderr
    assert "--format" in stderr
    for more in (["--format", "moses"], ["--format", "moses", "--skip-bad"], ["--format", "jsonl"]):
        code, _, stderr = run_cli("pool", path, "--refs", refs, "-o", out, *more)
        assert code == 2
        assert "luthier: error: " in stderr
        assert not out.exists()


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ('{"id": 0, "hyp": "a", "lm": 1}\n'.encode("utf-16"), "it is UTF-16, as some programs of Windows write"),
        (b"id;hyp;lm\n0;a;1\n", "its columns are separated by semicolons; write a CSV with commas"),
        (b"ID\tHyp\tlm\n0\ta\t1\n", "columns are called in small letters here: id, hyp"),
        (b"Id,Hyp,lm\n0,a,1\n", "columns are called in small letters here: id, hyp"),
        (b"a;b;c\n", "name its format with --format"),
    ],
)
def test_what_may_be_wrong_with_a_table_that_is_not_recognised(run_cli, tmp_path, content, hint):
    path = tmp_path / "table"
    path.write_bytes(content)
    code, _, stderr = run_cli("pool", path, "-o", tmp_path / "pool.arrow")
    assert code == 2
    assert f"hint: {hint}" in stderr


def test_references_of_different_lengths(run_cli, tmp_path, refs):
    other = tmp_path / "short.txt"
    other.write_text("only one\n")
    path, out = tmp_path / "list.txt", tmp_path / "pool.arrow"
    path.write_text(GOOD)
    code, _, stderr = run_cli("pool", path, "--refs", refs, other, "-o", out)
    assert code == 2
    assert f"{other}:2: expected 2 lines, as in {refs}, found 1" in stderr
    assert not out.exists()


def test_a_sentence_without_hypotheses_is_kept_with_a_warning(run_cli, tmp_path):
    from luthier import open_pool

    refs = tmp_path / "refs.txt"
    refs.write_text("a b\nnobody translated this\nd e\n")
    text = GOOD.replace("1 |||", "2 |||")
    code, stdout, stderr, out, _ = read(run_cli, tmp_path, text, refs, "--json")
    assert code == 0
    assert "warning: 1 of 3 sentences have no hypotheses (the first is '1')" in stderr
    assert json.loads(stdout)["sentences_without_hypotheses"] == 1
    assert open_pool(out).list_lengths.tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    "content, message",
    [
        (b"caf\xe9\nd\n", "expected UTF-8 text"),
        (b"", "an empty file"),
        (gzip.compress(b"a\nb\n" * 500)[:-20], "damaged or cut off"),
    ],
    ids=["utf-8", "empty", "truncated"],
)
def test_bad_references(run_cli, tmp_path, content, message):
    refs = tmp_path / "refs.txt"
    refs.write_bytes(content)
    code, _, stderr, out, _ = read(run_cli, tmp_path, GOOD, refs)
    assert code == 2
    assert str(refs) in stderr
    assert message in stderr
    assert list(out.parent.iterdir()) == []


def test_a_file_that_is_not_there(run_cli, tmp_path, refs):
    code, _, stderr = run_cli("pool", tmp_path / "none", "--refs", refs, "-o", tmp_path / "p.arrow")
    assert code == 2
    assert f"{tmp_path / 'none'}: expected a readable file, found no such file" in stderr


def test_an_output_that_cannot_be_written_is_said_before_the_work(run_cli, tmp_path, refs):
    code, _, stderr = run_cli("pool", tmp_path / "none", "--refs", refs, "-o", tmp_path / "no" / "p.arrow")
    assert code == 2
    assert "cannot write here" in stderr


@pytest.mark.parametrize("more", [[], ["--skip-bad"]], ids=["strict", "skipping"])
def test_a_list_that_counts_from_one_is_never_paired_with_its_neighbours(run_cli, tmp_path, refs, more):
    text = GOOD.replace("1 |||", "2 |||").replace("0 |||", "1 |||")
    code, _, stderr, out, _ = read(run_cli, tmp_path, text, refs, *more)
    assert code == 2
    assert "--first-id" in stderr
    assert list(out.parent.iterdir()) == []
    assert read(run_cli, tmp_path, text, refs, "--first-id", "1")[0] == 0


def test_one_early_fault_does_not_hide_the_format(run_cli, tmp_path, refs):
    path, out = tmp_path / "list.txt", tmp_path / "pool.arrow"
    path.write_text("0 ||| only two\n" + GOOD)
    code, _, stderr = run_cli("pool", path, "--refs", refs, "-o", out)
    assert code == 2
    assert f"{path}:1: expected at least 3 fields" in stderr
    assert run_cli("pool", path, "--refs", refs, "-o", out, "--skip-bad")[0] == 0


def test_lists_in_which_every_line_has_keys_of_its_own_are_refused_before_they_fill_the_memory(tmp_path):
    rows = [{"id": i, "hyp": "a", "features": {"f": 1.0}, **{f"k{i}.{j}": 1.0 for j in range(40)}} for i in range(30)]
    path = tmp_path / "list.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match="at most 1,000 different keys"):
        read_pool(path)
    check_columns([f"k{j}" for j in range(1000)])  # so many are taken
