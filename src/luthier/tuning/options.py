"""How tuners are run: what all of them take, apart from the runner, so that asking for help loads little."""

from __future__ import annotations

import dataclasses

from luthier.core.params import param, validate

RESTART_KINDS = ("random", "perturbed", "few", "walk")
HELDOUT_CHOICES = ("ends", "states")
CHOICES = ("highest", "robust")


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """How a tuner is run; the same for all of them."""

    seed: int = param(0, low=0, help="start of all randomness")
    restarts: int = param(0, low=0, high=1_000_000, help="further runs from other starts")
    restart_kind: str = param("random", choices=RESTART_KINDS, help="how other starts are drawn")
    restart_size: float = param(1.0, low=0.0, help="size of random moves, in units of a feature's mean effect")
    heldout_choice: str = param(
        "ends", choices=HELDOUT_CHOICES, help="what the held-out set chooses among: ends of runs, or all their states"
    )
    heldout_patience: int = param(
        0, low=0, help="stop a run after so many steps without gain on the held-out set (0: never)"
    )
    choose: str = param(
        "highest", choices=CHOICES, help="the highest gain, or the highest mean under noise of the weights"
    )
    noise: float = param(0.1, low=0.0, high=1e6, help="deviation of that noise, in units of a feature's mean effect")
    noise_draws: int = param(16, low=2, high=100_000, help="draws of that noise")
    threads: int = param(1, low=1, high=4096, help="runs at a time")
    checkpoint: str = param("", help="file that keeps finished runs")
    resume: bool = param(False, help="go on from the checkpoint")
    certify: int = param(0, low=0, help="boxes for a proof of how far the answer is from the best (0: none)")

    def __post_init__(self) -> None:
        validate(self)

    @property
    def early(self) -> bool:
        """Whether a run ends, in hindsight, where the held-out set is best; patience asks for that too."""
        return self.heldout_choice == "states" or self.heldout_patience > 0


# How a tuning loop is run, and when it ends; apart from the loop, so that asking for help loads little.

ANSWERS = ("decoded", "last", "heldout")


@dataclasses.dataclass(frozen=True)
class LoopOptions:
    """How a loop is run; the same for all decoders and tuners."""

    iterations: int = param(10, low=1, high=100_000, help="turns at most")
    patience: int = param(
        3, low=0, help="end after so many turns in a row that decoded no better (0: after `iterations` alone)"
    )
    least_gain: float = param(0.01, low=0.0, help="how much higher a decoded score must be to be better")
    trust: float = param(
        0.0,
        low=0.0,
        high=2.0,
        help="how far weights, scaled so that their sizes sum to 1, may go from those that decoded best (0: anywhere)",
    )
    choose: str = param(
        "decoded",
        choices=ANSWERS,
        help="whose weights are the answer: those that decoded best, the last, or the held-out best",
    )
    seed: int = param(0, low=0, help="start of all randomness; every turn has a seed of its own")
    restarts: int = param(0, low=0, high=1_000_000, help="further runs of the tuner from other starts, in every turn")
    restart_kind: str = param("random", choices=RESTART_KINDS, help="how other starts are drawn")
    restart_size: float = param(1.0, low=0.0, help="size of random moves, in units of a feature's mean effect")
    threads: int = param(1, low=1, high=4096, help="runs of the tuner at a time")

    def __post_init__(self) -> None:
        validate(self)

    @property
    def starts(self) -> int | list[int | float | str]:
        """How many other starts there are, and how they are drawn if not in the usual way."""
        usual = LoopOptions(restarts=self.restarts)
        same = (self.restart_kind, self.restart_size) == (usual.restart_kind, usual.restart_size)
        return self.restarts if same else [self.restarts, self.restart_kind, self.restart_size]
