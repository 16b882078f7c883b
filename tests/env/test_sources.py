"""Sources of instances: folders, suites, families, functions, and mixtures of them."""

from collections import Counter
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from scipy import stats

from dagsched_env import io, suites
from dagsched_env.env import DAGSchedEnv
from dagsched_env.errors import DAGSchedError, FormatError
from dagsched_env.generators import CholeskyGenerator, Mixture, StencilGenerator
from dagsched_env.instance import Instance
from dagsched_env.sources import InstanceList, resolve_source
from helpers import ROOT

FORMATS = ROOT / "tests" / "data" / "formats"


def single(name: str, n: int = 2) -> Instance:
    return Instance(np.ones((n, 2)), [], [], name=name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two instances, a CSV directory, and what is left out."""
    path = tmp_path / "problems"
    path.mkdir()
    io.save(single("b"), path / "b.json")
    io.save(single("a", 3), path / "a.dot")
    io.save(single("c", 4), path / "c_tables", format="csv")
    (path / "README.md").write_text("These are problems.\n", encoding="utf-8")
    (path / ".hidden.json").write_text("{", encoding="utf-8")
    (path / "results.csv").write_text("x\n", encoding="utf-8")
    (path / "picture.png").write_bytes(b"\x89PNG\xff")
    (path / "g.trace.json").write_text("{}", encoding="utf-8")
    (path / "deeper").mkdir()
    io.save(single("d"), path / "deeper" / "d.json")
    return path


def test_a_folder_is_read_by_name(folder: Path) -> None:
    instances = io.load_folder(folder)
    assert [(i.name, i.n_tasks) for i in instances] == [("a", 3), ("b", 2), ("c", 4)]
    assert io.load_folder(folder / "c_tables") == [instances[2]]
    source = resolve_source(str(folder))
    assert isinstance(source, InstanceList)
    assert source.instances == tuple(instances)
    assert len(io.load_folder(FORMATS)) == 16 - 1  # all samples, without README.md


def test_a_broken_file_in_a_folder_is_named(folder: Path) -> None:
    (folder / "broken.json").write_text("{", encoding="utf-8")
    with pytest.raises(FormatError, match=r"broken\.json: "):
        io.load_folder(folder)


def test_a_folder_without_instances_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DAGSchedError, match="no file in this folder"):
        resolve_source(tmp_path)


def test_a_list_of_single_instances_stays_a_list(folder: Path) -> None:
    source = resolve_source([single("x"), folder / "b.json", "montage"])
    assert isinstance(source, InstanceList)
    assert [i.name for i in source.instances][:2] == ["x", "b"]


def test_a_mixture_is_uniform_over_its_specs_then_within() -> None:
    source = resolve_source(["suite:workflows_small", "family:stencil?width=2", single("alone")])
    assert isinstance(source, Mixture)
    rng = np.random.default_rng(0)
    names = Counter(str(source(rng).name) for _ in range(3000))
    small = [names[str(i.name)] for i in suites.load("workflows_small")]
    rest = 3000 - sum(small) - names["alone"]
    assert stats.chisquare([sum(small), names["alone"], rest]).pvalue > 0.01
    assert stats.chisquare(small).pvalue > 0.01


def test_a_mixture_states_the_sizes_that_all_members_state() -> None:
    source = resolve_source([single("x", 30), "family:cholesky?tiles=3&processors=7"])
    assert isinstance(source, Mixture)
    assert (source.max_tasks, source.max_processors) == (30, 7)
    assert source.max_edges == CholeskyGenerator(tiles=3).max_edges
    assert resolve_source([single("x"), lambda rng: single("y")]).max_tasks is None  # type: ignore[attr-defined]
    with pytest.raises(DAGSchedError, match="at least one"):
        Mixture([])


def test_one_spec_in_a_list_is_this_spec() -> None:
    assert resolve_source(["family:stencil"]) == StencilGenerator()


def test_environments_from_specs(folder: Path) -> None:
    spec = "family:cholesky?tiles=2..3&platform=cpu-gpu&cpus=2&gpus=1&ccr=1,2"
    for instances in (spec, [spec, "family:stencil?width=2..3"], str(folder), [spec, folder]):
        env = gymnasium.make("DAGSched-v0", instances=instances)
        for seed in range(3):
            _, info = env.reset(seed=seed)
            over = False
            while not over:
                action = env.action_space.sample(info["action_mask"])
                _, _, over, _, info = env.step(action)
            info["schedule"].validate(env.unwrapped.instance)  # type: ignore[attr-defined]
    envs = gymnasium.make_vec(
        "DAGSched-v0", num_envs=3, vectorization_mode="vector_entry_point", instances=[spec, folder]
    )
    envs.reset(seed=0)


def test_errors() -> None:
    with pytest.raises(DAGSchedError, match="family:chol: no family 'chol'"):
        DAGSchedEnv("family:chol")
    with pytest.raises(DAGSchedError, match="no suite 'x'"):
        DAGSchedEnv(["suite:x", "montage"])
    with pytest.raises(DAGSchedError, match=r"instances\[1\] is int"):
        DAGSchedEnv(["montage", 3])  # type: ignore[list-item]
    with pytest.raises(DAGSchedError, match="has no max_tasks"):
        DAGSchedEnv(["montage", lambda rng: single("x")])
