"""``FastPolicy``: the fast policy for everybody who is no kernel."""

import math
import threading
import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.policy.choosing import draw, most_probable
from aerl_trainer.policy.context import PolicyContext, policy_context
from aerl_trainer.policy.learnt import LearntContext
from aerl_trainer.policy.rollout import (
    GREEDY,
    grade_variations,
    roll_out_group,
    temperature_for,
    write_variation,
)
from aerl_trainer.policy.scoring import begin, score, short_list
from aerl_trainer.policy.weights import N_WEIGHTS, SCALE, Weights, initial_weights
from aerl_trainer.policy.workspace import PolicyWorkspace, allocate_policy
from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import State

__all__ = ["VARIETY", "FastPolicy", "RankGroup"]

OTHERS = 1.0
"""Decisions in which a sample is expected to leave the greedy schedule, / √n. About the best for
the best of several samples: see docs/notes/learning.md."""
VARIETY = 2.0
"""Temperature, in units of that one, of samples that do not learn."""
AT_ONCE = 8
"""Most schedules that are sampled between two looks at the clock."""


class RankGroup(NamedTuple):
    """K schedules of one instance, drawn by the same policy."""

    makespans: Floats  # [K] (time)
    actions: Ints  # [K, n] task * p + processor, in the order of placement
    gradients: Weights  # [K, N_WEIGHTS] of each schedule's log-probability; [0, N_WEIGHTS] without


class FastPolicy:
    """Scores (task, processor) pairs with a few hundred weights inside a kernel.

    It starts as the hand-made prior of the search. Several threads may use it at once.

    Args:
        weights: ``[N_WEIGHTS]`` finite; by default the initial ones.

    Raises:
        DAGSchedError: weights of another length, or that are not finite.
    """

    def __init__(self, weights: npt.ArrayLike | None = None) -> None:
        given = initial_weights(np.random.default_rng(0)) if weights is None else weights
        self.weights: Weights = np.array(given, dtype=np.float32)
        if self.weights.shape != (N_WEIGHTS,) or not np.isfinite(self.weights).all():
            raise DAGSchedError(
                f"weights has shape {list(self.weights.shape)}: the policy takes {N_WEIGHTS} "
                "finite numbers"
            )
        self._local = threading.local()

    def __reduce__(self) -> tuple[type["FastPolicy"], tuple[Weights]]:
        """For other processes: the weights are all that there is to it."""
        return FastPolicy, (self.weights,)

    def action(self, state: State, rng: np.random.Generator | None = None) -> tuple[int, int]:
        """Task and processor of the most probable pair of a state, or with ``rng`` of a drawn one.

        From the empty state to the end, the most probable pairs make ``schedule(instance)``.

        Raises:
            DAGSchedError: the state is complete, or leaves idle gaps unused (``insertion=False``).
        """
        if state.terminal or not state.insertion:
            raise DAGSchedError(
                "the policy chooses no action where all tasks are placed, nor with insertion=False"
            )
        f, w, s = policy_context(state.instance), self._workspace(state.instance), state.arrays
        begin(f, w, s)
        count = short_list(f, w, s)
        score(f, w, s, self.weights, count)
        k = most_probable(w.logits, count) if rng is None else draw(w.logits, count, rng.random())
        return divmod(int(w.actions[k]), state.instance.n_processors)

    def schedule(self, instance: Instance) -> Schedule:
        """One greedy pass: the most probable pair in every state."""
        return self._schedule(instance, np.full(instance.n_tasks, GREEDY))

    def best_of(
        self,
        instance: Instance,
        k: int,
        rng: np.random.Generator,
        *,
        budget_s: float | None = None,
    ) -> Schedule:
        """The shortest of the greedy schedule and k others.

        Half of these are sampled at a temperature at which ``OTHERS`` · √n decisions are expected
        to be other ones, each with what the ones before have taught about ranks and costs to go
        (``policy.learnt``); the others at ``VARIETY`` times that temperature.

        Args:
            instance: the problem.
            k: schedules beside the greedy one, ≥ 1.
            rng: of the samples.
            budget_s: begin no more samples after this time; the greedy schedule is always made.
        """
        started = time.perf_counter()
        end = math.inf if budget_s is None else started + budget_s
        best, temperature = self._greedy(instance)
        learning_policy, varied = self.softened(temperature), self.softened(VARIETY * temperature)
        passes_per_s = 1.0 / (time.perf_counter() - started)
        learnt = LearntContext(instance)
        learnt.learn(best)
        drawn = 0
        while drawn < k and (left_s := end - time.perf_counter()) > 0.0:
            count = int(min(AT_ONCE, k - drawn, max(passes_per_s * left_s, 1)))
            drawn += count
            learning, independent = np.split(rng.random((count, instance.n_tasks)), [count // 2])
            for row in learning:
                schedule = learning_policy._schedule(instance, row, learnt.now())
                learnt.learn(schedule)
                best = min(best, schedule, key=lambda made: made.makespan)
            makespans = varied._roll_out(instance, independent, gradients=False).makespans
            shortest = int(np.argmin(makespans))
            if makespans[shortest] < best.makespan:
                best = varied._schedule(instance, independent[shortest])
        return best

    def softened(self, temperature: float) -> "FastPolicy":
        """The same policy with its logits divided by a temperature > 0: its samples vary more."""
        weights = self.weights.copy()
        weights[SCALE] -= math.log(temperature)
        return FastPolicy(weights)

    def temperature(self, instance: Instance) -> float:
        """The temperature at which samples are expected to leave the greedy schedule in ``OTHERS``
        · √n decisions, between 1 / 16 and 16."""
        return self._greedy(instance)[1]

    def sample(
        self, instance: Instance, k: int, rng: np.random.Generator, *, gradients: bool = False
    ) -> RankGroup:
        """Draw k schedules.

        Args:
            instance: the problem.
            k: how many, ≥ 1.
            rng: of the draws.
            gradients: also the gradient of each schedule's log-probability.
        """
        return self._roll_out(instance, rng.random((k, instance.n_tasks)), gradients=gradients)

    def grade(
        self, instance: Instance, actions: Ints, depths: Ints, others: Ints, advantages: Floats
    ) -> Weights:
        """Σ A(s, a) ∇π(a | s) over decisions along a schedule: what each is worth, as a gradient.

        Args:
            instance: the problem.
            actions: ``[n]`` ``task * p + processor`` of the schedule, in the order of placement.
            depths: ``[M]`` of the states s, never decreasing: how many of these are placed.
            others: ``[M]`` the actions a, legal there.
            advantages: ``[M]`` A(s, a).

        Returns:
            ``[N_WEIGHTS]``
        """
        gradient = np.empty((1, N_WEIGHTS), dtype=np.float32)
        f, w = policy_context(instance), self._workspace(instance)
        grade_variations(f, w, self.weights, actions, depths, others, advantages, gradient)
        graded: Weights = gradient[0]
        return graded

    def _workspace(self, instance: Instance) -> PolicyWorkspace:
        """Of the calling thread; of the size that it has used last."""
        shape = instance.shape
        if getattr(self._local, "shape", None) != shape:
            self._local.shape, self._local.workspace = shape, allocate_policy(*shape)
        workspace: PolicyWorkspace = self._local.workspace
        return workspace

    def _schedule(
        self, instance: Instance, uniforms: Floats, context: PolicyContext | None = None
    ) -> Schedule:
        """What one rollout makes of ``uniforms [n]``."""
        self._roll_out(instance, uniforms[np.newaxis], gradients=False, context=context)
        s = self._workspace(instance).state
        return Schedule(s.processor, s.start, s.finish, algorithm="fast_policy")

    def _greedy(self, instance: Instance) -> tuple[Schedule, float]:
        """The greedy schedule, and the temperature for samples around it."""
        n, w = instance.n_tasks, self._workspace(instance)
        listed = np.empty((n, w.actions.size), dtype=np.int64)
        probabilities = np.empty(listed.shape)
        counts, chosen = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        f, s = policy_context(instance), w.state
        write_variation(f, w, self.weights, listed, probabilities, counts, chosen)
        schedule = Schedule(s.processor, s.start, s.finish, algorithm="fast_policy")
        return schedule, temperature_for(probabilities, counts, chosen, OTHERS * math.sqrt(n))

    def _roll_out(
        self,
        instance: Instance,
        uniforms: Floats,
        *,
        gradients: bool,
        context: PolicyContext | None = None,
    ) -> RankGroup:
        k = uniforms.shape[0]
        group = RankGroup(
            np.empty(k),
            np.empty((k, instance.n_tasks), dtype=np.int64),
            np.empty((k if gradients else 0, N_WEIGHTS), dtype=np.float32),
        )
        f, w = context or policy_context(instance), self._workspace(instance)
        roll_out_group(f, w, self.weights, uniforms, *group)
        return group
