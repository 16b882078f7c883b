"""The learner of the network: optimiser and replay, one gradient step at a time."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch

from aerl_trainer.checkpoint import Checkpoint, take
from aerl_trainer.config import Config, seeding
from aerl_trainer.config.stored import stored
from aerl_trainer.learning.adam_state import load_moments, moments
from aerl_trainer.learning.batches import BatchBuilder
from aerl_trainer.learning.experience_replay import ExperienceReplay
from aerl_trainer.learning.losses import compute_losses
from aerl_trainer.learning.rank_reward import rank_correlation
from aerl_trainer.learning.records import Experience, TrainReport
from aerl_trainer.memory.heap import keep_freed_memory
from aerl_trainer.network.evaluator import flat_weights
from aerl_trainer.network.network import Network
from dagsched_env.kernels.arrays import Floats


def make_network(config: Config) -> Network:
    """A fresh network whose initial weights are a function of the run's seed alone."""
    seed = int(seeding.generator(config.run.seed, "network").integers(2**31))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Network(config.network)


class NetworkLearner:
    """Trains the network from prioritised replay.

    ``add`` may be called from another thread than ``step``. The process keeps what a step frees;
    in a training for some seconds (``heap``).
    """

    def __init__(self, config: Config, device: torch.device | str = "cpu") -> None:
        keep_freed_memory()
        self.config = config
        self.network = make_network(config).to(device)
        self.replay = ExperienceReplay(config.replay)
        self.steps = 0
        self._rng = seeding.generator(config.run.seed, "replay")
        self._builder = BatchBuilder(config.search, torch.device(device))
        self._optimizer = torch.optim.AdamW(
            self.network.parameters(),
            lr=config.learner.learning_rate,
            weight_decay=config.learner.weight_decay,
            fused=True,
        )

    @property
    def ready(self) -> bool:
        """The replay holds enough to start."""
        return len(self.replay) >= self.config.replay.min_size

    @property
    def rollout_weight(self) -> float:
        """λ of the search at the present step; 1 where the value head learns no makespans."""
        search = self.config.search
        if search.value_target == "rank":
            return 1.0
        done = (
            min(1.0, self.steps / search.rollout_decay_steps) if search.rollout_decay_steps else 1.0
        )
        return search.rollout_weight + done * (search.rollout_weight_end - search.rollout_weight)

    def weights(self) -> npt.NDArray[np.float32]:
        """All parameters as one vector, for publication to the inference workers."""
        return flat_weights(self.network)

    def add(self, experiences: Iterable[Experience]) -> None:
        """Store new experiences at the highest priority."""
        for experience in experiences:
            self.replay.add(experience)

    def step(self) -> TrainReport:
        """Sample trajectories, take one gradient step on all their states, update priorities."""
        config = self.config.learner
        beta = self.replay.beta(self.steps)
        sample = self.replay.sample(config.batch_size, self._rng, beta)
        batch = self._builder.build(sample.experiences, sample.weights)
        logits, prediction = self.network(batch.graphs, batch.states)
        losses = compute_losses(logits, prediction, batch, config)
        self._optimizer.zero_grad(set_to_none=True)
        losses.total.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), config.gradient_clip)
        self._optimizer.step()
        errors = _means(losses.errors.cpu().numpy(), batch.first)
        self.replay.update(sample.slots, sample.generations, errors)
        self.steps += 1
        return TrainReport(
            step=self.steps,
            loss=losses.total.item(),
            policy_loss=losses.policy.item(),
            value_loss=losses.value.item(),
            entropy=losses.entropy.item(),
            gradient_norm=float(norm),
            value_correlation=rank_correlation(
                prediction.detach().cpu().numpy(), batch.value_target.cpu().numpy()
            ),
        )

    def state(self) -> Checkpoint:
        """Everything that ``restore`` needs to go on exactly."""
        return Checkpoint(
            tensors={"model": self.network.state_dict(), "optimizer": moments(self._optimizer)},
            arrays=self.replay.state_arrays(),
            state={"learner": {"steps": self.steps, "rng": seeding.state(self._rng)}},
        )

    def restore(self, saved: Checkpoint) -> None:
        """The inverse of ``state``; what else the checkpoint holds is left alone.

        The rates of the optimiser are those of the settings.

        Raises:
            DAGSchedError: something is missing, or does not fit the network or the settings.
        """
        own = stored(saved.state, "learner", dict)
        steps, rng = stored(own, "steps", int), seeding.restore(stored(own, "rng", dict))
        model = take(saved, "model", self.network.state_dict())
        load_moments(self._optimizer, saved, "optimizer")
        self.replay.load_state_arrays(saved.arrays)
        self.network.load_state_dict(model)
        self.steps, self._rng = steps, rng


def _means(errors: npt.NDArray[np.float32], first: npt.NDArray[np.int64]) -> Floats:
    """Mean error of the states of each trajectory; ``first`` are its first states."""
    lengths = np.diff(first, append=errors.shape[0])
    means: Floats = np.add.reduceat(errors.astype(np.float64), first) / lengths
    return means
