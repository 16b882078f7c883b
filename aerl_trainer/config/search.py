"""The section of the search."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

from aerl_trainer.config.checks import require


@dataclass(frozen=True)
class SearchConfig:
    """The shared tree and its simulations."""

    budget: int = 128
    """Simulations per job; a tree is finished when it also holds ``min_trajectories`` paths."""
    min_trajectories: int = 12
    """K: complete trajectories that a tree must hold; with a network, also how many are sampled."""
    cap_factor: float = 4.0
    """Safety cap on simulations per job, as a multiple of the budget."""
    batch_size: int = 32
    """Leaves that an actor gathers before one evaluation."""
    c_puct: float = 1.5
    """Weight of the exploration term of PUCT at a node with few visits."""
    c_puct_base: float = 19652.0
    """At a node of N visits PUCT's c is ``c_puct + ln((1 + N + base) / base)``, as in AlphaZero."""
    best_weight: float = 0.0
    """Q = (1 - w)·mean + w·best over an edge's completed visits: 0 where visits are learned from,
    1 for solving."""
    backup: Literal["return", "value"] = "return"
    """What is backed up: the rewards along the path plus the leaf's value, or the value alone."""
    value_target: Literal["return", "rank"] = "return"
    """What the value head learns: the return to go, or the rank reward of the trajectory."""
    rollout: Literal["policy", "list", "none"] = "policy"
    """Who completes a leaf at random: the fast policy, list scheduling with noise, or nobody; then
    only terminal leaves give schedules."""
    policy_rollouts: float = 1.0
    """Share of the leaves that the fast policy completes with rollout "policy"; the others are
    completed by list scheduling with noise, which takes a fraction of the time. A search for one
    schedule rather than data to learn from always has one half."""
    prior: Literal["policy", "hand", "none"] = "policy"
    """Prior of the actions: the fast policy where a job has one and no network, else the hand-made
    one; always the hand-made one; or none: the logits of the network alone decide, and what
    exceeds ``max_children`` is dropped by its number."""
    prior_temperature: float = 3.0
    """By which the logits of the fast policy are divided to become priors."""
    trajectory_temperature: float = 0.2
    """Temperature of the policy that finishes sampled trajectories below the searched part."""
    incumbent_trajectory: bool = True
    """Count the best schedule that the search found among the K trajectories."""
    rollout_weight: float = 1.0
    """λ at the start of training: share of the rollout in a leaf's value."""
    rollout_weight_end: float = 0.5
    """λ at the end of its decay."""
    rollout_decay_steps: int = 4000
    """Learner steps over which λ changes linearly."""
    noise_fraction: float = 0.25
    """Share of Dirichlet noise in the root's priors while training."""
    noise_concentration: float = 10.0
    """Dirichlet α is this divided by the number of root actions."""
    max_children: int = 32
    """Actions kept per node, by prior."""
    min_prior: float = 0.002
    """Actions with a smaller hand-made prior are dropped."""
    fix_every: int = 0
    """Placements per group of the fixed prefix: in the second half of the search the first
    placements of the best schedule are fixed, one group after the other, and selection begins
    behind them. 0 = nothing is fixed."""
    prune: bool = False
    """Do not search below nodes whose pruning bound shows that they cannot improve the best
    schedule. Visits then say less about the actions that were cut off."""

    def __post_init__(self) -> None:
        counts = ("budget", "min_trajectories", "batch_size", "max_children")
        for name in counts:
            require(getattr(self, name) >= 1, f"search.{name} must be at least 1")
        require(self.cap_factor >= 1, "search.cap_factor must be at least 1")
        require(self.c_puct >= 0, "search.c_puct must not be negative")
        require(self.c_puct_base > 0, "search.c_puct_base must be positive")
        shares = ("best_weight", "policy_rollouts", "rollout_weight", "rollout_weight_end")
        for name in (*shares, "noise_fraction"):
            require(0 <= getattr(self, name) <= 1, f"search.{name} must lie in [0, 1]")
        require(
            self.rollout in ("policy", "list", "none"),
            'search.rollout is "policy", "list" or "none"',
        )
        require(
            self.prior in ("policy", "hand", "none"), 'search.prior is "policy", "hand" or "none"'
        )
        require(
            self.prior != "none" or self.min_prior == 0,
            'search.prior "none" leaves nothing to drop actions by: it needs min_prior 0',
        )
        require(self.prior_temperature > 0, "search.prior_temperature must be positive")
        require(self.trajectory_temperature > 0, "search.trajectory_temperature must be positive")
        require(self.noise_concentration > 0, "search.noise_concentration must be positive")
        require(self.rollout_decay_steps >= 0, "search.rollout_decay_steps must not be negative")
        require(self.fix_every >= 0, "search.fix_every must not be negative")
        require(0 <= self.min_prior < 1, "search.min_prior must lie in [0, 1)")
        require(self.backup in ("return", "value"), 'search.backup is "return" or "value"')
        require(
            self.value_target in ("return", "rank"), 'search.value_target is "return" or "rank"'
        )
        require(
            self.value_target == "return" or self.backup == "value",
            'search.value_target "rank" has another unit than rewards: it needs backup "value"',
        )
        require(
            self.rollout != "none" or self.backup == "value",
            'search.rollout "none" gives a leaf no return: it needs backup "value"',
        )

    def for_solving(self, budget: int) -> "SearchConfig":
        """These settings for finding one good schedule rather than data to learn from.

        A subtree is worth the best schedule in it. The budget alone ends the search, unless it
        proves its best schedule: no action is dropped beyond ``max_children`` but those that a
        bound rules out. In the second half a growing prefix of the best schedule is fixed.
        Whatever a network was trained for, the makespan counts, and leaves are completed: half of
        them by list scheduling, so that in the same time there are more of them.
        """
        return dataclasses.replace(
            self,
            budget=budget,
            best_weight=1.0,
            min_trajectories=1,
            cap_factor=1.0,
            min_prior=0.0,
            prune=True,
            fix_every=10,
            rollout="policy" if self.rollout == "none" else self.rollout,
            policy_rollouts=0.5,
            backup="return",
            value_target="return",
        )
