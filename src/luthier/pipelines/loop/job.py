"""A loop from its settings to its folder: turns, answer, table and picture."""

from __future__ import annotations

from pathlib import Path

from luthier.core.io import write_lines
from luthier.core.progress import notice
from luthier.pipelines.loop.config import LoopConfig, Sentences
from luthier.pipelines.loop.outside import OutsideDecoder
from luthier.report.figures.loop import draw_loop
from luthier.report.tables.loop import loop_markdown
from luthier.tuning.iterations import LoopResult
from luthier.tuning.loop import Decode, LoopPlace, tune_loop
from luthier.tuning.loop_folder import HELDOUT, LISTS, RecordedLists, recorded_decoder

TABLE, PICTURE = "table.md", "loop.png"


def run_loop(config: LoopConfig, folder: str, *, resume: bool) -> LoopResult:
    """Run a loop, or go on with it; leave its turns, answer, table and picture in the folder."""
    if config.command is not None:
        outside = _outside(config, config.tune, "tune", folder)
        identity, decode = outside.identity(), outside
        heldout: Decode | None = None
        if config.heldout is not None:
            watched = _outside(config, config.heldout, "heldout", folder)
            identity, heldout = f"{identity} {watched.identity()}", watched
        if not config.command.has("weights"):
            notice("the command has no place {weights}: the decoder will not see them")
        return finish(config, decode, heldout, LoopPlace(folder, resume, identity))
    heldout = None if config.heldout is None else RecordedLists(config.recorded, HELDOUT)
    place = LoopPlace(folder, resume, recorded_decoder(config.recorded))
    return finish(config, RecordedLists(config.recorded, LISTS), heldout, place)


def _outside(config: LoopConfig, sentences: Sentences, part: str, folder: str) -> OutsideDecoder:
    assert config.command is not None
    work = str(Path(folder).absolute() / "decoder")
    return OutsideDecoder(config.command, sentences.source, sentences.refs, part, config.base, work)


def finish(config: LoopConfig, decode: Decode, heldout: Decode | None, place: LoopPlace) -> LoopResult:
    """Run the loop with a decoder; write table and picture."""
    settings = config.settings
    result = tune_loop(
        decode, config.start, settings.tuner, settings.metric, settings.options, heldout=heldout,
        bounds=settings.bounds, place=place,
    )  # fmt: skip
    write_lines(Path(place.folder) / TABLE, loop_markdown(result).splitlines())
    draw_loop(result, Path(place.folder) / PICTURE)
    return result
