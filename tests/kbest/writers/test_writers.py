"""Writers, against plain Python readers of the same formats written here."""

import dataclasses
import gzip
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from luthier.core.errors import LuthierError
from luthier.core.plugins import available
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner, tokenize
from luthier.kbest.building.frames import pool_to_frame
from luthier.kbest.building.lists import ReadOptions, read_pool
from luthier.kbest.derivations import Derivations
from luthier.kbest.features import Features
from luthier.kbest.merge import merge
from luthier.kbest.pool import Pool, References
from luthier.kbest.reading.line_errors import LineErrors
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import Source
from luthier.kbest.storage import writer
from luthier.kbest.storage.pool_file import open_pool
from luthier.kbest.storage.writer import numbers_as_text, write_pool

HARD = [0.1, 1 / 3, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -0.0, 0.0, 1e22, -1e-7,
        9007199254740993.0, 123456789012345680.0, 0.30000000000000004, 2.5, -17.0]  # fmt: skip


def small_pool(*, sparse=True, derivations=False, texts=("a b", "", 'é "q" \\ ∞', "c", "tab\there"), **more):
    texts = Texts.from_strings(texts)
    vocab = Interner()
    tokens = tokenize(texts, vocab)
    references = Texts.from_strings(["a b", 'r "1"', "r2"])
    reference_tokens = tokenize(references, vocab)
    rng = np.random.default_rng(3)
    dense = rng.choice(HARD, size=(5, 2))
    features = Features.from_dense(["lm", "p=q"], dense)
    if sparse:
        features = Features(
            ("lm", "p=q", "s:é", 's"2'),
            dense, np.array([0, 2, 2, 3, 3, 5]),
            np.array([0, 1, 1, 0, 1]), np.array([1.5, -0.0, 1 / 3, 0.0, 2]),
        )  # fmt: skip
    rules = None
    if derivations:
        local = Features(("l", "m"), np.array([[0.5], [-0.0]]), np.array([0, 0, 1]), np.array([0]), np.array([2.0]))
        rules = Derivations(
            np.array([0, 1, 1, 3, 4, 5]), np.array([0, 1, 0, 0, 1]),
            Texts.from_strings(['X → "a"', "S"]), local,
        )  # fmt: skip
    return Pool(
        offsets=np.array([0, 2, 2, 5]),
        features=features,
        sentence_ids=Texts.from_strings(["0", "empty", 'doc "3"']),
        texts=texts,
        tokens=tokens,
        vocab=vocab.texts(),
        references=References(np.array([0, 1, 1, 3]), references, reference_tokens),
        sources=Texts.from_strings(["quelle", "", "source ü"]),
        derivations=rules,
        columns={"score": np.array([1.0, math.nan, -0.0, 1e-7, 1 / 3]), "comet é": np.arange(5.0)},
        **more,
    )


def same(left, right):
    return left == right and math.copysign(1, left) == math.copysign(1, right)


def significant_digits(text):
    return text.lower().partition("e")[0].replace(".", "").lstrip("-").strip("0")


def expected_rows(pool):
    """Yield what must be in each row, one hypothesis at a time: the slow twin."""
    f = pool.features
    for sentence in range(pool.n_sentences):
        for row in range(pool.offsets[sentence], pool.offsets[sentence + 1]):
            values = dict(zip(f.names, f.dense[row].tolist(), strict=False))
            for e in range(f.indptr[row], f.indptr[row + 1]):
                values[f.names[f.n_dense + f.indices[e]]] = float(f.values[e])
            yield sentence, row, values


def check_values(found, expected):
    assert list(found) == list(expected)
    assert all(same(found[name], expected[name]) for name in expected)


@pytest.fixture(params=[1, 3, 1 << 16])
def any_block(request, monkeypatch):
    monkeypatch.setattr(writer, "BLOCK_ROWS", request.param)
    monkeypatch.setattr(writer, "BLOCK_BYTES", request.param * 1024)


def test_numbers_read_back_to_the_last_bit():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 63, 5000, dtype=np.uint64) | (rng.integers(0, 2, 5000, dtype=np.uint64) << 63)
    any_bits = bits.view(np.float64)
    values = np.concatenate([HARD, np.negative(HARD), any_bits[np.isfinite(any_bits)]])
    texts = numbers_as_text(values).to_pylist()
    assert np.array_equal(np.array([float(text) for text in texts]).view(np.int64), values.view(np.int64))
    for text, value in zip(texts, values.tolist(), strict=True):
        assert significant_digits(text) == significant_digits(repr(value)), value


@pytest.mark.parametrize("sparse", [False, True])
def test_moses(tmp_path, any_block, sparse):
    pool = small_pool(sparse=sparse)
    write_pool(pool, tmp_path / "list.txt")
    lines = (tmp_path / "list.txt").read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    for line, (sentence, row, values) in zip(lines, expected_rows(pool), strict=True):
        sentence_id, text, features, total = line.split(" ||| ")
        assert sentence_id == pool.sentence_ids[sentence]
        assert text == pool.texts[row]
        if not sparse:  # as Moses' extractor wants dense features
            assert all(name in features for name in ("lm= ", "p=q= "))
        pairs = [pair.rpartition("=") for pair in features.replace("= ", "=").split(" ")]
        check_values({name: float(value) for name, _, value in pairs}, values)
        score = pool.columns["score"][row]
        assert same(float(total), 0.0 if math.isnan(score) else score)


def test_moses_joins_positions_under_a_label_and_cdec_leaves_zeros_out(tmp_path):
    pool = small_pool()
    names, values = ("tm_0", "tm_1", "x_1", "lm", "y_0", "y_1", "y"), np.arange(35.0).reshape(5, 7)
    pool = pool.with_features(Features.from_dense(names, values))
    write_pool(pool, tmp_path / "list.moses")
    assert "||| tm= 0 1 x_1= 2 lm= 3 y_0= 4 y_1= 5 y= 6 |||" in (tmp_path / "list.moses").read_text()
    write_pool(pool, tmp_path / "list.cdec")
    assert "||| tm_1=1 x_1=2 lm=3 y_0=4 y_1=5 y=6 |||" in (tmp_path / "list.cdec").read_text()
    for name in ("list.moses", "list.cdec"):
        again = read_pool(tmp_path / name, options=ReadOptions(keep_duplicates=True))
        assert {n: again.features.column(n).tolist() for n in names} == dict(zip(names, values.T.tolist(), strict=True))


def test_moses_without_features_or_score(tmp_path):
    pool = small_pool()
    bare = Pool(
        offsets=pool.offsets, features=Features.from_dense([], np.zeros((5, 0))), texts=pool.texts,
        sentence_ids=pool.sentence_ids, tokens=pool.tokens, vocab=pool.vocab,
    )  # fmt: skip
    write_pool(bare, tmp_path / "list.moses.gz")
    lines = gzip.decompress((tmp_path / "list.moses.gz").read_bytes()).decode().splitlines()
    assert lines[0] == "0 ||| a b |||  ||| 0"
    write_pool(bare, tmp_path / "list.jsonl")
    assert json.loads((tmp_path / "list.jsonl").read_text().split("\n")[0]) == {
        "id": "0", "hyp": "a b", "features": {},
    }  # fmt: skip
    write_pool(bare, tmp_path / "list.parquet")
    assert pq.read_table(tmp_path / "list.parquet").num_rows == 5


@pytest.mark.parametrize("name", ["", "a b", "a\u00a0b", "x|||y", "x=", " lead"])
def test_moses_refuses_names_that_do_not_read_back(tmp_path, name):
    pool = small_pool(sparse=False)
    pool = pool.with_features(pool.features.rename({"p=q": name}))
    with pytest.raises(LuthierError, match=r"feature .* cannot be written to a Moses list"):
        write_pool(pool, tmp_path / "list")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["a ||| b", "||| b", "a |||", "|||", "a\nb"])
def test_moses_refuses_texts_that_do_not_read_back(tmp_path, text):
    with pytest.raises(LuthierError, match=r"hypothesis .* line feed or the separator"):
        write_pool(small_pool(texts=("fine|||", "b", text, "c", "d")), tmp_path / "list")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sparse", [False, True])
def test_jsonl(tmp_path, any_block, sparse):
    texts = ("a b", "\x00\x01\n\r\x1f\x7f", 'é "q" \\ ∞ \\" \U0001f600\u2028', "c\\", "tab\there")
    pool = small_pool(sparse=sparse, derivations=True, texts=texts)
    write_pool(pool, tmp_path / "list.jsonl")
    lines = (tmp_path / "list.jsonl").read_bytes().split(b"\n")
    assert lines.pop() == b""
    d = pool.derivations
    for line, (sentence, row, values) in zip(lines, expected_rows(pool), strict=True):
        found = json.loads(line)
        check_values(found.pop("features"), values)
        expected = {
            "id": pool.sentence_ids[sentence],
            "hyp": texts[row],
            "source": pool.sources[sentence],
            "refs": pool.references.of(sentence),
            "derivation": [
                {"rule": d.texts[rule], "features": {"l": 0.5} if rule == 0 else {"l": 0.0, "m": 2.0}}
                for rule in d.rules[d.offsets[row] : d.offsets[row + 1]]
            ],
        }
        expected |= {name: column[row] for name, column in pool.columns.items() if not math.isnan(column[row])}
        assert found == expected | ({"absent": "zero"} if sparse else {})  # sparse features are no holes


@pytest.mark.parametrize("sparse", [False, True])
def test_parquet(tmp_path, any_block, sparse):
    pool = small_pool(sparse=sparse, derivations=True)
    write_pool(pool, tmp_path / "list.parquet")
    table = pq.read_table(tmp_path / "list.parquet")
    kinds = {name: str(table.schema.field(name).type) for name in table.schema.names}
    assert kinds["id"] == kinds["hyp"] == kinds["source"] == "string"
    assert kinds["features"].startswith("map<string, double" if sparse else "struct<lm: double, p=q: double>")
    for found, (sentence, row, values) in zip(table.to_pylist(), expected_rows(pool), strict=True):
        check_values(dict(found["features"]), values)
        assert (found["id"], found["hyp"]) == (pool.sentence_ids[sentence], pool.texts[row])
        assert (found["source"], found["refs"]) == (pool.sources[sentence], pool.references.of(sentence))
        assert len(found["derivation"]) == np.diff(pool.derivations.offsets)[row]
        for use, rule in enumerate(pool.derivations.rules[pool.derivations.offsets[row] :][: len(found["derivation"])]):
            cell = found["derivation"][use]
            assert cell["rule"] == pool.derivations.texts[rule]
            assert dict(cell["features"]) == ({"l": 0.5} if rule == 0 else {"l": 0.0, "m": 2.0})
        assert found["comet é"] == row
        assert (found["score"] is None) == math.isnan(pool.columns["score"][row])


def test_columns_may_not_take_the_formats_own_names(tmp_path):
    pool = small_pool()
    bad = Pool(**{**vars(pool), "columns": {"refs": np.zeros(5)}})
    for ending in ("jsonl", "parquet"):
        with pytest.raises(LuthierError, match="column 'refs'"):
            write_pool(bad, tmp_path / f"list.{ending}")
    with pytest.raises(LuthierError, match="finite number"):
        Pool(**{**vars(pool), "columns": {"x": np.full(5, math.inf)}})


def test_a_pool_without_hypotheses(tmp_path):
    empty = small_pool().take([])
    for name in ("list", "list.jsonl", "list.parquet"):
        write_pool(empty, tmp_path / name)
    assert (tmp_path / "list").read_bytes() == (tmp_path / "list.jsonl").read_bytes() == b""
    assert pq.read_table(tmp_path / "list.parquet").num_rows == 0


def test_the_format_follows_the_name(tmp_path, capsysbinary):
    pool = small_pool()
    write_pool(pool, tmp_path / "pool.arrow")
    assert open_pool(tmp_path / "pool.arrow").digest() == pool.digest()
    with pytest.raises(LuthierError, match=r"cannot be compressed. hint: call it .*pool\.arrow"):
        write_pool(pool, tmp_path / "pool.arrow.gz")
    write_pool(pool, tmp_path / "list.jsonl.zst")
    assert (tmp_path / "list.jsonl.zst").read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    write_pool(pool, tmp_path / "odd.txt", "jsonl")
    assert (tmp_path / "odd.txt").read_bytes().startswith(b'{"id"')
    write_pool(pool, "-")
    assert capsysbinary.readouterr().out.startswith(b"0 ||| a b ||| lm=")
    with pytest.raises(LuthierError, match="there is no 'xml' among the writers"):
        write_pool(pool, tmp_path / "odd.txt", "xml")
    assert set(available(writer.PACKAGE)) >= {"moses", "jsonl", "parquet"}


def test_views_of_larger_columns_are_written_as_they_are(tmp_path):
    pool = small_pool()
    shifted = Texts(pool.texts.offsets[2:], pool.texts.data)
    rows = writer.text_array(shifted).to_pylist()
    assert rows == list(shifted)
    lists = writer.joined_lists(writer.text_array(shifted), offsets_from_counts([0, 2, 1, 0]), ", ").to_pylist()
    assert lists == ["", ", ".join(rows[:2]), rows[2], ""]


@pytest.mark.parametrize("format_name", ["moses", "jsonl", "parquet"])
def test_our_readers_read_what_was_written(tmp_path, format_name):
    reader = pytest.importorskip(f"luthier.kbest.readers.{format_name}")
    pool = small_pool(texts=("a b", "", 'é "q" \\ ∞', "c\\", "tab\there"), derivations=format_name != "moses")
    write_pool(pool, tmp_path / "list", format_name)
    source = Source(str(tmp_path / "list"), LineErrors(), NameTable(), NameTable())
    (block,) = reader.Method().blocks(source)
    assert list(block.texts) == list(pool.texts)
    assert list(block.ids) == [pool.sentence_ids[sentence] for sentence, _, _ in expected_rows(pool)]
    assert "score" in block.columns
    names = [source.names.label_of(number)[0] for number in range(len(source.names))]
    for _, row, values in expected_rows(pool):
        entries = slice(block.row_starts[row], block.row_starts[row + 1])
        found = zip(block.names[entries], block.values[entries].tolist(), strict=True)
        check_values({names[number]: value for number, value in found}, values)
    if format_name != "moses":
        assert np.array_equal(block.rule_uses.offsets, pool.derivations.offsets)
        assert list(block.rule_uses.rule_texts) == [pool.derivations.texts[rule] for rule in pool.derivations.rules]


def test_ids_keep_their_type(tmp_path):
    rows = [{"id": 0, "hyp": "a", "features": {"lm": 1.0}}, {"id": "x", "hyp": "b", "features": {"lm": 2.0}}]
    (tmp_path / "mixed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "whole.jsonl").write_text(json.dumps(rows[0]) + "\n")
    mixed, whole = (read_pool(tmp_path / f"{name}.jsonl") for name in ("mixed", "whole"))
    write_pool(mixed, tmp_path / "again.jsonl")
    assert [json.loads(line)["id"] for line in (tmp_path / "again.jsonl").read_text().splitlines()] == [0, "x"]
    write_pool(whole, tmp_path / "whole.parquet")
    assert pa.types.is_integer(pq.read_schema(tmp_path / "whole.parquet").field("id").type)
    assert pool_to_frame(whole).column("id").to_pylist() == [0]
    assert pool_to_frame(mixed).column("id").to_pylist() == ["0", "x"]
    both = merge([whole, mixed])
    assert both.provenance["integer_ids"] == ["0"]
    lying = dataclasses.replace(whole, provenance={"integer_ids": True}, sentence_ids=Texts.from_strings(["07"]))
    write_pool(lying, tmp_path / "lying.jsonl")
    assert json.loads((tmp_path / "lying.jsonl").read_text())["id"] == "07"
