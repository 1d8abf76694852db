"""Files as today's tools write them: small ones of our own, in the form that each tool documents."""

from __future__ import annotations

import functools
import json
import operator

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from luthier import pool_from_frame
from luthier.core.errors import InputError, LuthierError
from luthier.kbest.building.lists import ReadOptions, read_lists
from luthier.kbest.building.streaming import stream_pools


def write(path, value):
    """Write JSON: lines of a list's items, anything else whole, with line breaks."""
    lines = "".join(json.dumps(row) + "\n" for row in value) if isinstance(value, list) else json.dumps(value, indent=1)
    path.write_text(lines)
    return path


def read(path, refs=(), source=None, **options):
    reading = read_lists([str(path)], [str(r) for r in refs], source, ReadOptions(**options))
    return reading.pool, reading


NOTHING = pytest.mark.filterwarnings("ignore:the lists have no features")


def shown(pool):
    """Return sentences as (id, source, references, [(text, features)])."""
    names, found = pool.features.names, []
    for i in range(pool.n_sentences):
        rows = range(pool.offsets[i], pool.offsets[i + 1])
        hyps = [(pool.texts[r], dict(zip(names, pool.features.dense[r].tolist(), strict=True))) for r in rows]
        source = "" if pool.sources is None else pool.sources[i]
        found.append((pool.sentence_ids[i], source, [] if pool.references is None else pool.references.of(i), hyps))
    return found


def chat(text, logprobs, **more):
    content = [{"token": "t", "logprob": p, "bytes": [116], "top_logprobs": []} for p in logprobs or ()]
    said = None if logprobs is None else {"content": content, "refusal": None}
    return {"index": 3, "message": {"role": "assistant", "content": text}, "logprobs": said, **more}


def answer(*choices, id_="chatcmpl-7"):
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    return {"id": id_, "object": "chat.completion", "created": 17, "choices": list(choices), "usage": usage}


def batch(name, body, status=200, error=None):
    response = None if body is None else {"status_code": status, "request_id": "r", "body": body}
    return {"id": f"batch_req_{name}", "custom_id": name, "response": response, "error": error}


def test_openai_and_vllm_chat(tmp_path):
    rows = [answer(chat("it rains", [-1, -0.5]), chat("raining", [-0.25]))] * 2
    pool, _ = read(write(tmp_path / "chat.jsonl", rows))
    expected = [("it rains", {"logprob": -1.5, "tokens": 2}), ("raining", {"logprob": -0.25, "tokens": 1})]
    assert shown(pool) == [("0", "", [], expected), ("1", "", [], expected)]


def test_openai_and_vllm_completions(tmp_path):
    said = {"tokens": ["a", "b"], "token_logprobs": [-1, -2.5], "text_offset": [0, 1], "top_logprobs": None}
    choices = [{"index": 0, "text": " a b", "logprobs": said, "finish_reason": "stop"}]
    pool, _ = read(write(tmp_path / "text.jsonl", [{"id": "cmpl-1", "object": "text_completion", "choices": choices}]))
    assert shown(pool) == [("0", "", [], [(" a b", {"logprob": -3.5, "tokens": 2})])]


def test_an_openai_batch_comes_in_any_order(tmp_path):
    rows = [batch("7", answer(chat("x", [-1]), chat("y", [-2]))), batch("3", answer(chat("z", [-4])))]
    path = write(tmp_path / "batch.jsonl", rows)
    assert [(i, [t for t, _ in hyps]) for i, _, _, hyps in shown(read(path)[0])] == [("3", ["z"]), ("7", ["x", "y"])]
    keyed = tmp_path / "refs.txt"
    keyed.write_text("3 z\n7 y\n")
    assert read(path, [keyed], keyed=True)[0].references.of(1) == ["y"]


def test_failed_requests_are_said_and_counted(tmp_path):
    failed = batch("b", None, error={"code": "batch_expired", "message": "too late"})
    rows = [batch("a", answer(chat("x", [-1]))), failed, batch("c", {"error": {}}, status=429)]
    path = write(tmp_path / "batch.jsonl", rows)
    with pytest.raises(InputError) as caught:
        read(path)
    told = f"{path}:2: expected a request that was answered (b), found an error ('too late')"
    assert str(caught.value).startswith(told)
    pool, reading = read(path, skip_bad=True)
    assert list(pool.sentence_ids) == ["a"]
    assert dict(reading.faults.counts) == {"failed": 2}
    with pytest.raises(
        InputError, match=r"batch.jsonl:1: expected a request that was answered \(c\), found the status 429"
    ):
        read(write(path, rows[2:]))


@NOTHING
def test_null_log_probabilities(tmp_path):
    path = tmp_path / "null.jsonl"
    pool, _ = read(write(path, [answer(chat("x", None), chat("y", None))]), columns=())
    assert pool.n_features == 0  # nobody has any
    with pytest.raises(InputError, match="expected the feature 'logprob' on every row, as most have it, found 1 of 3"):
        read(write(path, [answer(chat("x", [-1]), chat("y", None), chat("z", [-2]))]))
    with pytest.raises(InputError, match=r"null.jsonl:2: expected a number as the log-probability of each token \(1\)"):
        read(write(path, [answer(chat("x", [-1])), answer(chat("y", [None, -2]))]))
    with pytest.raises(InputError, match=r"null.jsonl:1: expected a text in each hypothesis"):
        read(write(path, [answer(chat(None, [-1]))]))


def test_equal_texts_with_equal_scores_are_one_hypothesis(tmp_path):
    path = write(tmp_path / "equal.jsonl", [answer(chat("x", [-1]), chat("x", [-1]), chat("x", [-2]))])
    pool, reading = read(path)
    assert (pool.n_hypotheses, reading.duplicates) == (2, 1)


def test_vllm_outputs(tmp_path):
    outputs = [
        {"index": k, "text": text, "token_ids": [5] * n, "cumulative_logprob": p, "logprobs": None, "stop_reason": None}
        for k, (text, n, p) in enumerate([("a b", 2, -1.5), ("c", 1, -0.5)])
    ]
    value = {"request_id": "q1", "prompt": "src", "prompt_token_ids": [1, 2, 3], "outputs": outputs, "finished": True}
    pool, _ = read(write(tmp_path / "vllm.jsonl", [value]))
    expected = [("a b", {"cumulative_logprob": -1.5, "tokens": 2}), ("c", {"cumulative_logprob": -0.5, "tokens": 1})]
    assert shown(pool) == [("q1", "src", [], expected)]


def test_trl(tmp_path):
    talk = [{"role": "user", "content": "p2"}]
    rows = [
        {"prompt": "p1", "completions": ["a", "b"], "rewards": [0.5, 0.25]},
        {"prompt": talk, "completions": [[{"role": "assistant", "content": "c"}]], "rewards": [1]},
    ]
    expected = [("0", "p1", [], [("a", {"reward": 0.5}), ("b", {"reward": 0.25})]),
                ("1", "p2", [], [("c", {"reward": 1})])]  # fmt: skip
    assert shown(read(write(tmp_path / "trl.jsonl", rows))[0]) == expected


def test_logs_of_trl_are_grouped_by_prompt(tmp_path):
    frame = pd.DataFrame(
        {"step": [1, 1, 1], "prompt": ["p", "q", "p"], "completion": ["a", "b", "c"], "acc": [1.0, 0, 2]}
    )
    frame.to_parquet(tmp_path / "log.parquet")
    expected = [("0", "p", [], [("a", {"acc": 1}), ("c", {"acc": 2})]), ("1", "q", [], [("b", {"acc": 0})])]
    assert shown(read(tmp_path / "log.parquet")[0]) == expected
    assert shown(pool_from_frame(frame.drop(columns="step"))) == expected


def test_ultrafeedback(tmp_path):
    def completion(text, rating):
        aspects = {"honesty": {"Rating": rating, "Rationale": "…"}, "helpfulness": {"Type": ["1"], "Rating": "2"}}
        return {"model": "m", "principle": "p", "response": text, "annotations": aspects, "overall_score": 7.5}

    value = {"source": "sharegpt", "instruction": "do it", "correct_answers": ["None"], "models": ["m", "m"]}
    value["completions"] = [completion("yes", "5"), completion("no", "N/A"), completion("well", "1")]
    pool, _ = read(write(tmp_path / "uf.jsonl", [value]), missing="worst")
    assert (pool.sources[0], pool.references) == ("do it", None)
    assert pool.features.column("honesty").tolist() == [5, 1, 1]
    assert sorted(pool.features.names) == ["helpfulness", "honesty", "overall_score"]


def test_openrlhf_interleaves_prompts(tmp_path):
    rows = [{"input": p, "output": p + k, "reward": i} for i, (k, p) in enumerate(("ap", "aq", "bp", "bq"))]
    path = write(tmp_path / "rm.jsonl", [{**row, "output": str(i)} for i, row in enumerate(rows)])
    expected = [("0", "p", [], [("0", {"reward": 0}), ("2", {"reward": 2})]),
                ("1", "q", [], [("1", {"reward": 1}), ("3", {"reward": 3})])]  # fmt: skip
    assert shown(read(path)[0]) == expected
    assert [shown(pool)[1][3] for pool in stream_pools(str(path), ReadOptions(), rows=1)] == [expected[1][3]]


def test_comet_of_several_systems(tmp_path):
    def row(i, text, score):
        return {"src": f"s{i % 2}", "mt": text, "ref": f"r{i % 2}", "COMET": score}

    value = {"a.txt": [row(0, "a0", 0.5), row(1, "a1", 0.25)], "b.txt": [row(0, "b0", 0.75), row(1, "b1", 1)]}
    pool, _ = read(write(tmp_path / "comet.json", value))
    assert shown(pool) == [
        ("0", "s0", ["r0"], [("a0", {"COMET": 0.5}), ("b0", {"COMET": 0.75})]),
        ("1", "s1", ["r1"], [("a1", {"COMET": 0.25}), ("b1", {"COMET": 1})]),
    ]
    one = {"all.txt": [row(0, "x", 0.5), row(2, "y", 0.25), row(1, "z", 1)]}
    assert [(i, [t for t, _ in h]) for i, _, _, h in shown(read(write(tmp_path / "one.json", one))[0])] == [
        ("0", ["x", "y"]), ("1", ["z"]),
    ]  # fmt: skip


def test_metricx_is_grouped_by_source(tmp_path):
    rows = [{"source": s, "hypothesis": h, "reference": "r" + s, "prediction": p} for s, h, p in
            (("s", "a", 1.5), ("s", "b", 2.5), ("t", "a", 3))]  # fmt: skip
    pool, _ = read(write(tmp_path / "metricx.jsonl", rows))
    assert shown(pool)[0] == ("0", "s", ["rs"], [("a", {"prediction": 1.5}), ("b", {"prediction": 2.5})])
    with pytest.raises(InputError, match=r"metricx.jsonl:2: expected no id, as on the first lines"):
        read(write(tmp_path / "metricx.jsonl", [rows[0], {**rows[1], "id": 4}]))
    with pytest.raises(InputError, match=r'metricx.jsonl:2: expected the key "id", found only "hypothesis"'):
        read(write(tmp_path / "metricx.jsonl", [rows[0], {"hypothesis": "x"}]))


@NOTHING
def test_lm_evaluation_harness(tmp_path):
    def sample(i, kind):
        arguments = {"gen_args_0": {"arg_0": f"q{i}", "arg_1": {"until": []}}}
        return {"doc_id": i, "doc": {}, "target": "4", "arguments": arguments, "resps": [["4", "five"]],
                "filtered_resps": ["4"], "filter": kind, "exact_match": 1.0}  # fmt: skip

    rows = [sample(i, kind) for i in (0, 1) for kind in ("strict", "flexible")]
    pool, _ = read(write(tmp_path / "samples.jsonl", rows))
    assert shown(pool)[1] == ("1", "q1", ["4"], [("4", {}), ("five", {})])
    choices = {**sample(0, "none"), "resps": [[[-1.5, False]], [[-2.5, True]]]}
    with pytest.raises(InputError, match=r"samples.jsonl:1: expected texts, objects, beams or tokens"):
        read(write(tmp_path / "samples.jsonl", [choices]))


def test_tokens_of_ctranslate2_are_no_beams(tmp_path):
    value = {"hypotheses": [["▁Hello", "▁wor", "ld"], ["▁Hi", "▁all", "!"]], "scores": [-0.5, -0.75]}
    pool, _ = read(write(tmp_path / "ct2.jsonl", [value]))
    assert shown(pool)[0][3] == [("Hello world", {"score": -0.5}), ("Hi all!", {"score": -0.75})]
    words = {"hypotheses": [["a", "b", "c"], ["d"]], "scores": [1, 2]}
    assert list(read(write(tmp_path / "ct2.jsonl", [words]))[0].texts) == ["a b c", "d"]


def test_lists_of_lists(tmp_path):
    lists = [
        [{"generated_text": "a", "score": 1}, {"generated_text": "b", "score": 2}],
        [{"generated_text": "c", "score": 3}],
    ]
    expected = [("0", "", [], [("a", {"score": 1}), ("b", {"score": 2})]), ("1", "", [], [("c", {"score": 3})])]
    path = tmp_path / "pipeline.json"
    assert shown(read(write(path, lists))[0]) == expected
    path.write_text(json.dumps(lists))
    assert shown(read(path)[0]) == expected
    path.write_text(json.dumps(lists, indent=2))
    assert shown(read(path)[0]) == expected


NESTED = {
    "qid": ["a", "b"],
    "prompt": ["s", "t"],
    "completions": [["x", "y"], ["z"]],
    "scores": [[0.5, 0.25], [1.0]],
    "token_ids": [[1, 2, 3], [4]],
    "gold": [["g"], ["h", "i"]],
}
NAMES = {"id": "qid", "refs": "gold"}


def test_list_columns_of_parquet_and_frames(tmp_path):
    pq.write_table(pa.table(NESTED), tmp_path / "nested.parquet")
    expected = [
        ("a", "s", ["g"], [("x", {"score": 0.5}), ("y", {"score": 0.25})]),
        ("b", "t", ["h", "i"], [("z", {"score": 1})]),
    ]
    assert shown(read(tmp_path / "nested.parquet", format_options=NAMES)[0]) == expected
    assert shown(pool_from_frame(NESTED, id="qid", references="gold")) == expected
    structs = [[{"response": "x", "lm": 1.5}, {"response": "y", "lm": 2.0}], [{"response": "z", "lm": 0.0}]]
    made = pool_from_frame({"prompt": ["s", "t"], "answers": structs}, list="answers")
    assert shown(made)[0] == ("0", "s", [], [("x", {"lm": 1.5}), ("y", {"lm": 2.0})])
    pq.write_table(pa.table({**NESTED, "scores": [[0.5], [1.0]]}), tmp_path / "short.parquet")
    with pytest.raises(
        InputError, match=r"short.parquet:1: expected as many numbers in 'scores' as hypotheses \(2\), found 1"
    ):
        read(tmp_path / "short.parquet", format_options=NAMES)


def test_a_row_without_a_list(tmp_path):
    columns = {"completions": [["x"], None, ["y", "z"]], "scores": [[1.0], None, [2.0, 3.0]]}
    pq.write_table(pa.table(columns), tmp_path / "null.parquet")
    with pytest.raises(InputError, match=r"null.parquet:2: expected a value in the column 'hyp', found null"):
        read(tmp_path / "null.parquet")
    pool, reading = read(tmp_path / "null.parquet", skip_bad=True)
    assert [(i, hyps) for i, _, _, hyps in shown(pool)] == [
        ("0", [("x", {"score": 1})]), ("2", [("y", {"score": 2}), ("z", {"score": 3})]),
    ]  # fmt: skip
    assert dict(reading.faults.counts) == {"fields": 1}


@pytest.mark.parametrize("mark", ["\t", ","])
def test_a_column_for_each_system(tmp_path, mark):
    rows = ["src ref A B kiwi_A kiwi_B B:lm A:lm", "s0 r0 a0 b0 0.5 0.25 1 2", "s1 r1 a1 b1 1 0 3 4"]
    path = tmp_path / "wide"
    path.write_text("".join(row.replace(" ", mark) + "\n" for row in rows))
    expected = [
        ("0", "s0", ["r0"], [("a0", {"kiwi": 0.5, "lm": 2}), ("b0", {"kiwi": 0.25, "lm": 1})]),
        ("1", "s1", ["r1"], [("a1", {"kiwi": 1, "lm": 4}), ("b1", {"kiwi": 0, "lm": 3})]),
    ]
    assert shown(read(path)[0]) == expected
    frame = pd.read_csv(path, sep=mark)
    assert shown(pool_from_frame(frame)) == expected
    frame.to_parquet(tmp_path / "wide.parquet")
    assert shown(read(tmp_path / "wide.parquet")[0]) == expected


@NOTHING
def test_texts_of_systems_without_scores_are_named(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("doc,src,A,B\nd,s,a,b\n")
    with pytest.raises(InputError, match="expected a list in a known format"):
        read(path)
    pool, _ = read(path, format_options={"text": "A,B"}, ignore=["doc"])
    assert [text for text, _ in shown(pool)[0][3]] == ["a", "b"]


OWN = [{"q": "s", "answers": [{"said": "x", "p": 1}, {"said": "y", "p": 2}], "gold": "x", "nr": 4}]


def test_names_of_the_users_own(tmp_path):
    with pytest.raises(InputError, match="if its parts have names of their own, say them: `format_option` id=ID"):
        read(write(tmp_path / "own.json", OWN))
    options = {"list": "answers", "text": "said", "refs": "gold", "id": "nr", "source": "q"}
    pool, _ = read(write(tmp_path / "own.json", OWN), format_options=options)
    assert shown(pool) == [("4", "s", ["x"], [("x", {"p": 1}), ("y", {"p": 2})])]
    rows = [{"nr": 4, "said": item["said"], "p": item["p"], "q": "s", "gold": "x"} for item in OWN[0]["answers"]]
    options.pop("list")
    write(tmp_path / "own.jsonl", rows)
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "own.csv", index=False)
    frame.to_csv(tmp_path / "own.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "own.parquet")
    for name in ("own.jsonl", "own.csv", "own.tsv", "own.parquet"):
        assert shown(read(tmp_path / name, format_options=options)[0]) == shown(pool)
        with pytest.raises(InputError, match="other"):
            read(tmp_path / name, format_options={**options, "text": "other"})
        with pytest.raises(LuthierError, match=r"no option 'beams'"):
            read(tmp_path / name, format_options={"beams": "3"})


@pytest.mark.parametrize("name", ["index", "rank", "seed", "created", "start", "end"])
def test_numbers_that_say_which_row_it_is_are_no_features(tmp_path, name):
    rows = [{"id": 1, "hyp": "a", "lm": 1.5, name: 0}, {"id": 1, "hyp": "b", "lm": 2.5, name: 1}]
    path = write(tmp_path / "rows.jsonl", rows)
    pool, reading = read(path)
    assert pool.features.names == ("lm",)
    assert list(reading.ignored) == [name]
    assert set(read(path, features=[name])[0].features.names) == {"lm", name}
    assert list(read(path, columns=[name])[0].columns) == [name]
    nested = [{"id": 1, "hyp": "a", "features": {name: 1}}]  # said to be a feature
    assert read(write(path, nested))[0].features.names == (name,)


def test_groups_by_source(tmp_path):
    rows = [{"id": i, "hyp": str(i), "source": s, "lm": i} for i, s in enumerate("sts")]
    path = write(tmp_path / "rows.jsonl", rows)
    pool, _ = read(path, group_by="source")
    assert [(s, [t for t, _ in h]) for _, s, _, h in shown(pool)] == [("s", ["0", "2"]), ("t", ["1"])]
    (tmp_path / "src").write_text("t\ns\n")
    (tmp_path / "ref").write_text("T\nS\n")
    pool, _ = read(path, [tmp_path / "ref"], str(tmp_path / "src"), group_by="source")
    assert [(s, r, [t for t, _ in h]) for _, s, r, h in shown(pool)] == [("t", ["T"], ["1"]), ("s", ["S"], ["0", "2"])]
    (tmp_path / "ref").write_text("T\n")
    with pytest.raises(InputError, match="expected 1 different sources, one for each reference, found 2"):
        read(path, [tmp_path / "ref"], group_by="source")
    with pytest.raises(InputError, match="a source on each row"):
        read(write(path, [rows[0], {**rows[1], "source": ""}]), group_by="source")
    (tmp_path / "list.moses").write_text("0 ||| a ||| lm= 1 ||| 1\n")
    with pytest.raises(LuthierError, match="a list of moses has ids of its own"):
        read(tmp_path / "list.moses", group_by="source")
    with pytest.raises(LuthierError, match="found 'prompt'"):
        read(path, group_by="prompt")


@NOTHING
def test_n_lines_a_sentence_and_scores_without_a_header(tmp_path):
    (tmp_path / "hyps.txt").write_text("a\nb\nc\nd\n")
    (tmp_path / "kiwi.txt").write_text("0.5\n0.25\n1\n2\n")
    options = {"per_sentence": 2, "scores": str(tmp_path / "kiwi.txt")}
    pool, _ = read(tmp_path / "hyps.txt", format="tsv", format_options=options)
    assert shown(pool)[1] == ("1", "", [], [("c", {"kiwi": 1}), ("d", {"kiwi": 2})])
    (tmp_path / "kiwi.txt").write_text("0.5\t1\n0.25\t2\n1\t3\n")
    with pytest.raises(InputError, match=r"4 lines in .*hyps.txt and 3 rows, in .*kiwi.txt"):
        read(tmp_path / "hyps.txt", format="tsv", format_options=options)
    assert read(tmp_path / "hyps.txt", format="tsv", format_options={"per_sentence": 2})[0].n_features == 0


def test_ids_are_numbers_or_texts(tmp_path):
    path = write(tmp_path / "ids.jsonl", [{"id": 0, "hyp": "a", "lm": 1}, {"id": 1, "hyp": "a", "lm": 1}])
    assert read(path)[0].provenance["integer_ids"] is True
    path = write(tmp_path / "ids.jsonl", [{"id": 0, "hyp": "a", "lm": 1}, {"id": "x", "hyp": "a", "lm": 1}])
    assert read(path)[0].provenance["integer_ids"] == ["0"]
    path = write(tmp_path / "ids.jsonl", [{"id": 0, "hyp": "a", "lm": 1}, {"id": "0", "hyp": "b", "lm": 1}])
    with pytest.raises(InputError, match=r'ids.jsonl:2: expected ids of one kind: 0 or "0", found both'):
        read(path)


def test_sums_are_those_of_python(tmp_path):
    rng = np.random.default_rng(3)
    rows = [[rng.normal(size=rng.integers(1, 30)).tolist() for _ in range(3)] for _ in range(40)]
    path = write(tmp_path / "sums.jsonl", [answer(*(chat(f"t{k}", p) for k, p in enumerate(row))) for row in rows])
    pool, _ = read(path)
    assert pool.features.column("logprob").tolist() == [functools.reduce(operator.add, p) for row in rows for p in row]


def test_two_columns_of_one_name(tmp_path):
    path = tmp_path / "twice.parquet"
    for name in ("hyp", "outputs", "A"):
        columns = [pa.array(["a"]), pa.array(["b"]), pa.array([1.5])]
        pq.write_table(pa.Table.from_arrays(columns, names=[name, name, "kiwi_A"]), path)
        with pytest.raises(InputError, match=f"expected column names that differ, found '{name}' twice"):
            read(path)


def test_supervisions_of_lhotse_are_a_manifest(tmp_path):
    said = {"recording_id": "r", "start": 0.0, "channel": 0, "language": "en", "speaker": "s"}
    rows = [{"id": f"u{i}", **said, "duration": 1.5 + i, "text": text} for i, text in enumerate(("it rains", "stop"))]
    write(tmp_path / "supervisions.jsonl", rows)
    lists = [
        {"utt_id": "u1", "nbest": [{"text": "stop", "am": 1}]},
        {"utt_id": "u0", "nbest": [{"text": "it reins", "am": 2}]},
    ]
    path = write(tmp_path / "lists.jsonl", lists)
    pool, _ = read(path, manifest=str(tmp_path / "supervisions.jsonl"))
    assert [(i, refs, hyps[0][0]) for i, _, refs, hyps in shown(pool)] == [
        ("u0", ["it rains"], "it reins"), ("u1", ["stop"], "stop"),
    ]  # fmt: skip
    assert pool.columns["duration"].tolist() == [1.5, 2.5]


def test_a_hypothesis_may_have_lists_beside(tmp_path):
    rows = [{"id": 1, "hyp": text, "lm": k, "choices": ["p", "q"]} for k, text in enumerate("ab")]
    pool, reading = read(write(tmp_path / "rows.jsonl", rows))
    assert (list(pool.texts), list(reading.formats.values())) == (["a", "b"], ["jsonl"])


def test_systems_of_comet_have_as_many_rows(tmp_path):
    row = {"src": "s", "mt": "m", "COMET": 0.5}
    path = write(tmp_path / "comet.json", {"a": [row, {**row, "src": "t"}], "b": [row]})
    with pytest.raises(InputError, match=r"comet.json: expected as many translations of each system, found 1 and 2"):
        read(path)
