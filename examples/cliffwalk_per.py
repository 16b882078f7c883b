"""The experiment that motivates prioritised replay: the blind cliffwalk of Schaul et al. 2016.

    python examples/cliffwalk_per.py [--largest 13] [--seeds 20] [--picture runs/cliffwalk_per.png]

The environment has n states in a row and two actions. The wrong action ends the episode with
reward 0, the right one leads to the next state; only the right action in the last state gives
reward 1, and it ends the episode too. The replay memory holds the transitions of all 2^n sequences
of actions, each executed until its episode ends: 2^(n+1) - 2 transitions, of which a single one has
a reward. Nothing is added later; the question is in which order to replay them.

Tabular Q-learning replays one transition per update, with the settings of the paper's appendix B.1:
discount 1 - 1/n, step size 1/4, values drawn from a normal distribution with standard deviation
0.1. It has converged when the mean squared error of all 2n values is below 0.001. The table gives
the median number of updates over the seeds:

- uniform: any transition
- oracle: the transition that reduces the error of the values most; it knows the true values
- greedy: the transition with the largest |TD error| when it was last replayed
- proportional: P ~ |TD error|^0.6
- rank: P ~ (1 / rank)^0.7, ranked by |TD error|

The exponents are those of the paper's Atari experiments; it states none for this one. A transition
that has not been replayed yet has priority 1. There are no importance weights, since the values of
a table have no bias to correct: every entry has its own fixed point.
"""

import argparse
from pathlib import Path

import numba
import numpy as np

from aerl_trainer.learning.replay.priorities import PRIORITY_FLOOR
from aerl_trainer.learning.replay.rank_order import empty_order, place_slot, place_slots, slot_at
from aerl_trainer.learning.replay.sum_tree import empty_nodes, find_leaf, set_leaf, set_leaves

KINDS = ("uniform", "greedy", "proportional", "rank", "oracle")
UNIFORM, GREEDY, PROPORTIONAL, RANK, ORACLE = range(5)
ALPHA_PROPORTIONAL, ALPHA_RANK = 0.6, 0.7
STEP_SIZE = 0.25
ERROR = 1e-3


def fill_memory(n, rng):
    """All transitions (state, right) of every sequence of actions, in random order of sequences.

    Bit s of a sequence says whether its action in state s is the right one.
    """
    transitions = []
    for sequence in rng.permutation(2**n).tolist():
        for state in range(n):
            right = sequence >> state & 1
            transitions.append((state, right))
            if not right:
                break
    return np.array(transitions)


# Not cached on disk: the cache would not notice a change of the kernels that this one calls.
@numba.njit(nogil=True)
def td_error(q, state, right):
    """The TD error of a transition; it says how the value of (state, right) is to change."""
    n = q.shape[0]
    if not right:
        return -q[state, 0]
    if state == n - 1:
        return 1.0 - q[state, 1]
    return (1.0 - 1.0 / n) * max(q[state + 1, 0], q[state + 1, 1]) - q[state, 1]


@numba.njit(nogil=True)
def best_transition(q, truth, memory, first):
    """For the oracle: the transition whose update leaves the smallest error."""
    best, gain = 0, -np.inf
    for state in range(q.shape[0]):
        for right in range(2):
            before = q[state, right] - truth[state, right]
            after = before + STEP_SIZE * td_error(q, state, right)
            if before**2 - after**2 > gain:
                best, gain = first[state, right], before**2 - after**2
    return best


@numba.njit(nogil=True)
def learn(kind, memory, q, truth, nodes, order, ends, rng, limit):
    """Update ``q`` until it has converged; returns the number of updates.

    ``nodes`` and ``order`` hold the priorities of the transitions, ``ends`` the cumulative shares
    of the ranks; which of them are used depends on ``kind``.
    """
    n, size = q.shape[0], memory.shape[0]
    first = np.zeros((n, 2), dtype=np.int64)  # one transition of each sort: they are all alike
    for i in range(size):
        first[memory[i, 0], memory[i, 1]] = i
    for updates in range(limit):
        if np.mean((q - truth) ** 2) < ERROR:
            return updates
        if kind == UNIFORM:
            slot = int(rng.random() * size)
        elif kind == GREEDY:
            slot = slot_at(order, 0)
        elif kind == PROPORTIONAL:
            slot = find_leaf(nodes, rng.random() * nodes[1, 0])
        elif kind == RANK:
            slot = slot_at(order, np.searchsorted(ends, rng.random() * ends[-1], side="right"))
        else:
            slot = best_transition(q, truth, memory, first)
        state, right = memory[slot]
        error = td_error(q, state, right)
        q[state, right] += STEP_SIZE * error
        priority = abs(error) + PRIORITY_FLOOR
        if kind == PROPORTIONAL:
            set_leaf(nodes, slot, priority**ALPHA_PROPORTIONAL)
        elif kind in (GREEDY, RANK):
            place_slot(order, slot, priority)
    return limit


def updates_until_converged(kind, n, seed):
    """One run. All kinds begin with the same values and the same memory."""
    rng = np.random.default_rng((n, seed))
    memory = fill_memory(n, rng)
    q = rng.normal(0.0, 0.1, size=(n, 2))
    truth = np.zeros((n, 2))
    truth[:, 1] = (1.0 - 1.0 / n) ** np.arange(n - 1, -1, -1)
    size = memory.shape[0]
    slots, ones = np.arange(size), np.ones(size)
    nodes, order = empty_nodes(size), empty_order(size)
    if kind == PROPORTIONAL:
        set_leaves(nodes, slots, ones)
    if kind in (GREEDY, RANK):
        place_slots(order, slots, ones)
    ends = np.cumsum(np.arange(1.0, size + 1) ** -ALPHA_RANK)
    return learn(kind, memory, q, truth, nodes, order, ends, rng, 1000 * size)


def draw_picture(path, sizes, medians):
    """Medians over the size of the memory, both on logarithmic scales, as in the paper."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 5), layout="constrained")
    marks = dict(zip(KINDS, "os^vD", strict=True))
    for kind, values in zip(KINDS, medians.T, strict=True):
        axes.loglog(sizes, values, marker=marks[kind], markersize=5, label=kind)
    axes.set_xlabel("transitions in the replay memory")
    axes.set_ylabel("updates until convergence, median")
    axes.set_title("Blind cliffwalk: which transition to replay")
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=13, help="n = 2 to this")
    parser.add_argument("--seeds", type=int, default=20, help="runs of each kind and n")
    parser.add_argument("--picture", type=Path, default=Path("runs/cliffwalk_per.png"))
    arguments = parser.parse_args()
    if arguments.largest < 2:
        parser.error("--largest: give a whole number from 2")
    lengths = range(2, arguments.largest + 1)
    print(
        "  n  memory "
        + "".join(f"{kind:>14}" for kind in KINDS)
        + "   proportional, rank / uniform"
    )
    medians = []
    for n in lengths:
        runs = [
            [updates_until_converged(kind, n, seed) for kind in range(len(KINDS))]
            for seed in range(arguments.seeds)
        ]
        row = np.median(runs, axis=0)
        medians.append(row)
        print(
            f"{n:3d} {2 ** (n + 1) - 2:7d} "
            + "".join(f"{value:14.0f}" for value in row)
            + f"   {row[PROPORTIONAL] / row[UNIFORM]:12.2f}, {row[RANK] / row[UNIFORM]:4.2f}",
            flush=True,
        )
    draw_picture(arguments.picture, [2 ** (n + 1) - 2 for n in lengths], np.array(medians))


if __name__ == "__main__":
    main()
