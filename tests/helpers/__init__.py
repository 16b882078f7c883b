"""What tests of several folders share: oracles, slow references, strategies, faults."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
