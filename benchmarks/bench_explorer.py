"""What the explorer's answers cost the server: CPU milliseconds of each, beside its limit.

python benchmarks/bench_explorer.py [--size toy] [--data FOLDER] [--seed 0] [--browser] [--requests 10000]

Generated lists of 12 features, or with --data the De→En 1000-best list, from the decoder's weights. Answers are made as
for a request, bytes included, without the network between. A drag moves one weight a little each time; "re-rank alone"
is the least that it can take, and what other answers are compared with: a ratio tells more than milliseconds of a busy
machine. Windows with so many cells are found by bisection. With --browser, 'luthier explore' runs in a process of its
own and a headless Chromium opens it: from the command to the first picture, and from a moved slider to the painted
frame; and a folder of 500 runs is opened. With --requests, that many questions are sent to such a process, and its
memory is watched.
"""

import json
import time

import numpy as np

from bench_common import SIZES, argument_parser, generated_to_tune, machine, peak_megabytes, real_to_tune, show

LIMITS = {
    "drag": 10, "line": 20, "all lines": 120, "surface 128²": 700, "surface 512²": 1300, "window of 15,000 cells": 150,
    "window of 2,000 cells": 100, "cell": 5,
}  # fmt: skip  # CPU milliseconds on De→En
DRAGS, REPEATS, SURFACES, ROWS = 60, 15, 4, 24
CELLS = (14_500, 2000)


def milliseconds(function, repeats):
    """Return the median CPU time of some runs, after one that warms."""
    function(0)
    took = []
    for i in range(repeats):
        start = time.process_time()
        function(i + 1)
        took.append(1000 * (time.process_time() - start))
    return float(np.median(took))


class Asking:
    """A session of lists, and the questions that a page asks it."""

    def __init__(self, pool, start):
        from luthier.explorer.endpoints.about import about
        from luthier.explorer.sessions.session import Named, Session
        from luthier.metrics.loading import load_metric

        opened = time.process_time()
        self.session = Session(pool, load_metric("bleu"), [Named("start", start)])
        about(self.session).body()
        self.opened = time.process_time() - opened
        self.start = start
        self.usable = np.flatnonzero(self.session.units > 0)
        effects = np.abs(start[self.usable]) * self.session.problem.spread[self.usable]
        self.axes = self.usable[np.argsort(-effects)][:2].tolist()
        self.moved, self.unit = self.axes[0], float(self.session.units[self.axes[0]])

    def ask(self, name, **body):
        """Return an answer, as it travels."""
        from luthier.explorer.app import answer

        return answer(self.session, name, json.dumps(body).encode()).body()

    def waited(self, name, **body):
        """Ask until what is made in the background is there."""
        while json.loads(self.ask(name, **body)).get("waiting"):
            time.sleep(0.01)

    def told(self, name, **body):
        """Return the values of an answer with arrays."""
        reply = self.ask(name, **body)
        return json.loads(reply[4 : 4 + int.from_bytes(reply[:4], "little")])

    def dragged(self, i):
        """Return weights that differ a little each time."""
        return {"set": [[self.moved, self.start[self.moved] + self.unit * (i + 1) / DRAGS]]}

    def line(self, i):
        """Ask for the curve at weights that were just selected with, as the page does."""
        last = int(self.usable[-1])
        weights = {"set": [[last, self.start[last] + 1e-4 * (i + 1)]]}
        self.ask("select", weights=weights, count=0)
        began = time.process_time()
        self.ask("line", weights=weights, axis=self.moved)
        return 1000 * (time.process_time() - began)

    def fresh_surface(self, i, pixels):
        """Ask for a plane that is another each time: nothing is kept."""
        last = int(self.usable[-1])
        weights = {"set": [[last, self.start[last] + 1e-6 * (i + 1)]]}
        self.ask("surface", weights=weights, axes=self.axes, pixels=pixels, form="raster")

    def window(self, cells):
        """Return a window with nearly so many cells, and their number; None where the usual one has fewer."""
        limits = np.array(self.told("surface", axes=self.axes, pixels=16, form="raster")["limits"])
        low, high, found = 0.0, 1.0, None
        for _ in range(14):
            share = (low + high) / 2
            told = self.told("surface", axes=self.axes, window=(limits * share).tolist(), pixels=16)
            if told["form"] != "cells" or told["cells"] > cells:
                high = share
            else:
                low, found = share, (told["cells"], limits * share)
        return None if high == 1.0 else found


def server_side(asking):
    """Return names and CPU milliseconds of all kinds of answers."""
    session, start = asking.session, asking.start
    lines = [asking.line(i) for i in range(REPEATS + 1)][1:]
    rows = [
        ("re-rank alone", milliseconds(lambda i: session.problem.select(start + i * 1e-3), DRAGS)),
        ("drag", milliseconds(lambda i: asking.ask("select", weights=asking.dragged(i), count=ROWS), DRAGS)),
        ("line", float(np.median(lines))),
        ("all lines", milliseconds(lambda i: asking.ask("lines", weights=asking.dragged(i)), REPEATS)),
        ("surface 128²", milliseconds(lambda i: asking.fresh_surface(i, 128), SURFACES)),
        ("surface 512²", milliseconds(lambda i: asking.fresh_surface(i, 512), SURFACES)),
    ]
    reach = asking.told("surface", axes=asking.axes, pixels=16, form="raster")["limits"][1]
    for cells in CELLS:
        found = asking.window(cells)
        if found is not None:
            name = f"window of {'15,000' if cells > 10_000 else '2,000'} cells"
            limits = found[1]

            def zoom(i, limits=limits):
                asking.ask("surface", axes=asking.axes, window=(limits * (1 - 1e-3 * i)).tolist())

            rows.append((name, milliseconds(zoom, REPEATS)))
    rows.append(
        ("cell", milliseconds(lambda i: asking.ask("cell", axes=asking.axes, x=reach * i / 50, y=0.0), REPEATS))
    )
    rows.append(("sentence", milliseconds(lambda i: asking.ask("sentence", sentence=i), REPEATS)))
    return rows


def background_side(asking):
    """Return names and CPU milliseconds of what is made once the weights rest."""
    last = int(asking.usable[-1])

    def body(i):
        return {"weights": {"set": [[last, asking.start[last] + 1e-5 * (i + 1)]]}}

    return [
        ("chips on five folds", milliseconds(lambda i: asking.waited("promises", **body(i)), 2)),
        ("region of a line", milliseconds(lambda i: asking.waited("region", axis=asking.moved, **body(i)), 2)),
    ]


def main():
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--browser", action="store_true", help="also time the page, in a headless Chromium")
    parser.add_argument("--requests", type=int, default=0, metavar="N", help="also send N requests, and watch memory")
    arguments = parser.parse_args()
    if arguments.data:
        pool, _, start = real_to_tune(arguments.data)
    else:
        pool, _, start = generated_to_tune(SIZES[arguments.size], arguments.seed)
    asking = Asking(pool, start)
    rows = [*server_side(asking), *background_side(asking)]
    title = f"{pool.n_hypotheses:,} hypotheses × {pool.n_features} features; CPU ms of an answer; {machine()}"
    least = rows[0][1]
    shown = [(name, f"{ms:.1f}", f"{ms / least:.1f}", LIMITS.get(name)) for name, ms in rows]
    show(title, ("answer", "CPU ms", "re-ranks", "limit on De→En"), shown)
    print(f"opened in {asking.opened:.1f} CPU s; peak memory {peak_megabytes():.0f} MB, the reading of lists included")
    if arguments.browser or arguments.requests:
        from explorer_page import page_side, runs_side

        if arguments.browser:
            runs_side(pool, start)
        page_side(pool, start, asking, browser=arguments.browser, requests=arguments.requests)


if __name__ == "__main__":
    main()
