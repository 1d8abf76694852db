"""One word for one thing, the field's: words that do not come back, in file names, public names, help and docs."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "luthier"

# word → what to say
NAMES = {
    "parted": "sharded", "sealed": "journal", "sighted": "projection cache", "sighting": "projections",
    "promise": "coordinate gain", "standing": "explanation", "overturn": "flip", "wish": "constraint",
    "lasting": "robust", "steady": "robust", "crew": "workers", "parcel": "serialized", "invented": "synthetic",
    "asked": "request", "replies": "responses", "following": "tail", "guard": "middleware", "handing": "scheduling",
    "warming": "warmup", "choosing": "sweep", "shells": "degenerate boxes", "bundles": "rows", "quick": "api",
    "chance": "significance", "keeping": "best epoch", "holes": "missing values", "stretches": "runs",
    "stretch": "range", "passed": "visited", "told": "reported",
}  # fmt: skip
CONSTANTS = {"FAR", "REACH", "NOTHING", "CLOSE", "ROUNDING", "OUTSIDE", "WIDE", "ROOM"}  # of what, they do not say
PROSE = {
    r"linear programmes?": "linear program", r"pools? in parts": "sharded pool", r"\bmend(s|ed|ing)?\b": "fix",
    r"\bwish(es|ed)?\b": "constraint", r"\binvented\b": "synthetic", r"\bmade-up\b": "synthetic",
    r"gone on with": "resumed", r"let go of": "released", r"laid into": "inlined", r"busy machine": "nothing",
    r"two versions ago": "nothing", r"of equals the first": "ties go to the first", r"\bparted\b": "sharded",
    r"\blasting\b": "robust", r"\bartificial\b": "synthetic", r"\bparcels?\b": "serialized", r"\bwarming\b": "warmup",
    r"passed (by|over)\b": "visited, or skipped",
}  # fmt: skip
# of pages alone: the present, in the field's words
PAGES = {
    r"\b(asked|asks)\b": "requested, or what is done", r"\bsteady\b": "robust", r"\bsealed\b": "journal",
    r"\bprogrammes?\b": "program", r"\bholes?\b": "missing values", r"\bhanded\b": "submitted", r"\bcrew\b": "workers",
    r"\bstretch(es)?\b": "runs, blocks", r"\blooked at\b": "inspected", r"\bgo(es|ing)? on\b": "continues, resumes",
    r"\bstands? for\b": "represents", r"\b(was|were) tried\b": "what is", r"\bonce had\b": "what is",
    r"\bas it was before\b": "what is", r"other (jobs|things too)": "nothing", r"shared cores": "cores",
}  # fmt: skip
LONGEST = 35  # words of a sentence


def words_of(name):
    return [word for part in re.split(r"[_\W]+", name) for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", part)]


def test_no_file_has_a_word_of_its_own():
    files = [*SOURCE.rglob("*.py"), *(ROOT / "studies" / "lab").rglob("*.py")]
    found = {f"{path.relative_to(ROOT)}: say {NAMES[w]}" for path in files for w in words_of(path.stem) if w in NAMES}
    assert found == set()


def test_no_public_name_has_a_word_of_its_own():
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                said = [word.lower() for word in words_of(node.name) if word.lower() in NAMES]
                found += [f"{path.relative_to(ROOT)}: {node.name}: say {NAMES[word]}" for word in said]
    assert found == []


def test_constants_say_of_what_they_are():
    # those of kernel files and of kernels' neighbours are used beside their definition, which says it in a comment
    settled = {"alignment/methods/hmm.py", "geometry/joint_selection/joint_search.py", "geometry/lines/envelope.py",
               "geometry/lp/feasibility.py", "geometry/plane/subdivision.py", "landscape/lines/coordinate_gains.py",
               "tuning/methods/lp_mert.py"}  # fmt: skip
    found = {
        f"{path.relative_to(SOURCE).as_posix()}: {target.id}"
        for path in SOURCE.rglob("*.py") if not path.name.endswith("kernels.py")
        for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign)
        for target in node.targets if isinstance(target, ast.Name) and target.id in CONSTANTS
    }  # fmt: skip
    assert {name.split(":")[0] for name in found} <= settled


def test_docs_and_docstrings_say_the_fields_words():
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", *SOURCE.rglob("*.py")]
    found = []
    for path in pages:
        text = path.read_text()
        for pattern, better in PROSE.items():
            found += [
                f"{path.relative_to(ROOT)}: {said.group(0)!r}: say {better}" for said in re.finditer(pattern, text)
            ]
    assert found == []


def pages():
    yield from [*(ROOT / "docs").rglob("*.md"), *(ROOT / "studies").glob("*/README.md")]
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))


def sentences(page):
    """Yield the sentences of a page: no code, tables or formulas; code in a line is one word, a link its text."""
    prose = re.sub(r"```.*?```|\$\$.*?\$\$|<!--.*?-->", "\n\n", page, flags=re.DOTALL)
    prose = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]+`", "X", prose))
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.)\s)", prose):
        if not part.lstrip("\n").startswith(("|", "    ")):
            yield from re.split(r"(?<=[.?!:;])[*)]*\s+(?=[A-Z0-9`*(\[])", " ".join(part.split()))


def test_no_sentence_of_a_page_is_long():
    found = []
    for path in pages():
        for sentence in sentences(path.read_text(encoding="utf-8")):
            words = sum(re.search(r"\w", word) is not None for word in sentence.split())
            if words > LONGEST:
                found.append(f"{path.relative_to(ROOT)}: {words} words, say it in two sentences: {sentence}")
    assert found == []


def test_pages_say_what_is():
    found = []
    for path in pages():
        for sentence in sentences(path.read_text(encoding="utf-8")):
            found += [
                f"{path.relative_to(ROOT)}: {said[0]!r}: say {better}: {sentence}"
                for pattern, better in PAGES.items()
                for said in re.finditer(pattern, sentence)
            ]
    assert found == []


def test_a_long_sentence_is_found():
    short = "One `luthier tune POOL` and [a link](a/b/c.md) here. " + "Word " * 20 + "end."
    assert [len(sentence.split()) for sentence in sentences(short)] == [6, 21]
    assert list(sentences("| a | b |\n\n```sh\n" + "word " * 50 + "\n```\n")) == [""]
