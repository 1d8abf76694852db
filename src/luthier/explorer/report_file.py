"""The page as one file that needs no server: its style and scripts, and the recorded answers to what it may ask.

Every answer is made by the same functions as for a live page, so the numbers are the same. What a report cannot do is
answer for weights that nobody named: sliders rest, lines are those of the named weights, surfaces those that were asked
for.
"""

from __future__ import annotations

import base64
import dataclasses
import gzip
import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from luthier.core.errors import LuthierError
from luthier.core.files.io import open_output
from luthier.core.progress import progress
from luthier.explorer.app import PAGE, SCRIPTS, STYLE, answer, page_text
from luthier.explorer.endpoints.about import about
from luthier.explorer.sessions.folders import value_at
from luthier.explorer.sessions.responses import Reply
from luthier.explorer.sessions.session import Session

WAIT = 0.02  # seconds between two looks at what is made in the background
PLACES = ("steps", "corners")  # where things are drawn: seven digits will do
SHORT, MARK = 12, "\x01"  # texts of fewer letters are not shared; who begins a text so is shared always
PIXELS, MOST_CHANGES, MOST_LISTED, MOST_LINES, MOST_NAMED = 256, 200, 10, 64, 8
IMPORT = re.compile(r'^import \{ (.*) \} from "\./(\w+)\.js";$', re.M)
EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.M)


@dataclasses.dataclass(frozen=True)
class Question:
    """What the page will ask, and what is asked of the session for it."""

    name: str
    page: dict[str, Any]
    session: dict[str, Any]

    @property
    def key(self) -> str:
        """The name under which the page finds the answer."""
        return f"{self.name} {json.dumps(self.page, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}"


def write_report(session: Session, path: str, pairs: Sequence[tuple[int, int]] = ()) -> None:
    """Write the page of a session with its answers; `pairs` are the features over which surfaces are shown."""
    text = report_page(session, pairs)
    with open_output(path) as file:
        file.write(text.encode("utf-8"))


def report_page(session: Session, pairs: Sequence[tuple[int, int]] = ()) -> str:
    """Return the page of a session with its answers."""
    if len(session.named) > MOST_NAMED:
        raise LuthierError(f"expected at most {MOST_NAMED} files of weights in a report, found {len(session.named)}")
    return _page(_recorded(session, pairs))


def _recorded(session: Session, pairs: Sequence[tuple[int, int]]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    seen: set[int] = set()
    first, rest = list(_selections(session)), [*_unseen(session), *_others(session, pairs)]
    with progress("recording answers", None) as advance:
        for question in first:
            reply = _answer(session, question)
            seen.update(row["sentence"] for row in reply.values["rows"])
            answers[question.key] = _packed(reply)
            advance(1)
        for question in [*rest, *_sentences(session, sorted(seen))]:
            answers[question.key] = _packed(_answer(session, question))
            advance(1)
    compared = [True] if len(session.named) > 1 else []
    has = {"surfaces": [list(pair) for pair in pairs], "compare": compared}
    return {"session": dict(about(session).values), "answers": answers, "has": has}


def _at(base: int) -> dict[str, Any]:
    return {"base": base, "set": []}


def _selections(session: Session) -> Iterator[Question]:
    for base in range(len(session.named)):
        for against in range(len(session.named)):
            asked = {"weights": _at(base), "against": against}
            yield Question("select", asked, {**asked, "order": "worst", "count": MOST_CHANGES})


def _unseen(session: Session) -> Iterator[Question]:
    several = range(len(session.named))
    for base in several if about(session).values["unseen"] else ():
        for against in several:
            asked = {"weights": _at(base), "against": against}
            yield Question("unseen", asked, asked)
    for base in several:
        yield Question("promises", {"weights": _at(base)}, {"weights": _at(base)})
        if value_at(session.named[base].record, "resampled"):
            yield Question("intervals", {"base": base}, {"base": base})


def _others(session: Session, pairs: Sequence[tuple[int, int]]) -> Iterator[Question]:
    usable = [d for d, feature in enumerate(session.features) if session.units[d] > 0 and not feature.relation]
    for base in range(len(session.named)):
        weights = {"weights": _at(base)}
        yield Question("lines", weights, weights)
        for axis in usable[:MOST_LINES]:
            yield Question("line", {**weights, "axis": axis}, {**weights, "axis": axis})
        if session.bins is not None or session.problem.groups:
            yield Question("curves", weights, weights)
    for pair in pairs:
        asked = {"weights": _at(0), "axes": list(pair)}
        yield Question("surface", asked, {**asked, "pixels": PIXELS})
    if len(session.named) > 1:
        systems = {"systems": [_at(k) for k in range(len(session.named))], "names": [w.name for w in session.named]}
        yield Question("compare", systems, systems)
    for number, followed in enumerate(session.followed):
        while followed.look().more:
            pass
        yield Question("trace", {"trace": number}, {"trace": number})


def _sentences(session: Session, seen: Sequence[int]) -> Iterator[Question]:
    for base in range(len(session.named)):
        for sentence in seen:
            asked = {"sentence": sentence, "weights": _at(base)}
            yield Question("sentence", asked, {**asked, "count": MOST_LISTED})


def _answer(session: Session, question: Question) -> Reply:
    """Return an answer; what is made in the background is waited for."""
    while (reply := answer(session, question.name, json.dumps(question.session).encode())).values.get("waiting"):
        time.sleep(WAIT)
    return reply


def _packed(reply: Reply) -> Any:
    """Return an answer for JSON: as it is, or with arrays as compressed bytes in letters."""
    if not reply.arrays:
        return dict(reply.values)
    arrays = {name: array.astype(np.float32) if name in PLACES else array for name, array in reply.arrays.items()}
    if reply.values.get("form") == "raster":
        arrays["scores"] = arrays["scores"].astype(np.float32)  # for colours; the best is there as a text
    return _letters(Reply(reply.values, arrays).body(shuffled=True))


def _letters(raw: bytes) -> str:
    """Return compressed bytes in letters, none of which is markup."""
    return base64.b64encode(gzip.compress(raw, 9, mtime=0)).decode("ascii")


def _once(recorded: dict[str, Any]) -> dict[str, Any]:
    """Return a record in which longer texts, which many answers share, stand once, and answers have their numbers."""
    numbers: dict[str, int] = {}

    def shared(value: Any) -> Any:
        if isinstance(value, str):
            short = len(value) < SHORT and not value.startswith(MARK)
            return value if short else f"{MARK}{np.base_repr(numbers.setdefault(value, len(numbers)), 36).lower()}"
        if isinstance(value, Mapping):
            return {key: shared(item) for key, item in value.items()}
        return [shared(item) for item in value] if isinstance(value, list | tuple) else value

    record = shared(recorded)
    return {"texts": list(numbers), "record": record}


def unpack_record(text: str) -> dict[str, Any]:
    """Return what a page has recorded: the way back."""
    start = text.index('id="recorded">') + len('id="recorded">')
    found = json.loads(gzip.decompress(base64.b64decode(text[start : text.index("</script>", start)])))

    def restored(value: Any) -> Any:
        if isinstance(value, str):
            return found["texts"][int(value[1:], 36)] if value.startswith(MARK) else value
        if isinstance(value, dict):
            return {key: restored(item) for key, item in value.items()}
        return [restored(item) for item in value] if isinstance(value, list) else value

    record: dict[str, Any] = restored(found["record"])
    return record


def _page(recorded: dict[str, Any]) -> str:
    """Return the page with everything in it; its policy allows these very scripts and styles and no others."""
    script, style = bundle(), page_text(STYLE)
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src 'sha256-{_digest(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    data = _letters(json.dumps(_once(recorded), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode())
    page = page_text(PAGE)
    for tag in ('<link rel="stylesheet" href="/style.css">\n', '<script type="module" src="/main.js"></script>\n'):
        assert tag in page, "the page has changed"
        page = page.replace(tag, "")
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n</head>'
    record = f'<script type="text/plain" id="recorded">{data}</script>'
    body = f'{record}\n<script type="module">{script}</script>\n</body>'
    return page.replace("</head>", head).replace("</body>", body)


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def bundle() -> str:
    """Return all scripts as one: each in a function of its own, which returns what it exports."""
    parts = []
    for name in SCRIPTS:
        text = page_text(name)
        exported = ", ".join(EXPORT.findall(text))
        inside = IMPORT.sub(r"const { \1 } = \2_js;", text)
        inside = re.sub(r"^export ", "", inside, flags=re.M)
        parts.append(f"const {name.replace('.', '_')} = (() => {{\n{inside}\nreturn {{ {exported} }};\n}})();")
    return "\n".join(parts)
