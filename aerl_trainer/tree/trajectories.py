"""Complete trajectories of a finished tree: by visit counts, then by the policy, then replayed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import SearchConfig
from aerl_trainer.policy.encoding.context import encoding_context
from aerl_trainer.policy.encoding.evaluator import Evaluator
from aerl_trainer.policy.encoding.states import (
    EncodedStates,
    allocate_states,
    allocate_workspace,
    encode_state,
    write_policy,
)
from aerl_trainer.tree.records import Trajectory
from aerl_trainer.tree.tree import (
    BEST_MAKESPAN,
    EXPANDED,
    N_NODES,
    NO_EDGE,
    NO_NODE,
    ROOT,
    SOLVED,
    TERMINAL,
    TreeArrays,
)
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import State

MIN_POLICY_VISITS = 8
"""A node with fewer completed visits below it has no search policy worth learning from."""
MAX_ROUNDS = 16
"""Rounds of draws; each after the first replaces sequences that had been drawn before."""


_Choice = Callable[[npt.NDArray[np.int32], npt.NDArray[np.int32]], int]

Completion = Callable[[Sequence[State]], list[list[int]]]
"""Plays states of one problem to their end; per state the actions ``task * p + processor`` that it
took."""


@dataclass
class _Path:
    """A sequence under construction, with the search policies met on the way."""

    actions: list[int] = field(default_factory=list)
    candidates: list[npt.NDArray[np.int32]] = field(default_factory=list)
    policies: list[npt.NDArray[np.float32]] = field(default_factory=list)


def sample_trajectories(
    instance: Instance,
    tree: TreeArrays,
    complete: Completion,
    config: SearchConfig,
    rng: np.random.Generator,
) -> list[Trajectory]:
    """Draw up to K = ``config.min_trajectories`` distinct action sequences and replay them.

    From the root, actions are drawn in proportion to their visits N(s, a); below the visited part,
    by ``complete``. With ``config.incumbent_trajectory`` the best schedule that the search has
    found, if any, is one of the K. Where draws repeat each other too often, terminal nodes of the
    tree that have not been drawn make up the number; fewer than K come back only where there are
    fewer.

    Args:
        tree: a finished tree of it, to which nobody writes.
        complete: goes on below the visited part.
        config: of the search.
        rng: of all draws.

    Returns:
        Trajectories with the true makespans of the deterministic simulator.
    """

    def by_visits(visits: npt.NDArray[np.int32], _: npt.NDArray[np.int32]) -> int:
        return int(rng.choice(len(visits), p=visits / visits.sum()))

    wanted = config.min_trajectories
    drawn: dict[tuple[int, ...], _Path] = {}
    if config.incumbent_trajectory and tree.scalars[BEST_MAKESPAN] < np.inf:
        path = _follow_incumbent(tree, instance)
        drawn[tuple(path.actions)] = path
    for _ in range(MAX_ROUNDS):
        paths = [_walk(tree, by_visits) for _ in range(wanted - len(drawn))]
        if not paths:
            break
        states = [_state_of(instance, path.actions) for path in paths]
        for path, actions in zip(paths, complete(states), strict=True):
            path.actions += actions
            drawn.setdefault(tuple(path.actions), path)
    for node in np.flatnonzero(tree.status[: tree.counters[N_NODES]] == TERMINAL).tolist():
        if len(drawn) >= wanted:
            break
        path = _follow(tree, _actions_to(tree, node))
        drawn.setdefault(tuple(path.actions), path)
    return [_replay(instance, path) for path in drawn.values()]


def complete_by_network(
    instance: Instance,
    states: Sequence[State],
    evaluator: Evaluator,
    config: SearchConfig,
    rng: np.random.Generator | None,
) -> list[list[int]]:
    """Play every state to its end in step with the others; a ``Completion``.

    Args:
        instance: the problem of all states.
        states: changed in place.
        evaluator: gives the policy, in batches of all states that are not terminal.
        config: which candidates the policy chooses among.
        rng: draws from the policy at ``config.trajectory_temperature``; None = its best action.
    """
    taken: list[list[int]] = [[] for _ in states]
    context = encoding_context(instance)
    workspace = allocate_workspace(*instance.shape)
    encoded = allocate_states(len(states), config.max_children, instance.n_tasks)
    prior = config.prior != "none"
    while live := [i for i, state in enumerate(states) if not state.terminal]:
        for row, i in enumerate(live):
            arrays = states[i].arrays
            encode_state(context, workspace, arrays, encoded, row, config.min_prior, prior, True)
        evaluator.evaluate(instance, encoded, len(live))
        write_policy(encoded, len(live))
        for row, i in enumerate(live):
            action = _choose(encoded, row, config.trajectory_temperature, rng)
            states[i].apply(*divmod(action, instance.n_processors))
            taken[i].append(action)
    return taken


def _choose(
    states: EncodedStates, row: int, temperature: float, rng: np.random.Generator | None
) -> int:
    """An action, by the policy."""
    k = int(states.n_candidates[row])
    policy = states.policy[row, :k].astype(np.float64)
    if rng is None:
        return int(states.candidates[row, np.argmax(policy)])
    sharpened = (policy / policy.max()) ** (1.0 / temperature)
    sharpened /= sharpened.sum()
    return int(states.candidates[row, rng.choice(k, p=sharpened)])


def _walk(tree: TreeArrays, choose: _Choice) -> _Path:
    """Follow ``choose(visits, actions) -> position`` down to the first node without visits below.

    A negative position ends the walk.
    """
    path = _Path()
    node = ROOT
    while node != NO_NODE and tree.status[node] in (EXPANDED, SOLVED):
        first = int(tree.first_edge[node])
        edges = slice(first, first + int(tree.n_edges[node]))
        visits, actions = tree.edge_visits[edges], tree.edge_action[edges]
        total = int(visits.sum())
        position = choose(visits, actions) if total > 0 else -1
        if position < 0:
            break
        if total >= MIN_POLICY_VISITS and len(path.policies) == len(path.actions):
            path.candidates.append(actions.copy())
            path.policies.append((visits / total).astype(np.float32))
        path.actions.append(int(actions[position]))
        node = int(tree.edge_child[first + position])
    return path


def _follow_incumbent(tree: TreeArrays, instance: Instance) -> _Path:
    """The best schedule of the tree."""
    sequence = tree.incumbent_sequence[: instance.n_tasks]
    actions = sequence * instance.n_processors + tree.incumbent_processor[sequence]
    return _follow(tree, actions.tolist())


def _follow(tree: TreeArrays, wanted: list[int]) -> _Path:
    """A complete sequence, with the search policies on the part of it inside the tree."""
    ahead = iter(wanted)

    def follow(_: npt.NDArray[np.int32], actions: npt.NDArray[np.int32]) -> int:
        positions = np.flatnonzero(actions == next(ahead))
        return int(positions[0]) if positions.size else -1

    path = _walk(tree, follow)
    path.actions = wanted
    return path


def _actions_to(tree: TreeArrays, node: int) -> list[int]:
    """From the root to a node."""
    actions = []
    while (edge := int(tree.parent_edge[node])) != NO_EDGE:
        actions.append(int(tree.edge_action[edge]))
        node = int(tree.edge_parent[edge])
    return actions[::-1]


def _state_of(instance: Instance, actions: list[int]) -> State:
    state = State(instance)
    for action in actions:
        state.apply(*divmod(action, instance.n_processors))
    return state


def _replay(instance: Instance, path: _Path) -> Trajectory:
    """Step the simulator through the sequence from the empty schedule."""
    makespan = _state_of(instance, path.actions).schedule().makespan
    pairs = np.array([divmod(a, instance.n_processors) for a in path.actions], dtype=np.int32)
    return Trajectory(
        actions=pairs,
        candidates=tuple(path.candidates),
        policies=tuple(path.policies),
        makespan=makespan,
    )
