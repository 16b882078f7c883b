"""Recipes of a suite: names, and functions that make the instances."""

from collections.abc import Callable

from dagsched_env.problem.instance import Instance

Recipes = dict[str, Callable[[], Instance]]
"""Name of an instance → a function that makes it; in the order of the suite."""
