"""Schedules drawn by the fast policy, with the gradient of their log-probability."""

import math

import numpy as np

from aerl_trainer.policy.choosing import draw, most_probable, normalise
from aerl_trainer.policy.context import PolicyContext
from aerl_trainer.policy.encoding.candidates import INSERTION
from aerl_trainer.policy.scoring import begin, follow, scale_of, score, seen, short_list
from aerl_trainer.policy.weights import (
    BIAS,
    HIDDEN,
    INPUT,
    LINEAR,
    OUTPUT,
    SCALE,
    Weights,
)
from aerl_trainer.policy.workspace import PolicyWorkspace
from dagsched_env.kernels.arrays import MAKESPAN, N_PLACED, N_READY, Floats, Ints, StateArrays
from dagsched_env.kernels.jit import borrowing, embedded
from dagsched_env.kernels.state.transitions import clear, place

GREEDY = -1.0
"""In place of a random number: the most probable pair."""
HOTTEST = 16.0
"""Highest temperature of samples."""
SMALLEST = 1e-300
"""In place of a probability of 0, which has no logarithm."""


@borrowing
def roll_out_group(
    f: PolicyContext,
    w: PolicyWorkspace,
    weights: Weights,
    uniforms: Floats,
    makespans: Floats,
    actions: Ints,
    gradients: Weights,
) -> None:
    """Draw K schedules from the empty one.

    Args:
        w: scratch.
        uniforms: ``[K, n]`` in [0, 1), or ``GREEDY``.
        makespans: ``[K]`` out (time).
        actions: ``[K, n]`` out: ``task * p + processor`` in the order of placement.
        gradients: ``[K, N_WEIGHTS]`` out: of each schedule's log-probability; or ``[0, N_WEIGHTS]``
            to leave it out.
    """
    for k in range(uniforms.shape[0]):
        clear(f.c.g, w.state)
        begin(f, w, w.state)
        wanted = k < gradients.shape[0]
        if wanted:
            for j in range(gradients.shape[1]):
                gradients[k, j] = 0.0
        row = gradients[k : k + 1] if wanted else gradients[0:0]
        makespans[k] = roll_out(f, w, w.state, weights, uniforms[k], row)
        for i in range(actions.shape[1]):
            t = w.state.sequence[i]
            actions[k, i] = t * f.c.g.comp.shape[1] + w.state.processor[t]


@borrowing
def roll_out(
    f: PolicyContext,
    w: PolicyWorkspace,
    s: StateArrays,
    weights: Weights,
    uniforms: Floats,
    gradient: Weights,
) -> float:
    """Complete a partial schedule by the policy.

    Args:
        w: its caches are those of ``s``, by ``begin`` or ``follow``.
        s: the partial schedule; completed.
        uniforms: ``[n]`` a number for each placement of the schedule, in [0, 1), or ``GREEDY``.
        gradient: ``[1, N_WEIGHTS]`` the gradient of the log-probability is added, without
            ``GREEDY``; ``[0, …]`` leaves it out.

    Returns:
        The makespan (time).
    """
    while s.counts[N_READY] > 0:
        count = short_list(f, w, s)
        score(f, w, s, weights, count)
        uniform = uniforms[s.counts[N_PLACED]]
        k = most_probable(w.logits, count) if uniform < 0.0 else draw(w.logits, count, uniform)
        if gradient.shape[0] > 0:
            for j in range(count):
                w.credit[j] = (1.0 if j == k else 0.0) - w.logits[j]
            _add_gradient(f, w, weights, count, gradient)
        take(f, w, s, w.tasks[k], w.processors[k])
    return s.totals[MAKESPAN]  # type: ignore[no-any-return]


@borrowing
def complete_variations(
    f: PolicyContext,
    w: PolicyWorkspace,
    weights: Weights,
    actions: Ints,
    depths: Ints,
    others: Ints,
    greedy: Floats,
    makespans: Floats,
) -> None:
    """Schedules that leave a given one by one other placement, and go on greedily from there.

    Args:
        w: scratch.
        actions: ``[n]`` ``task * p + processor`` of the given schedule, in the order of placement.
        depths: ``[K]`` placements that are shared.
        others: ``[K]`` the placement that follows, legal there.
        greedy: ``[n]`` all ``GREEDY``.
        makespans: ``[K]`` out (time).
    """
    p, s = f.c.g.comp.shape[1], w.state
    for k in range(depths.shape[0]):
        clear(f.c.g, s)
        for i in range(depths[k]):
            place(f.c.g, s, actions[i] // p, actions[i] % p, INSERTION, False)
        place(f.c.g, s, others[k] // p, others[k] % p, INSERTION, False)
        begin(f, w, s)
        makespans[k] = roll_out(f, w, s, weights, greedy, w.no_gradient)


@borrowing
def grade_variations(
    f: PolicyContext,
    w: PolicyWorkspace,
    weights: Weights,
    actions: Ints,
    depths: Ints,
    others: Ints,
    advantages: Floats,
    gradient: Weights,
) -> float:
    """The gradient of what single decisions along a schedule are worth: Σ A(s, a) ∇π(a | s).

    The sum is over the given decisions. One outside the short list, which π never takes, counts
    nothing.

    Args:
        w: scratch.
        weights: of the policy π.
        actions: ``[n]`` ``task * p + processor`` of the schedule, in the order of placement.
        depths: ``[M]`` of the states s, never decreasing: how many of these are placed.
        others: ``[M]`` the actions a.
        advantages: ``[M]`` A(s, a).
        gradient: ``[1, N_WEIGHTS]`` out.

    Returns:
        The makespan of the schedule (time).
    """
    p, s = f.c.g.comp.shape[1], w.state
    clear(f.c.g, s)
    begin(f, w, s)
    for j in range(gradient.shape[1]):
        gradient[0, j] = 0.0
    first = 0
    for i in range(actions.shape[0]):
        last = first
        while last < depths.shape[0] and depths[last] == i:
            last += 1
        if last > first:
            count = short_list(f, w, s)
            score(f, w, s, weights, count)
            normalise(w.logits, count)
            _credit(w, count, others[first:last], advantages[first:last])
            _add_gradient(f, w, weights, count, gradient)
        first = last
        take(f, w, s, actions[i] // p, actions[i] % p)
    return s.totals[MAKESPAN]  # type: ignore[no-any-return]


@borrowing
def write_variation(
    f: PolicyContext,
    w: PolicyWorkspace,
    weights: Weights,
    listed: Ints,
    probabilities: Floats,
    counts: Ints,
    chosen: Ints,
) -> float:
    """The greedy schedule, with the short list of each of its states.

    Args:
        w: scratch; its ``state`` is the schedule.
        listed: ``[n, K]`` out: the short lists ``task * p + processor``.
        probabilities: ``[n, K]`` out: of them.
        counts: ``[n]`` out: their lengths.
        chosen: ``[n]`` out: the place of the greedy action in each list.

    Returns:
        The makespan (time).
    """
    s = w.state
    clear(f.c.g, s)
    begin(f, w, s)
    while s.counts[N_READY] > 0:
        count = short_list(f, w, s)
        score(f, w, s, weights, count)
        k = most_probable(w.logits, count)
        normalise(w.logits, count)
        i = s.counts[N_PLACED]
        counts[i], chosen[i] = count, k
        for j in range(count):
            listed[i, j], probabilities[i, j] = w.actions[j], w.logits[j]
        take(f, w, s, w.tasks[k], w.processors[k])
    return s.totals[MAKESPAN]  # type: ignore[no-any-return]


@borrowing
def temperature_for(probabilities: Floats, counts: Ints, chosen: Ints, wanted: float) -> float:
    """The temperature at which so many pairs in all states are expected to be other ones.

    Args:
        probabilities: ``[n, K]`` of ``write_variation``, as are the next two; overwritten.
        counts: ``[n]``
        chosen: ``[n]``
        wanted: other pairs than the most probable one, expected along the schedule.

    Returns:
        Within a factor of 1.02, in [1 / HOTTEST, HOTTEST].
    """
    gaps = probabilities  # highest logit - logit
    for i in range(counts.shape[0]):
        highest = math.log(probabilities[i, chosen[i]])
        for k in range(counts[i]):
            gaps[i, k] = highest - math.log(max(probabilities[i, k], SMALLEST))
    low, high = 1.0 / HOTTEST, HOTTEST
    while high > 1.02 * low:
        middle, others = math.sqrt(low * high), 0.0
        for i in range(counts.shape[0]):
            total = 0.0
            for k in range(counts[i]):
                total += math.exp(-gaps[i, k] / middle)
            others += 1.0 - 1.0 / total
        if others < wanted:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)


@embedded
def take(f: PolicyContext, w: PolicyWorkspace, s: StateArrays, task: int, q: int) -> None:
    """Place a task, and bring the caches up to date.

    Args:
        f: the problem.
        w: its caches, of ``s``.
        s: the state; changed.
        task: a ready one.
        q: its processor.
    """
    before = s.counts[N_READY]
    place(f.c.g, s, task, q, INSERTION, False)
    follow(f, w, s, task, q, before)


@embedded
def _credit(w: PolicyWorkspace, count: int, actions: Ints, advantages: Floats) -> None:
    """Write the derivative of Σ A(a) π(a) by each logit: π(k) (A(k) - Σ A π); A is 0 elsewhere."""
    total = 0.0
    for k in range(count):
        w.credit[k] = 0.0
        for j in range(actions.shape[0]):
            if w.actions[k] == actions[j]:
                w.credit[k] = advantages[j] * w.logits[k]
        total += w.credit[k]
    for k in range(count):
        w.credit[k] -= total * w.logits[k]


@embedded
def _add_gradient(
    f: PolicyContext, w: PolicyWorkspace, weights: Weights, count: int, gradient: Weights
) -> None:
    """Add Σ credit ∇ logit over the short list."""
    scale = np.float32(scale_of(weights))
    for k in range(count):
        weight = np.float32(w.credit[k])
        if abs(weight) < 1e-6:
            continue
        step = weight * scale
        gradient[0, SCALE] += step * w.values[k]
        for h in range(HIDDEN):
            unit = w.hidden[k, h]
            w.slopes[h] = step * weights[OUTPUT + h] if unit > 0.0 else np.float32(0.0)
            gradient[0, OUTPUT + h] += step * unit
            gradient[0, BIAS + h] += w.slopes[h]
        for j in range(seen(f.c.g)):
            x = w.x[k, j]
            gradient[0, LINEAR + j] += step * x
            for h in range(HIDDEN):
                gradient[0, INPUT + j * HIDDEN + h] += w.slopes[h] * x
