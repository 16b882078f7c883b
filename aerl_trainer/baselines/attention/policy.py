"""The attention model as a policy over schedules: sampled, greedy, and its log-probabilities."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from aerl_trainer.baselines.attention.graphs import graphs_of
from aerl_trainer.baselines.attention.model import AttentionModel, Embedding, States
from aerl_trainer.baselines.attention.states import NO_ACTION, Lanes, Pairs, replayed
from aerl_trainer.baselines.reinforce import Rollouts
from aerl_trainer.config import AttentionConfig
from aerl_trainer.policy.encoding.context import encoding_context
from dagsched_env.problem.instance import Instance


class Encoded(NamedTuple):
    """B problems with their embedding."""

    problems: Sequence[Instance]
    embedding: Embedding


class AttentionPolicy(AttentionModel):
    """Schedules problems task by task; a ``SequencePolicy`` of ``baselines.reinforce``.

    Problems of a batch may differ in size. An action is ``task * p + processor`` with the number p
    of processors of its problem. The cost of a schedule is its makespan over the larger of the
    longest mean path and the mean load, so that problems count alike whatever their unit of time
    and their communication.

    Args:
        config: sizes.
    """

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__(config)
        self._width = config.candidates

    def encode(self, problems: Sequence[Instance]) -> Encoded:  # type: ignore[override]
        """Embed problems, B ≥ 1 of them."""
        return Encoded(problems, super().encode(graphs_of(problems)))

    def rollouts(
        self, encoded: Encoded, starts: int, *, generator: torch.Generator | None
    ) -> Rollouts:
        """Make S schedules of each problem.

        Args:
            encoded: B problems.
            starts: S ≥ 1.
            generator: of the draws; None takes the most probable pair in every state.

        Returns:
            Actions ``[B, S, T]`` with T of the largest problem, ``NO_ACTION`` behind the end;
            and costs.
        """
        lanes, actions = self.roll_out(encoded, starts, generator=generator)
        units = [_unit(instance) for instance in encoded.problems]
        costs = lanes.makespans / np.array(units)[:, None]
        return Rollouts(torch.from_numpy(actions), torch.from_numpy(costs).float())

    def roll_out(
        self, encoded: Encoded, starts: int, *, generator: torch.Generator | None
    ) -> tuple[Lanes, npt.NDArray[np.int64]]:
        """The complete schedules themselves, and their actions.

        Args:
            encoded: B problems.
            starts: S ≥ 1.
            generator: as of ``rollouts``.
        """
        lanes = Lanes(encoded.problems, starts, self._width)
        longest = max(instance.n_tasks for instance in encoded.problems)
        actions = np.full((len(encoded.problems), starts, longest), NO_ACTION)
        for step in range(longest):
            active = lanes.active
            log_p = self.decode(encoded.embedding, states_of(lanes.pairs(active)))
            if generator is None:
                chosen = log_p.argmax(dim=-1)
            else:
                chosen = torch.multinomial(log_p.exp(), 1, generator=generator)
            actions[active, :, step] = lanes.place(active, chosen.view(-1, starts).numpy())
        return lanes, actions

    def log_probabilities(self, encoded: Encoded, actions: Tensor) -> Tensor:
        """Of schedules, in one pass over all their states.

        Args:
            encoded: B problems.
            actions: ``[B, S, T]`` as of ``rollouts``.

        Returns:
            ``[B, S]``; minus infinity for a schedule with a pair that is not among the candidates.
        """
        pairs, chosen = replayed(encoded.problems, actions.numpy(), self._width)
        log_p = self.decode(encoded.embedding, states_of(pairs))
        index = torch.from_numpy(chosen)
        of_steps = log_p.gather(1, index.clamp(min=0).unsqueeze(1)).squeeze(1)
        of_steps = of_steps.masked_fill(index < 0, -torch.inf)
        batch, starts = actions.shape[:2]
        sizes = torch.tensor([instance.n_tasks for instance in encoded.problems])
        row = torch.arange(batch * starts).repeat_interleave(sizes.repeat_interleave(starts))
        return of_steps.new_zeros(batch * starts).index_add(0, row, of_steps).view(batch, starts)


def _unit(instance: Instance) -> float:
    """Of the costs (time): the mean critical path or the mean load, if that is more."""
    load = float(instance.arrays.mean_comp.sum()) / instance.n_processors
    return max(encoding_context(instance).rank_scale, load)


def states_of(pairs: Pairs) -> States:
    """The same as tensors."""
    places = np.arange(pairs.x.shape[1])
    listed = places < pairs.counts[:, None]
    x, tasks, processors, mask, problem = map(
        torch.from_numpy, (pairs.x, pairs.tasks, pairs.processors, listed, pairs.problem)
    )
    return States(x, tasks, processors, mask, problem)
