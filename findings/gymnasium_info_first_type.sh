#!/usr/bin/env bash
# gymnasium 1.4.0: in the infos of a vector environment the first value decides the type of all.
# Expected: two environments report the makespans 7 and 7.9, and the infos hold 7 and 7.9.
# Seen: the array gets the Python type of the first environment that has the key, and the others are
#   cast to it without a word: 7 and 7. Swapped, the array is of floats, and nothing is lost. After
#   a False a 3 becomes True, and after an array of whole numbers the other arrays are cut likewise.
#   SyncVectorEnv and AsyncVectorEnv agree. The documentation tells of the mask, not of the type.
# Why it matters: a makespan is an int where all times are whole, and a float elsewhere. Metrics
#   depend on which environment comes first, and are too good when they are cut.
# In this project: makespans in the infos are floats always, and the vector environments of its
#   own make arrays of float64 (dagsched_env/environment/vector).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile gymnasium==1.4.0 numpy==2.4.6
cd "$work"
cat > infos.py <<'PYTHON'
from functools import partial

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv


class Reports(gymnasium.Env):
    """One step, and a value in the infos."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, value):
        self.value = value

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 0.0, True, False, {"makespan": self.value}


def infos(kind, *values):
    environments = kind([partial(Reports, value) for value in values])
    environments.reset(seed=0)
    *_, info = environments.step(np.zeros(2, dtype=int))
    environments.close()
    print(f"{kind.__name__}: reported {values}, in the infos {info['makespan'].tolist()}")
    return info["makespan"].tolist()


if __name__ == "__main__":
    for kind in (SyncVectorEnv, AsyncVectorEnv):
        assert infos(kind, 7, 7.9) == [7, 7], "changed: the type"
        assert infos(kind, 7.9, 7) == [7.9, 7], "changed: floats first"
    assert infos(SyncVectorEnv, False, 3) == [False, True], "changed: Booleans"
    assert infos(SyncVectorEnv, np.array([7]), np.array([7.9])) == [[7], [7]], "changed: arrays"
PYTHON
venv/bin/python infos.py
