"""The learner of the fast policy, which every run of AERL-DS has: Adam on rank groups' gradients.

A rank group holds schedules of one instance: of a shared tree, or drawn by the policy itself. The
gradients of a step's groups are averaged. No scheduler from outside is in the signal.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import PolicyConfig, seeding
from aerl_trainer.config.stored import stored
from aerl_trainer.learning.adam import Adam
from aerl_trainer.learning.group_gradients import (
    Gradients,
    GroupGrader,
    GroupGradient,
    GroupWork,
    Reward,
    ThreadedGradients,
    grade_tree,
)
from aerl_trainer.learning.problem_replay import ProblemReplay
from aerl_trainer.learning.rank_reward import rank_rewards
from aerl_trainer.learning.records import PolicyReport
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.weights import SCALE
from aerl_trainer.tree.records import TreeGroup
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.instance import Instance


class PolicyLearner:
    """Adam on the weights of a fast policy, with an exponential moving average of them.

    Args:
        draw: draws an instance; called by one thread at a time.
        rng: of the instances and of the schedules.
        config: sizes and rates.
        reward: of a rank group.
        replay: takes note of the problems of trees and of what they have taught.
        threads: that draw schedules at once; the result does not depend on their number.
    """

    def __init__(
        self,
        draw: Callable[[np.random.Generator], Instance],
        rng: np.random.Generator,
        config: PolicyConfig | None = None,
        *,
        reward: Reward = rank_rewards,
        replay: ProblemReplay | None = None,
        threads: int = 1,
    ) -> None:
        self._draw, self._rng, self._reward, self.replay = draw, rng, reward, replay
        self._config = config or PolicyConfig()
        grader = GroupGrader(self._config.schedules, reward)
        self._gradients: Gradients = ThreadedGradients(grader, threads)
        self._policy = FastPolicy()
        self._adam = Adam(self._policy.weights, self._config.average)

    @property
    def steps(self) -> int:
        """Gradient steps so far."""
        return self._adam.steps

    @property
    def policy(self) -> FastPolicy:
        """The policy with the averaged weights; a copy."""
        return FastPolicy(self._adam.mean)

    def compute_with(self, elsewhere: Callable[[Gradients], Gradients]) -> None:
        """Have the groups of a step drawn and graded elsewhere; the result stays the same.

        Args:
            elsewhere: is given what does it here.
        """
        self._gradients = elsewhere(self._gradients)

    @property
    def present(self) -> FastPolicy:
        """The policy that learns; a copy."""
        return FastPolicy(self._policy.weights)

    def step(self, progress: float = 0.0, trees: Sequence[TreeGroup] = ()) -> PolicyReport:
        """One gradient step, from finished trees or, without any, from schedules drawn here.

        Args:
            progress: share of the training that is over, in [0, 1]; the learning rate falls
                linearly with it.
            trees: a group each.
        """
        staleness = float(np.mean([self.steps - tree.step for tree in trees])) if trees else 0.0
        results = self._of_trees(trees) if trees else self._of_rollouts()
        gradient: Floats = np.mean([result.gradient for result in results], axis=0)
        gradient[SCALE] = 0.0  # a learned sharpness would cost the samples their variety
        self._adam.ascend(gradient, self._config.learning_rate * (1.0 - progress))
        return PolicyReport(
            step=self.steps,
            groups=len(results),
            trees=len(trees),
            replayed=sum(tree.place is not None for tree in trees),
            schedules=sum(result.schedules for result in results),
            staleness=staleness,
            relative_spread=float(np.mean([result.relative_spread for result in results])),
            gradient_norm=float(np.linalg.norm(gradient)),
        )

    def _of_rollouts(self) -> Sequence[GroupGradient]:
        count = self._config.instances
        instances = [self._draw(self._rng) for _ in range(count)]
        seeds = self._rng.integers(2**63, size=count).tolist()
        return self._gradients(self._policy, list(map(GroupWork, instances, seeds)))

    def _of_trees(self, trees: Sequence[TreeGroup]) -> Sequence[GroupGradient]:
        results = [grade_tree(self._policy, tree, self._reward) for tree in trees]
        if self.replay is not None:
            lengths = [np.linalg.norm(result.gradient[SCALE + 1 :]) for result in results]
            self.replay.learned(trees, lengths)
        return results

    def state(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Arrays and JSON values from which ``restore`` goes on exactly, but for the replay."""
        arrays: dict[str, npt.NDArray[Any]] = {
            "weights": self._adam.weights,
            "mean": self._adam.mean,
            "first": self._adam.first,
            "second": self._adam.second,
        }
        return arrays, {"steps": self.steps, "rng": seeding.state(self._rng)}

    def restore(self, arrays: dict[str, npt.NDArray[Any]], record: dict[str, Any]) -> None:
        """The inverse of ``state``.

        Args:
            arrays: of the names, types and shapes that ``state`` gives, and finite.
            record: JSON values.

        Raises:
            DAGSchedError: the record is not one of ``state``.
        """
        steps = stored(record, "steps", int)
        self._rng = seeding.restore(stored(record, "rng", dict))
        if (arrays["second"] < 0).any():
            raise FormatError("'second' of the policy gradient holds negative squares")
        self._policy = FastPolicy(arrays["weights"])
        self._adam = Adam(self._policy.weights, self._config.average)
        self._adam.steps, self._adam.mean = steps, np.array(arrays["mean"])
        self._adam.first, self._adam.second = np.array(arrays["first"]), np.array(arrays["second"])
