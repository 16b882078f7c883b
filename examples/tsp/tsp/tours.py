"""Partial tours of B sets of points at once, as batched tensors."""

import torch
from torch import Tensor

from tsp.points import tour_lengths

__all__ = ["TourBatch"]


class TourBatch:
    """Grows one tour for each set of points; all tensors are indexed by the set.

    Args:
        batch: B.
        count: n, points of a set.
    """

    def __init__(self, batch: int, count: int) -> None:
        self.points = torch.zeros(batch, count, 2, dtype=torch.float64)
        self.order = torch.zeros(batch, count, dtype=torch.int64)
        """``[B, n]``: the first ``size`` entries are the tour so far."""
        self.size = torch.zeros(batch, dtype=torch.int64)
        self.visited = torch.zeros(batch, count, dtype=torch.bool)

    @property
    def complete(self) -> Tensor:
        """``[B]`` bool: every point has been visited."""
        return self.size == self.points.shape[1]

    @property
    def first(self) -> Tensor:
        """``[B]``: the point each tour began with; n before there is one."""
        return torch.where(self.size > 0, self.order[:, 0], self.points.shape[1])

    @property
    def last(self) -> Tensor:
        """``[B]``: the point each tour has reached; n before there is one."""
        found = self.order.gather(1, (self.size - 1).clamp(min=0)[:, None])[:, 0]
        return torch.where(self.size > 0, found, self.points.shape[1])

    def begin(self, rows: Tensor, points: Tensor) -> None:
        """Start new tours.

        Args:
            rows: ``[k]`` int64: of which sets.
            points: ``[k, n, 2]``.
        """
        self.points[rows] = points.double()
        self.size[rows] = 0
        self.visited[rows] = False

    def extend(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Visit a point each; where it has been visited, nothing changes.

        Args:
            points: ``[B]`` int64.

        Returns:
            ``[B]`` bool: visited now; ``[B]``: the distance travelled, with the way back to the
            first point where the tour is complete.
        """
        taken = ((points >= 0) & (points < self.points.shape[1])) & ~self.complete
        at = torch.where(taken, points, 0)[:, None]
        taken &= ~self.visited.gather(1, at)[:, 0]
        moved = taken & (self.size > 0)
        distance = torch.where(moved, self._between(self.last, points), 0.0)
        rows = taken.nonzero()[:, 0]
        self.order[rows, self.size[rows]] = points[rows]
        self.visited[rows, points[rows]] = True
        self.size[rows] += 1
        closed = taken & self.complete
        return taken, distance + torch.where(closed, self._between(points, self.first), 0.0)

    def lengths(self) -> Tensor:
        """``[B]``: of the complete tours; undefined for others."""
        return tour_lengths(self.points, self.order[:, None])[:, 0]

    def _between(self, one: Tensor, other: Tensor) -> Tensor:
        """Distances ``[B]``; of numbers that are no points, any."""
        rows, top = torch.arange(len(one)), self.points.shape[1] - 1
        ends = [self.points[rows, x.clamp(0, top)] for x in (one, other)]
        return (ends[0] - ends[1]).norm(dim=1)
