"""A policy for SB3 that scores every legal (task, processor) pair with the same small network.

``PairObservation`` turns the observation of ``DAGSched-v0`` into one row of features per action;
``PairPolicy`` is actor and critic on such rows. The cost of a step grows with the number of legal
pairs, not with the padding, and what is learned on small graphs applies to larger ones.
"""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

from dagsched_env.environment.observation import Observation
from dagsched_env.schedulers import heft

COLUMNS = (
    "legal",
    "comp",
    "oct",
    "est",
    "eft",
    "gap",
    "eft, over the task's earliest",
    "eft + oct, over the task's least",
    "eft, over the earliest of all pairs",
    "est, over the earliest of all pairs",
    "rank_u",
    "rank_u, below the highest of all ready tasks",
    "data_out",
    "available",
    "highest rank_u of all ready tasks",
    "latest finish so far",
    "latest earliest_finish of all tasks",
    "work left per processor",
    "share of tasks placed",
)
"""Features of a legal pair; all but the first and the last are times / HEFT's makespan."""

Table = npt.NDArray[np.float32]


class PairObservation(gymnasium.Wrapper[Any, np.int64, Any, np.int64]):
    """One row of ``COLUMNS`` per action, zero where illegal; rewards in units of HEFT's makespan.

    With the reward ``"lower_bound"`` an episode's return is (CP_MIN − makespan) / HEFT's makespan.
    At its end ``info["vs_heft"]`` is makespan / HEFT's makespan.

    Args:
        env: ``DAGSched-v0``.
    """

    def __init__(self, env: gymnasium.Env[Observation, np.int64]) -> None:
        super().__init__(env)
        given: Any = env.observation_space
        self._processors = given["available"].shape[0]
        self._pairs = given["action_mask"].n
        shape = (self._pairs, len(COLUMNS))
        self.observation_space = spaces.Box(-np.inf, np.inf, shape, dtype=np.float32)
        self._unit = 1.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Table, dict[str, Any]]:
        """Start an episode; the arguments are those of ``DAGSchedEnv.reset``."""
        observation, info = self.env.reset(seed=seed, options=options)
        instance = self.get_wrapper_attr("instance")
        self._unit = 1.0 / (heft(instance).slr(instance) or 1.0)
        return self._table(observation), info

    def step(self, action: np.int64) -> tuple[Table, float, bool, bool, dict[str, Any]]:
        """Place a pair; see ``DAGSchedEnv.step``."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated:
            info["vs_heft"] = info["slr"] * self._unit
        return self._table(observation), float(reward) * self._unit, terminated, truncated, info

    def _table(self, seen: Observation) -> Table:
        """``[N·P, columns]``."""
        table = np.zeros((self._pairs, len(COLUMNS)), dtype=np.float32)
        legal = np.flatnonzero(seen["action_mask"])
        if legal.size == 0:
            return table
        task, processor = np.divmod(legal, self._processors)
        comp, oct_, est, eft = (seen[name][legal] for name in ("comp", "oct", "est", "eft"))
        rank = seen["rank_u"][task]
        placed = seen["status_completed"]
        left = float(np.dot(seen["mean_comp"], 1.0 - placed)) / self._processors
        times = (
            comp,
            oct_,
            est,
            eft,
            seen["gap"][legal],
            eft - self._least_per_task(eft, legal)[task],
            eft + oct_ - self._least_per_task(eft + oct_, legal)[task],
            eft - eft.min(),
            est - est.min(),
            rank,
            rank.max() - rank,
            seen["data_out"][task],
            seen["available"][processor],
            rank.max(),
            seen["available"].max(),
            seen["earliest_finish"].max(),
            left,
        )
        rows = np.empty((legal.size, len(COLUMNS)), dtype=np.float32)
        rows[:, 0] = 1.0
        for column, values in zip(range(1, len(COLUMNS) - 1), times, strict=True):
            rows[:, column] = values
        rows[:, 1:-1] *= self._unit
        rows[:, -1] = placed.sum() / seen["task_mask"].sum()
        table[legal] = rows
        return table

    def _least_per_task(self, values: Table, legal: npt.NDArray[np.int64]) -> Table:
        """``[N]`` the least value among the legal pairs of each task."""
        padded = np.full(self._pairs, np.inf, dtype=np.float32)
        padded[legal] = values
        least: Table = padded.reshape(-1, self._processors).min(axis=1)
        return least


class PairScorer(nn.Module):
    """The same network for every legal pair, given the pair and the mean over all of them.

    Args:
        pairs: N·P.
        width: of the hidden layers.
    """

    def __init__(self, pairs: int, width: int = 64) -> None:
        super().__init__()
        self.latent_dim_pi, self.latent_dim_vf = pairs, width
        self._embed = nn.Sequential(
            nn.Linear(len(COLUMNS), width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self._score = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, 1))
        self._judge = nn.Sequential(nn.Linear(width, width), nn.ReLU())

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Flat observations ``[B, N·P·columns]`` → logits ``[B, N·P]``, value latents."""
        at, pairs, mean = self._encode(features)
        return self._logits(at, pairs, mean), self._judge(mean)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        """Logits ``[B, N·P]``, 0 where illegal."""
        return self._logits(*self._encode(features))

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        """``[B, width]``."""
        latent: torch.Tensor = self._judge(self._encode(features)[2])
        return latent

    def _encode(
        self, features: torch.Tensor
    ) -> tuple[tuple[torch.Tensor, torch.Tensor], torch.Tensor, torch.Tensor]:
        """Where the L legal pairs are (row, action), their embeddings, the mean ``[B, width]``."""
        table = features.view(features.shape[0], self.latent_dim_pi, -1)
        row, action = (table[:, :, 0] > 0).nonzero(as_tuple=True)
        pairs: torch.Tensor = self._embed(table[row, action])
        total = pairs.new_zeros(table.shape[0], pairs.shape[1]).index_add(0, row, pairs)
        count = torch.bincount(row, minlength=table.shape[0]).clamp(min=1)
        return (row, action), pairs, total / count[:, None]

    def _logits(
        self, at: tuple[torch.Tensor, torch.Tensor], pairs: torch.Tensor, mean: torch.Tensor
    ) -> torch.Tensor:
        scores = self._score(torch.cat((pairs, mean[at[0]]), dim=1)).squeeze(1)
        blank = scores.new_zeros(mean.shape[0], self.latent_dim_pi)
        return torch.index_put(blank, at, scores)


class PairPolicy(MaskableActorCriticPolicy):
    """Actor and critic on top of ``PairScorer``, for the observations of ``PairObservation``."""

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor: Any = PairScorer(int(self.action_space.n)).to(self.device)  # type: ignore[attr-defined]

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        super()._build(lr_schedule)
        # The scorer's outputs are the logits; the library would put a dense layer behind them.
        self.action_net: Any = nn.Identity()
        options = {"lr": lr_schedule(1), **self.optimizer_kwargs}
        self.optimizer = self.optimizer_class(self.parameters(), **options)
