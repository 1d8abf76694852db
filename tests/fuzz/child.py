"""The process that bears the mutants: it runs one after another and says after each how it went.

Whoever started it sees a death by a signal, and sees that nothing comes. Arguments: seed, first, stop.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import tempfile
import time
import traceback

import numpy as np
from cases import Cases
from runs import SLOW

MEMORY = 8 << 30
EXIT_CODES = (0, 1, 2)
LAST = [""]  # what the last command said


def command(arguments):
    """Run one command, or a call, in this process; return its exit code and what is wrong with that, if anything."""
    from luthier.cli.main import main
    from luthier.core.errors import LuthierError

    if callable(arguments):
        try:
            return (0, "") if arguments() is not None else (1, "no answer")
        except LuthierError:
            return 2, ""
        except Exception:
            return None, "traceback: " + traceback.format_exc()[-1500:]
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(argument) for argument in [*arguments, "--threads", "1", "--quiet"]])
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        return None, "traceback: " + traceback.format_exc()[-1500:]
    said = err.getvalue()
    LAST[:] = [said]
    if "Traceback" in said or code not in EXIT_CODES:
        return code, f"exit code {code}: {said[-1500:]}"
    if code and "error: " not in said:
        return code, f"exit code {code} without a word: {said[-300:]}"
    return code, ""


def run(made):
    """Bear one mutant; return how it ended and what is wrong with that."""
    if made.answer is not None:
        made.answer.unlink(missing_ok=True)
    for k, arguments in enumerate(made.commands):
        code, wrong = command(arguments)
        if wrong:
            said = "a call" if callable(arguments) else " ".join(map(str, arguments))
            return "failed", f"{said}\n{wrong}"
        if code:
            return "refused" if k == 0 else "refused later", ""
    if made.answer is None or made.answer.read_bytes() == made.expected:
        return "unharmed", ""
    if made.verify is None:
        return "failed", f"another answer without a word: {' '.join(map(str, made.commands[0]))}"
    code, wrong = command(made.verify)
    if wrong or not code:
        return "failed", wrong or "another answer, which --verify did not tell"
    return "told by the digest", ""


def sound(arguments):
    """Run a command over sound files, which must go well."""
    code, said = command(arguments)
    if said or code:
        raise SystemExit(f"a sound file fails: {' '.join(map(str, arguments))} {code} {said or LAST[-1]}")
    return code


def main(seed, first, stop):
    """Run the mutants ``first:stop``."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    import luthier.jobs.lab.kinds.starts as studies
    import luthier.jobs.loop as loops
    import luthier.jobs.sweep as choices
    import luthier.jobs.train as trainings

    # pictures take long and read nothing
    studies.draw_starts = lambda units, title, path: path.touch()
    choices.draw_chosen = loops.draw_loop = trainings.draw_loop = lambda result, path: path.touch()
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(folder, np.random.default_rng(seed), sound)
        for i in range(len(cases.names)):  # what is to be compiled is compiled before the clock runs
            run(cases.make(np.random.default_rng([seed, 1 << 32, i]), i))
        report({"ready": cases.names})
        for i in range(first, stop):
            report({"begins": i})
            cpu, ended, wrong = timed(cases, seed, i)
            if cpu > SLOW and not wrong:  # perhaps something was compiled: once more, then it counts
                cpu, ended, wrong = timed(cases, seed, i)
            name = cases.names[i % len(cases.names)]
            report({"mutant": i, "case": name, "ended": ended, "wrong": wrong, "cpu": cpu})


def timed(cases, seed, i):
    """Bear mutant i; return its seconds of processor time, how it ended and what is wrong with that."""
    started = time.process_time()
    ended, wrong = run(cases.make(np.random.default_rng([seed, i]), i))
    return time.process_time() - started, ended, wrong


def report(record):
    """Write a line to whoever started this."""
    sys.__stdout__.write(json.dumps(record) + "\n")
    sys.__stdout__.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
