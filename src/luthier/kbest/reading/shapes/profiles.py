"""Profiles: under which names one tool writes a list of hypotheses inside an object.

A path is keys with dots between them. A new tool is a new profile here, if the one at the end does not read it already.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from luthier.kbest.reading.column_roles import Names

LISTS = (
    "nbest", "n_best", "beams", "hypotheses", "hyps", "candidates", "sequences", "outputs", "predictions",
    "completions", "choices", "responses",
)  # fmt: skip
IDS = (
    "id", "sentence_id", "segment_id", "utt_id", "utterance_id", "key", "audio_filepath", "audio", "request_id",
    "custom_id", "doc_id",
)  # fmt: skip
TEXTS = (
    "hyp", "hypothesis", "text", "translation", "generated_text", "transcript", "mt", "message.content", "content",
    "response", "completion", "output",
)  # fmt: skip
REFERENCES = ("refs", "ref", "references", "reference", "target", "transcript")
SOURCES = ("source", "src", "prompt", "input", "instruction", "question")


@dataclasses.dataclass(frozen=True)
class Profile:
    """Where the parts of a sentence are.

    Attributes
    ----------
    name : the tool
    marks : paths that all objects of this tool have
    list : the hypotheses; `text` inside each of them
    id, source, references : of the sentence; without an id its number is one
    ratings : an object of objects with a "Rating" inside a hypothesis
    repeats : whether the list is a list of lists
    same : a key by which objects that repeat a sentence differ; those that have what the first has are read
    failure : what is not null, and what is not 200, where a request failed
    """

    name: str
    marks: tuple[str, ...] = ()
    list: tuple[str, ...] = LISTS
    text: tuple[str, ...] = TEXTS
    id: tuple[str, ...] = IDS
    source: tuple[str, ...] = SOURCES
    references: tuple[str, ...] = REFERENCES
    ratings: str = ""
    repeats: bool = False
    same: str = ""
    failure: tuple[str, ...] = ()

    def called(self, names: Names) -> Profile:
        """Return the profile with the names that the user gave."""
        given = {"id": names.id, "text": names.text, "list": names.list, "source": names.source}
        given["references"] = names.refs
        changes: dict[str, Any] = {part: (name,) for part, name in given.items() if name}
        return dataclasses.replace(self, **changes)


GENERIC = Profile("nested")
PROFILES = (
    Profile("openai-batch", ("custom_id", "response"), list=("response.body.choices",), id=("custom_id",),
            text=("message.content", "text"), failure=("error", "response.status_code")),
    Profile("openai", ("choices",), list=("choices",), id=("custom_id",), text=("message.content", "text")),
    Profile("ultrafeedback", ("instruction", "completions"), source=("instruction",), id=("id",),
            text=("response",), references=(), ratings="annotations"),
    Profile("lm-eval", ("doc_id", "resps"), list=("resps",), id=("doc_id",), references=("target",),
            source=("arguments.gen_args_0.arg_0",), repeats=True, same="filter"),
    GENERIC,
)  # fmt: skip
