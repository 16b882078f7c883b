"""``TSP-v0``: visit every point once and come back; one problem, or many in batched tensors.

Observation: ``points`` float32 ``[n, 2]``, ``visited`` int8 ``[n]``, ``first`` and ``last`` (n
before there is one). Action: the next point. Reward: minus the distance travelled, with the way
back in the last step, so that the return is minus the length of the tour. ``info`` always holds
``action_mask`` (int8), after each step ``illegal_action``, and at the end ``tour`` and ``length``.
A point that has been visited changes nothing and costs ``illegal_penalty``; the
``max_illegal_actions``-th truncates the episode.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from dagsched_env.problem.errors import DAGSchedError
from tsp.points import DISTRIBUTIONS
from tsp.tours import TourBatch

__all__ = ["TSPEnv", "TSPVectorEnv"]

Observation = dict[str, npt.NDArray[Any]]
Seeds = int | Sequence[int | None] | None


class TSPVectorEnv(VectorEnv[Any, Any, Any]):
    """B problems at once; after the end of an episode the next ``step`` begins another one.

    Env i has its own random generator: it draws what a ``TSPEnv`` of the same seed draws.

    Args:
        num_envs: B ≥ 1.
        size: n ≥ 3, points of a problem.
        points: ``"uniform"`` in the unit square or ``"gaussian"``, standard normal.
        illegal_penalty: ≥ 0.
        max_illegal_actions: ≥ 1.

    Raises:
        DAGSchedError: an argument is out of its range.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        *,
        size: int = 20,
        points: str = "uniform",
        illegal_penalty: float = 1.0,
        max_illegal_actions: int = 100,
    ) -> None:
        if num_envs < 1 or size < 3:
            raise DAGSchedError(f"num_envs={num_envs}, size={size}: from 1 and from 3 are possible")
        if points not in DISTRIBUTIONS:
            raise DAGSchedError(f"points are {points!r}: choose {' or '.join(DISTRIBUTIONS)}")
        if illegal_penalty < 0 or max_illegal_actions < 1:
            raise DAGSchedError(
                f"illegal_penalty={illegal_penalty}, max_illegal_actions={max_illegal_actions}: "
                "from 0 and from 1 are possible"
            )
        self.num_envs, self._size, self._distribution = num_envs, size, points
        self._penalty, self._most_illegal = illegal_penalty, max_illegal_actions
        self.single_action_space = spaces.Discrete(size)
        self.single_observation_space = spaces.Dict(
            points=spaces.Box(-np.inf, np.inf, (size, 2), np.float32),
            visited=spaces.MultiBinary(size),
            first=spaces.Discrete(size + 1),
            last=spaces.Discrete(size + 1),
        )
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._tours = TourBatch(num_envs, size)
        self._illegal = torch.zeros(num_envs, dtype=torch.int64)
        self._over = torch.zeros(num_envs, dtype=torch.bool)
        self._generators: list[np.random.Generator] = []

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode in all environments.

        Args:
            seed: s for the seeds s, s + 1, …; or a list of one seed or None for each environment.
            options: ``{"points": [B, n, 2] or [n, 2]}``: the problems.

        Raises:
            DAGSchedError: an unknown option, or points of another shape or that are not finite.
        """
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        for i, one in enumerate(seeds or [None] * self.num_envs):
            if one is not None or i >= len(self._generators):
                generator = seeding.np_random(one)[0]
                self._generators[i : i + 1] = [generator]
        self._begin(torch.arange(self.num_envs), self._given(dict(options or {})))
        return self._observe(), {"action_mask": self.action_masks()}

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[Observation, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Visit a point in each environment; begin a new episode where one is over.

        Raises:
            ResetNeeded: before the first ``reset``.
        """
        if not self._generators:
            raise ResetNeeded("call reset before step")
        again = self._over.clone()
        self._begin(again.nonzero()[:, 0], None)
        chosen = torch.as_tensor(np.asarray(actions), dtype=torch.int64).reshape(self.num_envs)
        taken, distance = self._tours.extend(torch.where(again, -1, chosen))
        illegal = ~(taken | again)
        self._illegal += illegal
        terminated, truncated = self._tours.complete, self._illegal >= self._most_illegal
        self._over = terminated | truncated
        info: dict[str, Any] = {
            "action_mask": self.action_masks(),
            "illegal_action": illegal.numpy(),
        }
        if terminated.any():
            info |= {
                "tour": self._tours.order.numpy().copy(),
                "_tour": terminated.numpy(),
                "length": self._tours.lengths().numpy(),
                "_length": terminated.numpy(),
            }
        rewards = -distance - self._penalty * illegal
        return self._observe(), rewards.numpy(), terminated.numpy(), truncated.numpy(), info

    def action_masks(self) -> npt.NDArray[np.int8]:
        """``[B, n]``: 1 where a point may be visited."""
        mask: npt.NDArray[np.int8] = (~self._tours.visited).numpy().astype(np.int8)
        return mask

    def _begin(self, rows: torch.Tensor, given: torch.Tensor | None) -> None:
        if len(rows) == 0:
            return
        if given is None:
            drawn = [self._draw(self._generators[i]) for i in rows.tolist()]
            given = torch.from_numpy(np.stack(drawn))
        self._tours.begin(rows, given)
        self._illegal[rows] = 0
        self._over[rows] = False

    def _draw(self, rng: np.random.Generator) -> npt.NDArray[np.float32]:
        """float32, so that the observation is the problem."""
        shape = (self._size, 2)
        draw = rng.random if self._distribution == "uniform" else rng.standard_normal
        return np.asarray(draw(shape, dtype=np.float32))

    def _given(self, options: dict[str, Any]) -> torch.Tensor | None:
        points = options.pop("points", None)
        if options:
            raise DAGSchedError(f"option {next(iter(options))!r} is unknown: there is 'points'")
        if points is None:
            return None
        array = np.asarray(points, dtype=np.float32)
        shape = (self.num_envs, self._size, 2)
        if array.shape not in (shape, shape[1:]) or not np.isfinite(array).all():
            raise DAGSchedError(f"points must be finite, of shape {shape} or {shape[1:]}")
        return torch.from_numpy(np.broadcast_to(array, shape).copy())

    def _observe(self) -> Observation:
        tours = self._tours
        return {
            "points": tours.points.float().numpy(),
            "visited": tours.visited.numpy().astype(np.int8),
            "first": tours.first.numpy(),
            "last": tours.last.numpy(),
        }


class TSPEnv(gymnasium.Env[Observation, np.int64]):
    """One problem; a batch of one.

    Args:
        options: those of ``TSPVectorEnv`` but ``num_envs``.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, **options: Any) -> None:
        self._batch = TSPVectorEnv(1, **options)
        self.action_space = self._batch.single_action_space
        self.observation_space = self._batch.single_observation_space
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; ``options`` may hold ``points`` ``[n, 2]``."""
        super().reset(seed=seed)
        self._over = False
        observation, info = self._batch.reset(seed=seed, options=options)
        return _only(observation), _only(info)

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Visit a point.

        Raises:
            ResetNeeded: before ``reset``, or when the episode is over.
        """
        if self._over:
            raise ResetNeeded("the episode is over: call reset")
        observation, reward, terminated, truncated, info = self._batch.step(np.array([action]))
        self._over = bool(terminated[0] or truncated[0])
        only = {key: value for key, value in info.items() if not key.startswith("_")}
        return (
            _only(observation),
            float(reward[0]),
            bool(terminated[0]),
            bool(truncated[0]),
            _only(only),
        )


def _only(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value[0] for key, value in values.items()}
