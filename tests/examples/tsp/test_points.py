"""Points, tours, the text format, and the references: LKH against dynamic programming."""

import itertools
import lzma

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dagsched_env.problem.errors import FormatError
from tsp.held_karp import LARGEST, optimal_length
from tsp.points import draw_points, normalised, symmetries, tour_lengths
from tsp.references import committed_set, lkh_tours, optimal_lengths
from tsp.text_format import TourSet, read_tours, write_tours

COORDINATES = st.floats(-1e3, 1e3, width=32)
POINTS = st.integers(3, 7).flatmap(
    lambda n: arrays.arrays(np.float64, (n, 2), elements=COORDINATES)
)


def length_of(points, tour):
    """Leg by leg."""
    legs = itertools.pairwise([*tour, tour[0]])
    return sum(float(np.hypot(*(points[a] - points[b]))) for a, b in legs)


def shuffled(batch, count):
    return torch.rand(batch, count, generator=torch.Generator().manual_seed(7)).argsort(dim=1)


def shortest_of_all(points):
    orders = itertools.permutations(range(1, len(points)))
    return min(length_of(points, (0, *order)) for order in orders)


# -- points --------------------------------------------------------------------------------------


@given(POINTS, st.randoms(use_true_random=False))
def test_lengths_are_sums_of_legs(points, random):
    tours = [random.sample(range(len(points)), len(points)) for _ in range(3)]
    found = tour_lengths(torch.from_numpy(points)[None], torch.tensor([tours]))
    expected = [[length_of(points, tour) for tour in tours]]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_drawn_points_are_of_their_distribution():
    generator = torch.Generator().manual_seed(0)
    uniform = draw_points("uniform", 500, 20, generator=generator)
    gaussian = draw_points("gaussian", 500, 20, generator=generator)
    assert uniform.shape == gaussian.shape == (500, 20, 2)
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert float(uniform.var()) == pytest.approx(1 / 12, rel=0.02)
    assert float(gaussian.mean()) == pytest.approx(0, abs=0.02)
    assert float(gaussian.var()) == pytest.approx(1, rel=0.03)


@pytest.mark.parametrize("distribution", ["uniform", "gaussian"])
def test_normalised_points_fill_the_unit_square(distribution):
    points = draw_points(distribution, 50, 9, generator=torch.Generator().manual_seed(1))
    found = normalised(points)
    extent = found.amax(dim=1) - found.amin(dim=1)
    torch.testing.assert_close(extent.amax(dim=1), torch.ones(50))
    torch.testing.assert_close(found.amax(dim=1), -found.amin(dim=1))
    torch.testing.assert_close(normalised(7 * points - 3), found, atol=1e-5, rtol=0)
    tours = shuffled(50, 9)[:, None]
    ratio = tour_lengths(found, tours) / tour_lengths(points, tours)
    size = (points.amax(dim=1) - points.amin(dim=1)).amax(dim=1)
    torch.testing.assert_close(ratio[:, 0], 1 / size)


def test_points_that_are_all_the_same_lie_at_the_origin():
    assert not normalised(torch.full((1, 4, 2), 3.0)).any()


def test_symmetries_are_eight_and_keep_all_lengths():
    points = draw_points("uniform", 3, 6, generator=torch.Generator().manual_seed(2)) - 0.5
    images = symmetries(points)
    torch.testing.assert_close(images[:3], points)
    assert len({tuple(image.flatten().tolist()) for image in images}) == 24
    tours = shuffled(3, 6)[:, None]
    lengths = tour_lengths(images, tours.repeat(8, 1, 1)).view(8, 3)
    torch.testing.assert_close(lengths, tour_lengths(points, tours).T.expand(8, 3))


# -- the text format -----------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.data())
@pytest.mark.parametrize("suffix", [".txt", ".txt.xz"])
def test_files_are_read_back(tmp_path_factory, suffix, data):
    count, size = data.draw(st.integers(1, 3)), data.draw(st.integers(3, 5))
    points = data.draw(arrays.arrays(np.float64, (count, size, 2), elements=COORDINATES))
    orders = st.permutations(range(size))
    tours = data.draw(st.none() | st.lists(orders, min_size=count, max_size=count))
    path = tmp_path_factory.mktemp("tours") / f"set{suffix}"
    write_tours(path, TourSet(points, None if tours is None else np.array(tours)))
    found = read_tours(path)
    np.testing.assert_array_equal(found.points, points)
    if tours is None:
        assert found.tours is None
    else:
        np.testing.assert_array_equal(found.tours, tours)


def test_the_format_counts_from_one_and_closes_the_tour(tmp_path):
    path = tmp_path / "set.txt"
    points = np.array([[[0.0, 0.5], [1.0, 0.25], [0.75, 1.0]]])
    write_tours(path, TourSet(points, np.array([[1, 0, 2]])))
    assert path.read_text() == "0.0 0.5 1.0 0.25 0.75 1.0 output 2 1 3 2\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no points: write a line"),
        ("0 0 1 0 1 1\n0 0 1 x 1 1\n", "line 2: could not convert string to float: 'x'"),
        ("0 0 1 0 1\n", "line 1: 5 coordinates"),
        ("0 0 1 0 1 inf\n", "line 1: 6 coordinates"),
        ("0 0 1 0 1 1 output 1 2 2 1\n", "line 1: the tour after 'output' does not visit"),
        ("0 0 1 0 1 1 output 0 1 2 0\n", "line 1: the tour after 'output' does not visit"),
        ("0 0 1 0 1 1\n0 0 1 0 1 1 2 2\n", "line 2: 4 points, where the first line has 3"),
    ],
)
def test_what_is_not_of_the_format_is_named(tmp_path, text, message):
    path = tmp_path / "set.txt"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        read_tours(path)
    assert str(path) in str(caught.value)


def test_a_damaged_archive_is_named(tmp_path):
    path = tmp_path / "set.txt.xz"
    path.write_bytes(lzma.compress(b"0 0 1 0 1 1\n")[:-20])
    with pytest.raises(FormatError, match=r"set\.txt\.xz"):
        read_tours(path)


# -- references ----------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(POINTS)
def test_dynamic_programming_finds_the_shortest_of_all_tours(points):
    assert optimal_length(points) == pytest.approx(shortest_of_all(points), rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("count", [2, LARGEST + 1])
def test_dynamic_programming_states_its_limits(count):
    with pytest.raises(ValueError, match=f"{count} points"):
        optimal_length(np.zeros((count, 2)))


def test_the_committed_tours_are_optimal():
    """A sample, by a method that shares nothing with the one that made them."""
    found = committed_set()
    assert found.points.shape == (1000, 20, 2)
    assert found.tours.shape == (1000, 20)
    lengths = optimal_lengths(found)
    assert lengths.mean() == pytest.approx(3.82497, abs=1e-5)
    for i in (0, 371, 742, 999):
        assert optimal_length(found.points[i]) == pytest.approx(lengths[i], rel=1e-9)


def test_lkh_solves_sets_of_any_scale():
    pytest.importorskip("elkai", reason="needs the extra 'tsp'")
    rng = np.random.default_rng(3)
    points = np.stack([rng.normal(size=(9, 2)) * scale + 5 for scale in (1e-3, 1.0, 1e4)])
    lengths = optimal_lengths(TourSet(points, lkh_tours(points)))
    np.testing.assert_allclose(lengths, [optimal_length(one) for one in points], rtol=1e-5)
    np.testing.assert_array_equal(lengths, optimal_lengths(TourSet(points, None)))
