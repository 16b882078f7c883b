"""How much longer than optimal the tours of a policy are."""

from typing import NamedTuple

import torch
from torch import Tensor

from tsp.attention import AttentionPolicy
from tsp.points import symmetries, tour_lengths
from tsp.references import optimal_lengths
from tsp.text_format import TourSet

__all__ = ["Gaps", "TestSet", "gaps", "greedy_tours"]

CHUNK = 100
"""Sets of points that are encoded at once."""


class TestSet(NamedTuple):
    """N sets of points with the lengths to compare with."""

    __test__ = False  # its name begins as those that pytest collects

    points: Tensor
    """float32 ``[N, n, 2]``."""
    optimal: Tensor
    """float64 ``[N]``."""

    @classmethod
    def of(cls, found: TourSet) -> "TestSet":
        """With the tours of the set as references, or those of LKH."""
        lengths = torch.from_numpy(optimal_lengths(found))
        return cls(torch.from_numpy(found.points).float(), lengths)


class Gaps(NamedTuple):
    """Means over a test set of (length / optimal length) - 1."""

    one: float
    """One greedy tour: from the policy's own start, or from the first point."""
    best: float
    """The best of one greedy tour from each point; ``one`` where the policy chooses its start."""


def gaps(policy: AttentionPolicy, test: TestSet, *, augment: bool = False) -> Gaps:
    """Gaps of a policy.

    Args:
        policy: is put in the mode of evaluation meanwhile.
        test: what to judge it on.
        augment: take the best over the 8 images of each set under symmetries of the square.
    """
    lengths = _lengths(policy, test.points, augment=augment)[1]
    one, best = lengths[:, :, 0].amin(dim=1), lengths.amin(dim=(1, 2))
    return Gaps(*(float((found.double() / test.optimal - 1).mean()) for found in (one, best)))


def greedy_tours(policy: AttentionPolicy, points: Tensor, *, augment: bool = False) -> Tensor:
    """The best greedy tour ``[N, n]`` of each set of points.

    Args:
        policy: is put in the mode of evaluation meanwhile.
        points: ``[N, n, 2]``.
        augment: as in ``gaps``.
    """
    tours, lengths = _lengths(policy, points, augment=augment)
    best = lengths.flatten(1).argmin(dim=1)
    return tours.flatten(1, 2)[torch.arange(len(points)), best]


def _lengths(policy: AttentionPolicy, points: Tensor, *, augment: bool) -> tuple[Tensor, Tensor]:
    """Greedy tours ``[N, images, S, n]`` and their lengths ``[N, images, S]``."""
    starts = 1 if policy.settings.free_start else points.shape[1]
    training = policy.training
    policy.eval()
    tours = []
    with torch.no_grad():
        for chunk in points.split(CHUNK):
            images = symmetries(chunk) if augment else chunk
            found = policy.rollouts(policy.encode(images), starts, generator=None).actions
            tours.append(found.view(-1, len(chunk), *found.shape[1:]).transpose(0, 1))
    policy.train(training)
    whole = torch.cat(tours)
    # An image has the lengths of its set up to scale and rounding; those of the set count.
    lengths = tour_lengths(points, whole.flatten(1, 2))
    return whole, lengths.view(whole.shape[:3])
