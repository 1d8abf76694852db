"""From files to a pool: several of them, compressed or piped, with references, in blocks of any size."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_pools import assert_same, content

from luthier.core.errors import InputError, LuthierError, LuthierWarning
from luthier.core.files import io as luthier_io
from luthier.kbest.building.lists import ReadOptions, read_lists, read_pool
from luthier.kbest.reading import reader as reader_module
from luthier.kbest.storage.pool_file import save_pool
from oracles import read_moses

LIST = "0 ||| a b ||| lm=1 tm=2 ||| 3\n0 ||| a c ||| lm=2 ||| 2\n1 ||| d ||| tm=0.5 ||| 1\n"
MORE = "0 ||| a b ||| lm=1 tm=2 ||| 3\n0 ||| z ||| new=7 ||| 2\n1 ||| e ||| lm=4 ||| 1\n"


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(tmp_path / name)

    return write


def plain(text):
    """Return what a slow reader makes of a list, without zeros."""
    return {
        ident: [(hyp, {name: value for name, value in features.items() if value}) for hyp, features in rows]
        for ident, rows in read_moses(text).items()
    }


def test_a_list_alone(write):
    pool = read_pool(write("list", LIST))
    assert content(pool) == plain(LIST)
    assert pool.references is pool.sources is None
    assert pool.provenance["lists"] == [{"path": write("list", LIST), "format": "moses", "hypotheses": 3}]


def test_several_files_are_several_runs_merged_without_repeats(write):
    paths = [write("one", LIST), write("two", MORE)]
    reading = read_lists(paths, [], None, ReadOptions())
    expected = plain(LIST)
    for ident, rows in plain(MORE).items():
        expected[ident] += [row for row in rows if row not in expected[ident]]
    assert content(reading.pool) == expected
    assert reading.duplicates == 1
    assert reading.rows == {paths[0]: 3, paths[1]: 3}
    kept = read_pool(paths, options=ReadOptions(keep_duplicates=True))
    assert kept.n_hypotheses == 6


@pytest.mark.filterwarnings("ignore:the column 'score'")
def test_files_of_several_formats(write):
    jsonl = '{"id": 1, "hyp": "f g", "features": {"lm": 9}}\n'
    pool = read_pool([write("one", "0 ||| a ||| lm= 1 ||| 2\n"), write("two", jsonl)], options=ReadOptions())
    assert content(pool) == {"0": [("a", {"lm": 1})], "1": [("f g", {"lm": 9})]}


def test_files_of_several_formats_lose_the_columns_that_only_some_have(write):
    paths = [write("one", "0 ||| a ||| lm=1 ||| 2\n"), write("two", '{"id": 1, "hyp": "b", "features": {"lm": 9}}\n')]
    with pytest.warns(LuthierWarning, match="the column 'score' is left out: 1 of 2 hypotheses have none"):
        pool = read_pool(paths)
    assert dict(pool.columns) == {}


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda raw: pa.compress(raw, codec="zstd", asbytes=True)])
def test_plain_gz_zst_and_standard_input_are_the_same(write, monkeypatch, pack):
    raw = pack(LIST.encode())
    refs = [write("refs", "r\ns\n")]
    from_file = read_pool(write("list", raw), refs=refs)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))
    from_stdin = read_pool("-", refs=refs)
    assert content(from_stdin) == content(from_file) == plain(LIST)
    assert from_stdin.provenance["lists"][0]["path"] == "<standard input>"


def test_a_named_pipe_is_read_once_and_whole(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(LIST))
    writer.start()
    pool = read_pool(pipe)
    writer.join()
    assert content(pool) == plain(LIST)


def test_a_list_that_comes_in_small_pieces_is_recognized(write):
    pieces = [LIST.encode()[k : k + 5] for k in range(0, len(LIST), 5)]
    assert content(read_pool(write("list.gz", b"".join(map(gzip.compress, pieces))))) == plain(LIST)


def test_a_list_whose_first_line_is_long_is_recognized(write):
    sparse = " ".join(f"name{i}=1" for i in range(3000))
    features = {f"name {k}": 1 for k in range(900)}
    text = "".join(json.dumps({"id": i, "hyp": "x", "features": features}) + "\n" for i in range(2))
    assert read_pool(write("jsonl", text)).n_hypotheses == 2
    assert read_pool(write("moses", f"0 ||| a ||| {sparse} ||| 1\n")).n_features == 3000


def test_standard_input_can_be_read_only_once():
    with pytest.raises(LuthierError, match="only once"):
        read_pool(["-", "-"])
    with pytest.raises(LuthierError, match="only once"):
        read_pool("-", refs=["-"])
    with pytest.raises(LuthierError, match="at least one list"):
        read_pool([])


def test_references_and_sources(write):
    refs = [write("ref0", "r zero\nr one\n"), write("ref1", "s zero\ns one\n")]
    pool = read_pool(write("list", LIST), refs=refs, source=write("src", "q zero\nq one\n"))
    assert [pool.references.of(i) for i in (0, 1)] == [["r zero", "s zero"], ["r one", "s one"]]
    assert list(pool.sources) == ["q zero", "q one"]
    spelled = [[pool.vocab[k] for k in pool.references.tokens[r]] for r in range(4)]
    assert spelled == [["r", "zero"], ["s", "zero"], ["r", "one"], ["s", "one"]]


def test_ids_count_from_where_the_user_says(write):
    text = LIST.replace("1 |||", "6 |||").replace("0 |||", "5 |||")
    refs = [write("refs", "r five\nr six\n")]
    pool = read_pool(write("list", text), refs=refs, options=ReadOptions(first_id=5))
    assert list(pool.sentence_ids) == ["5", "6"]
    assert pool.references.of(1) == ["r six"]
    with pytest.raises(InputError, match="one of the 2 sentences"):
        read_pool(write("list", text), refs=refs)


def test_references_that_begin_with_their_ids(write):
    text = "utt-b ||| a ||| lm=1 ||| 1\nutt-a ||| b ||| lm=1 ||| 1\n"
    refs = [write("ref0", "utt-a  r a\nutt-b r b\n"), write("ref1", "utt-b s b\nutt-a\n")]
    pool = read_pool(write("list", text), refs=refs, options=ReadOptions(keyed=True))
    assert list(pool.sentence_ids) == ["utt-a", "utt-b"]  # in the order of the references
    assert content(pool) == {"utt-a": [("b", {"lm": 1})], "utt-b": [("a", {"lm": 1})]}
    assert [pool.references.of(i) for i in (0, 1)] == [["r a", ""], ["r b", "s b"]]
    for lines, message in [
        ("utt-a x\nutt-a y\n", "'utt-a' again"),
        ("utt-a x\n\n", "an empty line"),
        ("utt-a x\nutt-c y\n", "'utt-b' in only one of them"),
    ]:
        with pytest.raises(InputError, match=message):
            read_pool(write("list", text), refs=[refs[0], write("bad", lines)], options=ReadOptions(keyed=True))


def test_ids_are_texts_of_any_kind(write):
    text = "".join(f"{ident} ||| a ||| lm=1 ||| 1\n" for ident in ("utt 3", "ü", "007", "7", "9" * 5000))
    pool = read_pool(write("list", text))
    assert list(pool.sentence_ids) == ["utt 3", "ü", "007", "7", "9" * 5000]


def test_whole_numbers_are_sorted_as_numbers_where_there_are_no_references(write):
    text = "".join(f"{ident} ||| h{ident} ||| lm=1 ||| 1\n" for ident in (10, 9, 2, 10))
    pool = read_pool(write("list", text), options=ReadOptions(any_order=True, keep_duplicates=True))
    assert list(pool.sentence_ids) == ["2", "9", "10"]
    assert list(pool.texts) == ["h2", "h9", "h10", "h10"]


def test_out_of_order_is_a_fault_unless_allowed(write):
    text = "1 ||| d ||| lm=3 ||| 1\n0 ||| a ||| lm=1 ||| 1\n1 ||| e ||| lm=2 ||| 1\n0 ||| b ||| lm=1 ||| 1\n"
    refs = [write("refs", "r\ns\n")]
    with pytest.raises(InputError, match="found '0' after '1'") as caught:
        read_pool(write("list", text), refs=refs)
    assert (caught.value.line, caught.value.kind) == (2, "order")
    assert "`any_order`" in caught.value.hint
    pool = read_pool(write("list", text), refs=refs, options=ReadOptions(any_order=True))
    assert content(pool) == {"0": [("a", {"lm": 1}), ("b", {"lm": 1})], "1": [("d", {"lm": 3}), ("e", {"lm": 2})]}
    assert pool.columns["score"].tolist() == [1, 1, 1, 1]
    names = "u ||| a ||| lm=1 ||| 1\nv ||| b ||| lm=1 ||| 1\nu ||| c ||| lm=1 ||| 1\n"
    with pytest.raises(InputError, match="'u' again, after other sentences"):
        read_pool(write("list", names))


def test_each_run_begins_anew(write):
    assert read_pool([write("one", LIST), write("two", LIST)]).n_hypotheses == 3


@pytest.mark.parametrize("pool_first", [True, False])
def test_a_pool_among_the_lists(write, tmp_path, pool_first):
    refs = [write("refs", "r\ns\n")]
    save_pool(read_pool(write("one", LIST), refs=refs), tmp_path / "p.arrow")
    paths = [str(tmp_path / "p.arrow"), write("two", MORE)]
    pool = read_pool(paths if pool_first else paths[::-1])
    first, second = (plain(LIST), plain(MORE)) if pool_first else (plain(MORE), plain(LIST))
    expected = {key: first[key] + [row for row in second[key] if row not in first[key]] for key in first}
    assert content(pool) == expected  # what was named first stands first
    assert pool.references.of(1) == ["s"]
    assert [item["format"] for item in pool.provenance["lists"]] == ["moses", "moses"]


def test_references_for_a_pool_that_stands_already(write, tmp_path):
    save_pool(read_pool(write("one", LIST)), tmp_path / "p.arrow")
    pool = read_pool(tmp_path / "p.arrow", refs=[write("refs", "r\ns\n")], source=write("src", "p\nq\n"))
    assert [pool.references.of(i) for i in (0, 1)] == [["r"], ["s"]]
    assert list(pool.sources) == ["p", "q"]
    assert content(pool) == plain(LIST)
    assert pool.columns["score"].tolist() == [3, 2, 1]
    save_pool(pool, tmp_path / "p.arrow")
    with pytest.raises(LuthierError, match="different references for sentence '1'"):
        read_pool(tmp_path / "p.arrow", refs=[write("refs", "r\nother\n")])


def test_faulty_lines_leave_no_trace_in_the_names(write):
    text = (
        "0 ||| a ||| lm= 1 ||| 1\n0 ||| b ||| lm= 1 2 wild=3 ||| 1\n0 ||| c ||| lm= 2 ||| 1\n0 ||| d ||| lmm=x ||| 1\n"
    )
    reading = read_lists([write("list", text)], [], None, ReadOptions(skip_bad=True))
    assert reading.pool.features.names == ("lm",)
    assert reading.pool.features.dense.tolist() == [[1], [2]]
    assert reading.faults.counts == {"value-count": 1, "number": 1}


@pytest.mark.parametrize("many", [0, 80])
def test_one_name_written_in_two_ways_on_a_line_is_refused(write, many):
    more = "".join(f" n{i}=1" for i in range(many))
    with pytest.raises(InputError, match="two that come to 'lm'"):
        read_pool(write("list", f"0 ||| a ||| lm= 1 lm=5{more} ||| 1\n"))
    text = f"0 ||| a ||| lm= 1{more} ||| 1\n0 ||| b ||| lm= 2 ||| 1\n"
    again = "0 ||| c ||| lm=3 ||| 1\n"
    pool = read_pool([write("one", text), write("two", again)])
    assert pool.features.column("lm").tolist() == [1, 2, 3]


def sparse_list(n_rows, n_names):
    """A list with three names on every line and others on few lines, some of them written as 0."""
    lines = []
    for i in range(n_rows):
        rare = " ".join(f"r{(i * 7 + k * k) % n_names}_{k}={k - 1}" for k in range(4))
        lines.append(f"{i // 10} ||| h{i} ||| lm=-{i}.5 {rare} tm={i % 3} zero=0 ||| 0\n")
    return "".join(lines)


@pytest.mark.compiled  # slow as plain Python; texts drawn at random reach the same kernels
def test_thousands_of_names_are_stored_sparsely_and_common_ones_densely(write):
    text = sparse_list(1500, 701)
    pool = read_pool(write("list", text))
    assert content(pool) == plain(text)
    assert pool.n_features > 2000
    assert pool.features.names[: pool.features.n_dense] == ("lm", "tm")
    assert pool.features.values.all()  # a 0 is not stored


def test_few_names_are_stored_densely_however_rare(write):
    text = "".join(f"0 ||| h{i} ||| n{i}=1 ||| 0\n" for i in range(64))
    assert read_pool(write("list", text)).features.n_dense == 64
    pool = read_pool(write("list", text + "0 ||| last ||| n64=1 ||| 0\n"))
    assert (pool.features.n_dense, pool.n_features) == (0, 65)


texts = st.lists(
    st.lists(st.sampled_from(["a=1", "b=-2", "c= 3 4", "d=0", "e_f= 5", "g=1e9"]), unique=True, max_size=5),
    min_size=1,
    max_size=8,
)


def read_in_blocks(path, block_bytes, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            reader_module, "line_blocks", lambda stream, name: luthier_io.line_blocks(stream, name, block_bytes)
        )
        return read_pool(path, **options)


@settings(max_examples=40)
@given(texts, st.integers(1, 200))
def test_lists_are_read_as_by_a_slow_reader_in_blocks_of_any_size(tmp_path_factory, rows, block_bytes):
    text = "".join(
        f"{i // 3} ||| h{i} ||| {' '.join(['c= 3 4', *(e for e in entries if e[0] != 'c')])} ||| {i}\n"
        for i, entries in enumerate(rows)
    )
    path = tmp_path_factory.mktemp("blocks") / "list"
    path.write_text(text)
    whole = read_pool(path)
    assert content(whole) == plain(text)
    assert_same(read_in_blocks(path, block_bytes), whole)


@pytest.mark.parametrize("block_bytes", [100, 3000, 20_000])
def test_blocks_do_not_show_where_names_become_too_many_for_dense_rows(write, block_bytes):
    # 'often0' is written as 0 on every line: whether it is dense must not depend on the blocks
    path = write("list", sparse_list(300, 40).replace("zero=0", "often0=0 now=1"))
    assert_same(read_in_blocks(path, block_bytes), read_pool(path))


def test_features_that_no_line_has(write):
    with pytest.warns(LuthierWarning, match="the lists have no features"):
        pool = read_pool(write("list", "0 ||| a ||| ||| 1\n0 ||| b ||| ||| 2\n"))
    assert pool.n_features == 0
    assert pool.columns["score"].tolist() == [1, 2]


def test_unknown_formats_and_options_are_errors(write):
    path = write("list", LIST)
    with pytest.raises(LuthierError, match="there is no 'mosses' among the readers"):
        read_pool(path, options=ReadOptions(format="mosses"))
    with pytest.raises(LuthierError, match=r"the format 'moses' has no option 'x'. it has none"):
        read_pool(path, options=ReadOptions(format="moses", format_options={"x": 1}))


def test_sentences_without_hypotheses_are_kept_with_a_warning(write):
    with pytest.warns(LuthierWarning, match=r"2 of 4 sentences have no hypotheses \(the first is '2'\)"):
        reading = read_lists([write("list", LIST)], [write("refs", "r\ns\nt\nu\n")], None, ReadOptions())
    assert reading.empty_sentences == 2
    assert reading.pool.list_lengths.tolist() == [2, 1, 0, 0]


def test_twice_as_many_references_as_sentences_is_an_error(tmp_path):
    (tmp_path / "list.moses").write_text("".join(f"{i} ||| a{i} ||| lm= {i} ||| 0\n" for i in range(12)))
    (tmp_path / "refs").write_text("r\n" * 24)
    paths = [str(tmp_path / "list.moses")], [str(tmp_path / "refs")], None
    with pytest.raises(InputError, match=r"found 12 sentences with hypotheses for 24 references.*`allow_empty`"):
        read_lists(*paths, ReadOptions())
    with pytest.warns(LuthierWarning, match="12 of 24 sentences have no hypotheses"):
        assert read_lists(*paths, ReadOptions(allow_empty=True)).pool.n_sentences == 24
    (tmp_path / "refs").write_text("r\n" * 23)
    with pytest.warns(LuthierWarning, match="11 of 23 sentences have no hypotheses"):
        read_lists(*paths, ReadOptions())
