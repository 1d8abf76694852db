"""The samples of docs/formats.md are complete files: each is recognised as what it stands under, and read."""

import re
from pathlib import Path

import pytest

from luthier.kbest.building.lists import ReadOptions, read_lists

PAGE = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
# heading → the format, and how many hypotheses each of its samples has; 0 is a sample of something else
SAMPLES = {
    "Moses": ("moses", [3]), "cdec": ("cdec", [3]), "Joshua": ("joshua", [2, 2]), "Travatar": ("travatar", [2]),
    "Marian": ("marian", [3]), "JSON Lines": ("jsonl", [3]), "Sockeye": ("sockeye", [3]), "fairseq": ("fairseq", [3]),
    "Text and a TSV of scores": ("tsv", [0, 0, 3]), "Kaldi": ("kaldi", [3, 0]), "NeMo": ("nemo", [4, 0]),
    "Nested JSON: Hugging Face, pyctcdecode, Whisper": ("nested", [4]),
    "OpenAI, vLLM, TRL and other tools": ("nested", [2]), "A column for each system": ("csv", [4]),
}  # fmt: skip


@pytest.mark.parametrize("heading", SAMPLES)
def test_a_sample_is_recognised_and_read(tmp_path, heading):
    name, counts = SAMPLES[heading]
    section = PAGE.split(f"### {heading}\n")[1].split("\n### ")[0].split("\n## ")[0]
    samples = re.findall(r"```text\n(.*?)```", section, re.S)
    assert len(samples) == len(counts)
    (tmp_path / "manifest").write_text(samples[-1], encoding="utf-8")
    options = ReadOptions(manifest=str(tmp_path / "manifest")) if name == "nemo" else ReadOptions()
    for number, (sample, count) in enumerate(zip(samples, counts, strict=True)):
        if count:
            path = tmp_path / f"sample{number}"
            path.write_text(sample, encoding="utf-8")
            reading = read_lists([str(path)], [], None, options)
            assert list(reading.formats.values()) == [name]
            assert reading.pool.n_hypotheses == count
