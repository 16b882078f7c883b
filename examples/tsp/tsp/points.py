"""Sets of points in the plane and tours through them, as batched tensors."""

import torch
from torch import Tensor

__all__ = ["DISTRIBUTIONS", "draw_points", "normalised", "symmetries", "tour_lengths"]

DISTRIBUTIONS = ("uniform", "gaussian")


def draw_points(distribution: str, batch: int, count: int, *, generator: torch.Generator) -> Tensor:
    """``[batch, count, 2]``: uniform in the unit square, or standard normal.

    Args:
        distribution: one of ``DISTRIBUTIONS``.
        batch: sets of points.
        count: points of a set.
        generator: draws them.
    """
    draw = {"uniform": torch.rand, "gaussian": torch.randn}[distribution]
    return draw(batch, count, 2, generator=generator)


def normalised(points: Tensor) -> Tensor:
    """``[B, n, 2]``, moved and scaled so that each set fills [−½, ½] in its longer direction.

    Where all points of a set are the same, they lie at the origin.
    """
    low, high = points.amin(dim=1, keepdim=True), points.amax(dim=1, keepdim=True)
    size = (high - low).amax(dim=2, keepdim=True)
    return (points - (low + high) / 2) / torch.where(size > 0, size, 1.0)


def symmetries(points: Tensor) -> Tensor:
    """``[8·B, n, 2]``: the images of all sets under each symmetry of the square.

    The first B are the sets themselves (table 1 of Kwon et al. 2020, arXiv:2010.16011).
    """
    turned = [points, points.flip(2)]
    signs = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)]
    return torch.cat([x * points.new_tensor(sign) for sign in signs for x in turned])


def tour_lengths(points: Tensor, tours: Tensor) -> Tensor:
    """``[B, S]``: lengths of closed tours.

    Args:
        points: ``[B, n, 2]``.
        tours: ``[B, S, n]``, each a permutation of 0 … n − 1.
    """
    rows = torch.arange(points.shape[0])[:, None, None] * points.shape[1]
    path = points.reshape(-1, 2)[rows + tours]
    return (path - path.roll(-1, dims=2)).norm(dim=3).sum(dim=2)
