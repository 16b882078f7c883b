"""The frozen suites. After a change that is meant: ``python tests/test_suites.py``."""

import itertools
import json
import re
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dagsched_env
from dagsched_env import io, suites
from dagsched_env.io.atomic import write_text
from dagsched_env.problem.bounds import lower_bounds
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.platforms import ccr
from dagsched_env.schedulers import heft
from dagsched_env.suites import fixed, references, splits
from helpers.oracles import GRAPHS, paper_instance

FINGERPRINTS = Path(dagsched_env.__file__).parent / "data" / "suite_fingerprints.json"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", suites.SUITES)
def test_suite_is_the_published_one(name):
    instances = suites.load(name)
    published = suites.published_fingerprints()[name]
    assert {instance.name: instance.fingerprint for instance in instances} == published
    assert [instance.name for instance in instances] == list(published) == list(suites.names(name))
    assert len(set(published.values())) == len(instances)


def test_every_published_suite_exists():
    assert set(suites.published_fingerprints()) == set(suites.SUITES)
    assert list(suites.SUITES) == sorted(suites.SUITES)


def test_no_instance_is_in_two_splits():
    published = suites.published_fingerprints()
    every = [f for name in ("train", "valid", "test", "heldout") for f in published[name].values()]
    assert len(set(every)) == len(every)


def test_the_table_of_the_documentation_counts_right():
    rows = re.findall(r"^\| (\w+) +\| (\d+) ", suites.__doc__, flags=re.MULTILINE)
    assert {name: int(count) for name, count in rows} == {
        name: len(suites.names(name)) for name in suites.SUITES
    }


# -- the splits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["valid", "test"])
def test_instances_are_what_their_names_say(split):
    cells = set()
    for instance in suites.load(split):
        name, n, p, ratio = re.fullmatch(
            r"(\w+)-n(\d+)-p(\d+)-ccr([\d.]+)-.+", instance.name
        ).groups()
        assert name == split
        assert instance.comp.shape == (int(n), int(p))
        assert ccr(instance) == pytest.approx(float(ratio))
        cells.add((int(n), int(p), float(ratio)))
    assert cells == set(splits.CELLS)
    assert len(cells) == len(suites.names(split)) == 140


@pytest.mark.parametrize("split", ["valid", "test"])
def test_families_are_balanced(split):
    def spread(*parts: int) -> set[int]:
        """How often each family appears with each value of the given parts of the names."""
        labels = [name.split("-", 4) for name in suites.names(split)]
        counts = Counter(tuple(label[i] for i in (*parts, 4)) for label in labels)
        return set(counts.values())

    assert spread() == {17, 18}
    assert spread(1) == {2, 3}  # n: 20 instances, 8 families
    assert max(spread(2)) - min(spread(2)) <= 2  # p: 35 instances
    assert max(spread(3)) - min(spread(3)) <= 2  # CCR: 28 instances


def test_train_is_the_whole_product():
    assert len(suites.names("train")) == len(splits.CELLS) * len(splits.FAMILIES)
    assert {name.split("-", 4)[4] for name in suites.names("train")} == set(splits.FAMILIES)


def test_neighbouring_splits_have_other_families_and_draws():
    valid, test = suites.names("valid"), suites.names("test")
    families = [[name.split("-", 4)[4] for name in names] for names in (valid, test)]
    assert not any(a == b for a, b in zip(*families, strict=True))


# -- the lists -----------------------------------------------------------------------------------


def test_heldout_cycles_over_ccr_and_beta():
    instances = suites.load("heldout")
    assert [instance.name for instance in instances] == [f"heldout-{i:02d}" for i in range(40)]
    ratios = itertools.cycle((0.5, 1.0, 2.0, 5.0))
    for i, (instance, ratio) in enumerate(zip(instances, ratios, strict=False)):
        assert instance.comp.shape == (30, 4)
        assert instance.data.mean() == pytest.approx(ratio * instance.comp.mean())
        spread = np.max(instance.comp.max(axis=1) / instance.comp.min(axis=1))
        beta = (0.5, 1.0)[i // 4 % 2]
        assert spread <= (1 + beta / 2) / (1 - beta / 2) + 1e-9
        assert spread > (1 + beta / 4) / (1 - beta / 4)


def test_workflows_are_the_traces_under_their_names():
    assert suites.names("workflows") == io.BUNDLED
    assert suites.names("workflows_small") == ("1000genome", "epigenomics", "montage")
    for name in io.BUNDLED:
        assert suites.instance("workflows", name).n_processors == 4


def test_paper_graphs_are_those_of_the_oracles():
    assert suites.load("paper") == [paper_instance(name) for name in GRAPHS]


def test_graphs_of_dagbench_are_those_of_its_files():
    """The numbers of ``edge.mtec_lightgbm`` are from its ``graph.json``."""
    instance = suites.instance("dagbench", "edge.mtec_lightgbm")
    assert instance.processor_names == ("Desktop", "AGXXavier", "XavierNX", "JetsonTX2")
    assert instance.task_names[1] == "PCA"
    assert instance.comp[1].tolist() == pytest.approx([30 / 10, 30 / 5, 30 / 3.5, 30 / 2])
    pairs = map(tuple, instance.edges.tolist())
    assert dict(zip(pairs, instance.data, strict=True))[1, 5] == 20
    assert instance.inv_bandwidth[2, 1] == 1 / 5000
    sizes = [i.n_tasks for i in suites.load("dagbench")]
    assert (min(sizes), max(sizes)) == (1, 1118)


def test_no_graph_of_dagbench_is_for_non_commercial_use_only():
    text = (FINGERPRINTS.parent / "dagbench.json").read_text(encoding="utf-8")
    content = json.loads(text)
    assert len(content["graphs"]) + len(content["left_out"]) == 84
    assert not set(content["graphs"]) & set(content["left_out"])
    assert not re.search("non-?commercial", json.dumps(content["graphs"]), re.IGNORECASE)
    licence = (FINGERPRINTS.parent / "LICENSE-DAGBench").read_text(encoding="utf-8")
    assert "Apache License" in licence


def test_structured_graphs_have_their_sizes():
    # Three of the formulas that the generators state.
    assert suites.instance("structured", "gaussian-10-p16-ccr5").n_tasks == (100 + 10 - 2) // 2
    assert suites.instance("structured", "cholesky-6-p4-ccr0.5").n_tasks == 6 * 7 * 8 // 6
    assert suites.instance("structured", "fft-16-p16-ccr5").n_tasks == 31 + 16 * 4
    assert {i.n_processors for i in suites.load("structured")} == set(splits.PROCESSORS)


def test_job_shops_bind_every_operation_to_one_machine():
    for instance in suites.load("jobshop"):
        assert (np.isfinite(instance.comp).sum(axis=1) == 1).all()
        assert not instance.data.any()
    assert suites.instance("jobshop", "ft06").comp.shape == (36, 6)
    # Fisher and Thompson 1963: the longest job, the second, takes 8 + 5 + 10 + 10 + 10 + 4.
    assert lower_bounds(suites.instance("jobshop", "ft06")).critical_path == 47


def test_resources_are_cores_of_a_few_nodes():
    instances = suites.load("resources")
    for instance in instances:
        assert instance.resource_names == ("cores",)
        assert instance.n_processors in (1, 2, 4)
        assert set(instance.capacities[:, 0]) <= {4, 8, 16, 32}
        assert 22 <= instance.n_tasks <= 322
        assert instance.demands.min() >= 1
        assert instance.demands.max() <= instance.capacities.max()
    assert list(suites.reference("resources")) == list(suites.names("resources"))
    critical = [instance.cp_min >= lower_bounds(instance).best for instance in instances]
    assert np.mean(critical) < 0.4  # of the others the cores are what is scarce


# -- references ----------------------------------------------------------------------------------


def test_references_fit_their_instances():
    for suite in suites.SUITES:
        published = suites.reference(suite)
        # None is left over from instances that have changed since.
        assert set(published) == set(references.published_references().get(suite, {}))
        assert set(published) <= set(suites.names(suite))
        for name, known in published.items():
            instance = suites.instance(suite, name)
            assert known.makespan <= heft(instance).makespan * (1 + 1e-9), name
            assert lower_bounds(instance).best <= known.makespan * (1 + 1e-9), name
            assert known.lower_bound <= known.makespan, name
            if known.optimal:
                assert known.makespan - known.lower_bound <= 1e-6 * known.makespan, name


def test_all_of_test_has_references():
    assert list(suites.reference("test")) == list(suites.names("test"))


def test_references_of_published_optima():
    for name, known in suites.reference("paper").items():
        assert known.optimal
        assert known.makespan == GRAPHS[name]["makespan"]["optimum"]
    assert suites.reference("jobshop")["ft06"].makespan == 55
    assert suites.reference("jobshop")["ft06"].optimal


def test_a_reference_of_another_instance_is_left_out(monkeypatch):
    records = references.published_references()
    name, known = next(iter(records["test"].items()))
    altered = {"test": {**records["test"], name: replace(known, fingerprint="of another")}}
    monkeypatch.setattr(suites, "published_references", lambda: altered)
    assert set(records["test"]) - set(suites.reference("test")) == {name}
    assert suites.reference("heldout") == {}


def test_dumped_references_are_read_back():
    records = references.published_references()
    assert references.parse(references.dump(records)) == records
    assert references.dump({}).split() == ["{", "}"]


# -- errors and warnings -------------------------------------------------------------------------


def test_a_drift_is_announced(monkeypatch):
    monkeypatch.setattr(fixed, "HELDOUT_SEED", 1)
    with pytest.warns(UserWarning, match="'heldout' differs from the published one") as caught:
        suites.load("heldout")
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="'heldout' differs"):
        suites.instance("heldout", "heldout-03")


def test_unknown_names():
    with pytest.raises(DAGSchedError, match=r"no suite 'papers': there are dagbench, .*workflows"):
        suites.load("papers")
    with pytest.raises(DAGSchedError, match="no suite 'papers'"):
        suites.reference("papers")
    with pytest.raises(DAGSchedError, match="'paper' has no instance 'x': its first is 'Topcuog"):
        suites.instance("paper", "x")


def regenerate() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = {name: {i.name: i.fingerprint for i in suites.load(name)} for name in suites.SUITES}
    write_text(FINGERPRINTS, json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    regenerate()
