"""What the explorer's answers cost the server: CPU milliseconds of each, beside its limit; memory over many requests.

python benchmarks/bench_explorer.py [--size toy] [--data FOLDER] [--seed 0]

Generated lists of 12 features, or with --data the De→En 1000-best list, from the decoder's weights. Answers are made as
for a request, bytes included, without the network between. A drag moves one weight a little each time; "re-rank alone"
is the least that it can take. A zoom is a window of a tenth, a fiftieth … of the usual one, until its cells are few.
"""

import json
import time

import numpy as np

from bench_common import SIZES, generated_to_tune, machine, parse_arguments, peak_megabytes, real_to_tune, show

LIMITS = {
    "drag": 10, "line": 20, "all lines": 120, "surface 128²": 700, "surface 512²": 1300, "cells of a zoom": 150,
    "cell": 5,
}  # fmt: skip  # CPU milliseconds on De→En
DRAGS, REPEATS, MANY = 40, 5, 2000


def milliseconds(function, repeats):
    """Return the median CPU time of some runs, after one that warms."""
    function(0)
    took = []
    for i in range(repeats):
        start = time.process_time()
        function(i + 1)
        took.append(1000 * (time.process_time() - start))
    return float(np.median(took))


def main():
    arguments = parse_arguments(__doc__.splitlines()[0])
    from luthier.explorer.answers.about import about
    from luthier.explorer.app import answer
    from luthier.explorer.session import Named, Session
    from luthier.metrics.loading import load_metric

    if arguments.data:
        pool, _, start = real_to_tune(arguments.data)
    else:
        pool, _, start = generated_to_tune(SIZES[arguments.size], arguments.seed)
    opened = time.process_time()
    session = Session(pool, load_metric("bleu"), [Named("start", start)])
    about(session).body()
    opened = time.process_time() - opened
    usable = np.flatnonzero(session.units > 0)
    strong = usable[np.argsort(-np.abs(start[usable]) * session.problem.spread[usable])][:2].tolist()
    moved, unit = strong[0], float(session.units[strong[0]])

    def ask(name, **body):
        return answer(session, name, json.dumps(body).encode()).body()

    def drag(i):
        ask("select", weights={"set": [[moved, start[moved] + unit * (i + 1) / DRAGS]]}, count=60)

    reach = json.loads(ask("surface", axes=strong, pixels=16, form="raster")[4:].split(b"}")[0] + b"}")["limits"]

    def fresh(pixels):
        def look(i):
            # another plane each time: nothing is kept
            weights = {"set": [[usable.tolist()[-1], start[usable[-1]] + 1e-6 * (i + 1)]]}
            ask("surface", weights=weights, axes=strong, pixels=pixels, form="raster")

        return look

    for share in (10, 20, 50, 100, 200, 500):
        window = [end / share for end in reach]
        reply = ask("surface", axes=strong, window=window)
        if b'"form":"cells"' in reply[:600]:
            break

    def zoom(i):
        ask("surface", axes=strong, window=[end * (1 + 1e-3 * i) for end in window])

    rows = [
        ("drag", milliseconds(drag, DRAGS)),
        ("  re-rank alone", milliseconds(lambda i: session.problem.select(start + i * 1e-3), DRAGS)),
        ("line", milliseconds(lambda _: ask("line", axis=moved), REPEATS)),
        ("all lines", milliseconds(lambda _: ask("lines"), REPEATS)),
        ("surface 128²", milliseconds(fresh(128), 3)),
        ("surface 512²", milliseconds(fresh(512), 2)),
        ("cells of a zoom", milliseconds(zoom, REPEATS)),
        ("cell", milliseconds(lambda i: ask("cell", axes=strong, x=reach[1] * i / 50, y=0.0), REPEATS)),
        ("sentence", milliseconds(lambda i: ask("sentence", sentence=i), REPEATS)),
    ]
    before = peak_megabytes()
    for i in range(MANY):
        drag(i)
    title = f"{pool.n_hypotheses:,} hypotheses × {pool.n_features} features; CPU ms of an answer; {machine()}"
    show(title, ("answer", "CPU ms", "limit on De→En"), [(name, f"{ms:.1f}", LIMITS.get(name)) for name, ms in rows])
    print(f"opened in {opened:.1f} CPU s; peak memory {before:.0f} MB, after {MANY} drags {peak_megabytes():.0f} MB")
    print(f"the zoom: 1/{share} of the usual window")


if __name__ == "__main__":
    main()
