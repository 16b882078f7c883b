"""Sources of instances: folders, suites, families, functions, and mixtures of them."""

import json
import sys
from collections import Counter
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from scipy import stats

from dagsched_env import io, suites
from dagsched_env.environment.env import DAGSchedEnv
from dagsched_env.generators import CholeskyGenerator, Mixture, StencilGenerator
from dagsched_env.problem.errors import (
    AssumptionWarning,
    DAGSchedError,
    FormatError,
    MachinesAssumedWarning,
)
from dagsched_env.problem.instance import Instance
from dagsched_env.sources import InstanceList, resolve_source
from helpers import ROOT

FORMATS = ROOT / "tests" / "data" / "formats"
GRAPH = FORMATS / "weight_style.dot"
TRACE = "montage?platform=identical&processors=8&bandwidth=125e6"


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
    with pytest.warns(AssumptionWarning, match=r"diamond\.dax: 1 of 4 tasks take no time"):
        samples = io.load_folder(FORMATS, platform=io.RandomPlatform())
    assert len(samples) == sum(path.suffix != ".md" for path in FORMATS.iterdir())


def test_a_broken_file_in_a_folder_is_named(folder: Path) -> None:
    (folder / "broken.json").write_text("{", encoding="utf-8")
    with pytest.raises(FormatError, match=r"broken\.json: "):
        io.load_folder(folder)


def test_a_folder_without_instances_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DAGSchedError, match="no file in this folder"):
        resolve_source(tmp_path)


def test_a_list_of_single_instances_stays_a_list(folder: Path) -> None:
    source = resolve_source([single("x"), folder / "b.json", TRACE])
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


def test_a_function_by_its_module_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found from the current directory; a file of this name goes first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    Path("problems_of_mine.py").write_text(
        "from dagsched_env.generators import StencilGenerator\n"
        "def draw(rng):\n    return StencilGenerator(width=2, steps=3)(rng)\n"
        "number = 3\n"
    )
    drawn = resolve_source("problems_of_mine:draw")(np.random.default_rng(0))
    assert drawn == StencilGenerator(width=2, steps=3)(np.random.default_rng(0))
    mixture = resolve_source(["problems_of_mine:draw", "family:cholesky"])
    assert len({mixture(np.random.default_rng(i)).n_tasks for i in range(9)}) == 2
    for spec, message in (
        ("problems_of_mine:nothing", "cannot be loaded: AttributeError"),
        ("problems_of_mine:number", "is int: name a function"),
    ):
        with pytest.raises(DAGSchedError, match=f"{spec} {message}"):
            resolve_source(spec)
    Path("problems_of_mine:draw").write_text("nothing that is a graph")
    with pytest.raises(FormatError, match="problems_of_mine:draw"):
        resolve_source("problems_of_mine:draw")


def test_machines_behind_a_file_and_a_folder(tmp_path: Path) -> None:
    flow = io.read(GRAPH)
    options = io.MachineOptions(platform="identical", processors=2)
    wanted = options.equip(flow)  # type: ignore[arg-type]
    (tmp_path / "a.dot").write_bytes(GRAPH.read_bytes())
    io.save(single("own"), tmp_path / "b.json")
    machines = {"format": "dagsched-machines", "processors": [{"name": "x"}, {"name": "y"}]}
    (tmp_path / "m.json").write_text(json.dumps(machines | {"bandwidth": 1}), encoding="utf-8")
    said = "platform=identical&processors=2&bandwidth=1"
    assert resolve_source(f"{GRAPH}?{said}").instances == (wanted,)  # type: ignore[attr-defined]
    for query in (said, f"machines={tmp_path / 'm.json'}"):
        first, second = resolve_source(f"{tmp_path}?{query}").instances  # type: ignore[attr-defined]
        assert first.comp.tolist() == wanted.comp.tolist()
        assert second == single("own")
    env = gymnasium.make("DAGSched-v0", instances=TRACE)
    env.reset(options={"instance": f"{GRAPH}?{said}"})
    assert env.unwrapped.instance == wanted  # type: ignore[attr-defined]


def test_assumed_machines_are_one_warning_for_all_files() -> None:
    with pytest.warns(MachinesAssumedWarning) as caught:
        gymnasium.make("DAGSched-v0", instances=[str(GRAPH), "montage", TRACE, single("x")])
    (warning,) = caught
    text = str(warning.message)
    assert text.startswith(f"{GRAPH} and 1 other file describe no processors: 4 unrelated proc")
    assert (
        "; say platform, processors, beta, platform_seed, bandwidth, ccr in the SPEC, as in FILE?"
        in text
    )
    with pytest.warns(
        MachinesAssumedWarning, match="2 unrelated .*; say bandwidth, ccr in"
    ) as caught:
        DAGSchedEnv(f"{GRAPH}?platform=unrelated&processors=2&beta=1&platform_seed=0")
    assert len(caught) == 1
    with pytest.warns(MachinesAssumedWarning, match="bandwidth 1, latency 3, .*; say bandwidth in"):
        DAGSchedEnv(f"{GRAPH}?platform=identical&processors=2&latency=3")


def test_the_reset_to_a_file_warns_too() -> None:
    env = DAGSchedEnv(TRACE)
    with pytest.warns(MachinesAssumedWarning, match=f"{GRAPH} describes no processors"):
        env.reset(options={"instance": GRAPH})


def test_errors() -> None:
    with pytest.raises(DAGSchedError, match="family:chol: no family 'chol'"):
        DAGSchedEnv("family:chol")
    with pytest.raises(DAGSchedError, match="no suite 'x'"):
        DAGSchedEnv(["suite:x", TRACE])
    with pytest.raises(DAGSchedError, match=r"instances\[1\] is int"):
        DAGSchedEnv([TRACE, 3])  # type: ignore[list-item]
    with pytest.raises(DAGSchedError, match="has no max_tasks"):
        DAGSchedEnv([TRACE, lambda rng: single("x")])


KINDS = (
    "A SPEC is a file or folder, family:NAME.*, suite:NAME, a recorded trace, or module:function"
)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("famly:fft", f"famly:fft: there is no module 'famly': did you mean 'family:fft'. {KINDS}"),
        ("FAMILY:FFT", f"FAMILY:FFT: there is no module .*: did you mean 'family:fft'. {KINDS}"),
        ("famly:fft?points=8", f"there is no file 'famly:fft': did you mean 'family:fft'. {KINDS}"),
        ("suit:paper", f"there is no module 'suit': did you mean 'suite:paper'. {KINDS}"),
        ("nowhere.at_all:fn", f"nowhere.at_all:fn: there is no module 'nowhere': {KINDS}"),
        ("json:nothing", "json:nothing cannot be loaded: AttributeError: module 'json'"),
    ],
)
def test_what_is_no_spec_is_told_what_a_spec_is(spec: str, message: str) -> None:
    with pytest.raises(DAGSchedError, match=message):
        DAGSchedEnv(spec)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("fft", "; did you mean 'family:fft'?"),
        ("heldout", "; did you mean 'suite:heldout'?"),
        ("montag", "; did you mean the bundled trace 'montage'?"),
        ("no/where.json", ""),
    ],
)
def test_a_file_that_is_not_there_may_be_another_spec(name: str, hint: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        DAGSchedEnv(name)
    assert caught.value.strerror == f"No such file or directory{hint}"
    assert caught.value.filename == name


def test_a_module_that_lacks_another_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lacks_another.py").write_text("import no_such_package")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DAGSchedError, match=r"cannot be loaded: .* 'no_such_package'"):
        DAGSchedEnv("lacks_another:draw")
