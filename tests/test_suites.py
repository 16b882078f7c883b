"""The frozen suites. After a change that is meant: ``python tests/test_suites.py``."""

import itertools
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import dagsched_env
from dagsched_env import suites
from dagsched_env.errors import DAGSchedError

FINGERPRINTS = Path(dagsched_env.__file__).parent / "data" / "suite_fingerprints.json"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", suites.SUITES)
def test_suite_is_the_published_one(name):
    instances = suites.load(name)
    published = suites.published_fingerprints()[name]
    assert {instance.name: instance.fingerprint for instance in instances} == published
    assert [instance.name for instance in instances] == list(published)
    assert len(set(published.values())) == len(instances)


def test_every_published_suite_exists():
    assert set(suites.published_fingerprints()) == set(suites.SUITES)


def test_heldout_cycles_over_ccr_and_beta():
    instances = suites.load("heldout")
    assert [instance.name for instance in instances] == [f"heldout-{i:02d}" for i in range(40)]
    ratios = itertools.cycle((0.5, 1.0, 2.0, 5.0))
    for i, (instance, ccr) in enumerate(zip(instances, ratios, strict=False)):
        assert instance.comp.shape == (30, 4)
        assert instance.data.mean() == pytest.approx(ccr * instance.comp.mean())
        spread = np.max(instance.comp.max(axis=1) / instance.comp.min(axis=1))
        beta = (0.5, 1.0)[i // 4 % 2]
        assert spread <= (1 + beta / 2) / (1 - beta / 2) + 1e-9
        assert spread > (1 + beta / 4) / (1 - beta / 4)


def test_workflows_are_the_traces_under_their_names():
    instances = suites.load("workflows")
    assert [instance.name for instance in instances] == ["1000genome", "epigenomics", "montage"]
    assert {instance.n_processors for instance in instances} == {4}


def test_a_drift_is_announced(monkeypatch):
    monkeypatch.setattr(suites, "HELDOUT_SEED", 1)
    with pytest.warns(UserWarning, match="'heldout' differs from the published one"):
        suites.load("heldout")


def test_unknown_suite():
    with pytest.raises(DAGSchedError, match=r"no suite 'paper'.*heldout, workflows"):
        suites.load("paper")


def regenerate() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = {name: {i.name: i.fingerprint for i in suites.load(name)} for name in suites.SUITES}
    FINGERPRINTS.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    regenerate()
