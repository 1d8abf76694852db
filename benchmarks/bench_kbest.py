"""Reading, opening and re-ranking lists: rates, ratios to a plain reader and to a matrix product, memory.

python benchmarks/bench_kbest.py [--data FOLDER] [--size paper]
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench_common import (
    cpu_seconds,
    in_fresh_process,
    machine,
    parse_arguments,
    peak_megabytes,
    show,
    unpacked_list,
)


def plain_python_reader(path, limit):
    """Read `limit` lines as one would without kernels: the rival."""
    rows = []
    with open(path, encoding="utf-8") as file:
        for line, _ in zip(file, range(limit), strict=False):
            sentence, text, features, score = line.split(" ||| ")
            values = {}
            name = ""
            for item in features.replace("=", "= ").split():  # `lm= -3` and `lm=-3` alike
                if item.endswith("="):
                    name = item[:-1]
                else:
                    values[name] = float(item)
            rows.append((sentence, text.split(), values, float(score)))
    return rows


def read(path, refs):
    from luthier import read_pool

    return read_pool(path, refs=refs)


def bare_pass(path):
    """Read the bytes and check that they are UTF-8: the limit."""
    with open(path, "rb") as file:
        return len(file.read().decode("utf-8"))


def memory_of_reading(path, refs):
    """Print, as JSON, the peak memory of one reading in this process and the size of its arrays."""
    pool = read(path, refs)
    print(json.dumps({"peak": peak_megabytes(), "arrays": pool.nbytes / 2**20, "rows": pool.n_hypotheses}))


def generated(folder, size, seed):
    from luthier.kbest.storage.writer import write_pool
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    sentences, k = size
    pool = SyntheticLists(sentences=sentences, k=k, n_features=15, mean_length=15.0).generate(seed)
    path, refs = folder / "generated.moses", folder / "refs.txt"
    write_pool(pool, path)
    refs.write_text("".join(f"{text}\n" for text in pool.references.texts), encoding="utf-8")
    return path, refs


def bench_reading(label, path, refs):
    seconds, pool = cpu_seconds(lambda: read(path, [str(refs)]))
    limit = min(50_000, pool.n_hypotheses)
    plain, _ = cpu_seconds(lambda: plain_python_reader(path, limit), repeats=1)
    rate, plain_rate = pool.n_hypotheses / seconds, limit / plain
    bare, _ = cpu_seconds(lambda: bare_pass(path))
    memory = in_fresh_process(__file__, "--memory-of", path, refs)
    packed = path.with_suffix(".gz")
    subprocess.run(["gzip", "-kc", "-6", str(path)], stdout=open(packed, "wb"), check=True)  # noqa: SIM115
    gz_seconds, _ = cpu_seconds(lambda: read(packed, [str(refs)]), repeats=1)
    rows = [
        ("hypotheses", f"{pool.n_hypotheses:,}"),
        ("features", f"{pool.n_features}"),
        ("text", f"{path.stat().st_size / 2**20:,.0f} MiB"),
        ("read, plain text, one core", f"{seconds:.2f} s = {rate:,.0f} hypotheses/s"),
        (
            "read, gz (decompression included)",
            f"{gz_seconds:.2f} s = {pool.n_hypotheses / gz_seconds:,.0f}/s",
        ),
        ("limit: bytes read and checked as UTF-8", f"{pool.n_hypotheses / bare:,.0f}/s, {seconds / bare:.1f} × faster"),
        ("rival: plain Python", f"{plain_rate:,.0f} hypotheses/s"),
        ("ratio", f"{rate / plain_rate:.1f} ×"),
        ("peak memory of the process", f"{memory['peak']:,.0f} MiB"),
        ("arrays of the pool", f"{memory['arrays']:,.0f} MiB"),
        ("ratio (limit: 3)", f"{memory['peak'] / memory['arrays']:.2f}"),
    ]
    show(f"reading: {label}", ("", ""), rows)
    return pool


def bench_pool(label, pool, folder, seed):
    from luthier import open_pool, rerank, save_pool

    path = folder / "pool.arrow"
    start = time.perf_counter()
    save_pool(pool, path)
    save = time.perf_counter() - start
    start = time.perf_counter()
    pool = open_pool(path)
    opened = time.perf_counter() - start
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((100, pool.n_features))
    one, _ = cpu_seconds(lambda: rerank(pool, vectors[0]))
    many, _ = cpu_seconds(lambda: rerank(pool, vectors))
    dense = np.array(pool.features.dense)
    product, _ = cpu_seconds(lambda: dense @ vectors.T)
    rows = [
        ("save", f"{save:.2f} s"),
        ("open", f"{opened * 1000:.1f} ms"),
        ("re-rank, one vector", f"{one * 1000:.1f} ms = {one / len(dense) * 1e9:.1f} ns per hypothesis"),
        ("re-rank, 100 vectors at once", f"{many:.3f} s"),
        ("limit: the matrix product alone", f"{product:.3f} s"),
        ("ratio (limit: 3)", f"{many / product:.2f}"),
    ]
    show(f"the pool: {label}", ("", ""), rows)


def bench_start():
    def wall(*command):
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            best = min(best, time.perf_counter() - start)
        return best

    python = sys.executable
    luthier = str(Path(python).parent / "luthier")
    rows = [
        ("python -c pass", f"{wall(python, '-c', 'pass'):.3f} s"),
        ("luthier --help", f"{wall(luthier, '--help'):.3f} s"),
        ("import luthier", f"{wall(python, '-c', 'import luthier'):.3f} s"),
        ("luthier list formats", f"{wall(luthier, 'list', 'formats'):.3f} s"),
    ]
    show("start-up, wall clock", ("", ""), rows)


def openai_batch(path, seed, requests=1500, choices=8, tokens=40):
    """Write the answers of a batch with log-probabilities, as OpenAI and vLLM do."""
    rng = np.random.default_rng(seed)
    words = ["the", " house", " is", " small", " größer", " it", " rains", "\n"]
    with open(path, "w", encoding="utf-8") as file:
        for request in range(requests):
            said = []
            for index in range(choices):
                chosen = [words[k] for k in rng.integers(len(words), size=tokens)]
                content = [
                    {"token": word, "logprob": p, "bytes": list(word.encode()), "top_logprobs": []}
                    for word, p in zip(chosen, np.log(rng.random(tokens)).tolist(), strict=True)
                ]
                message = {"role": "assistant", "content": "".join(chosen)}
                said.append({"index": index, "message": message, "logprobs": {"content": content}})
            response = {"status_code": 200, "body": {"id": f"c{request}", "choices": said}}
            file.write(json.dumps({"custom_id": f"r{request}", "response": response, "error": None}) + "\n")


def summed_in_python(path, loads):
    """Read a batch as its users do: parse each line, sum the log-probabilities of each choice."""
    rows = []
    with open(path, "rb") as file:
        for line in file:
            answer = loads(line)
            for choice in answer["response"]["body"]["choices"]:
                content = choice["logprobs"]["content"]
                total = sum(token["logprob"] for token in content)
                rows.append((answer["custom_id"], choice["message"]["content"], total, len(content)))
    return rows


def bench_batches(folder, seed):
    """Compare reading an OpenAI batch into a pool with parsing it and summing in Python."""
    from luthier import read_pool

    path = folder / "batch.jsonl"
    openai_batch(path, seed)
    parsers = {"json": json.loads}
    try:
        import orjson
    except ImportError:
        pass
    else:
        parsers["orjson"] = orjson.loads
    seconds, pool = cpu_seconds(lambda: read_pool(path))
    rows = [("read_pool", path.stat().st_size / 2**20 / seconds, 1.0)]
    for name, loads in parsers.items():
        plain, found = cpu_seconds(lambda loads=loads: summed_in_python(path, loads))
        assert pool.features.column("logprob").tolist() == [total for _, _, total, _ in found]
        rows.append((f"{name}.loads, summed in Python", path.stat().st_size / 2**20 / plain, plain / seconds))
    show("an OpenAI batch with log-probabilities", ("reader", "MB/s of CPU", "ratio"), rows)


def main():
    if "--memory-of" in sys.argv:
        memory_of_reading(sys.argv[-2], [sys.argv[-1]])
        return
    from luthier.core.threads import hold_blas

    hold_blas(1)  # one core for everyone, the rival too
    arguments = parse_arguments(__doc__)
    from bench_common import SIZES

    print(machine())
    bench_start()
    with tempfile.TemporaryDirectory() as name:
        bench_batches(Path(name), arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, refs = generated(folder, SIZES[arguments.size], arguments.seed)
        label = f"generated, {arguments.size}"
        bench_pool(label, bench_reading(label, path, refs), folder, arguments.seed)
        path.unlink()
        if arguments.data:
            path = unpacked_list(arguments.data, folder)
            refs = arguments.data / "multi30k" / "val.en.gz"
            bench_pool("De→En", bench_reading("De→En 1000-best", path, refs), folder, arguments.seed)


if __name__ == "__main__":
    main()
