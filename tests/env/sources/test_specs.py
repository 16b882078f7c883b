"""Families and files as text: every family and platform, every form of value, helpful errors."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env import io
from dagsched_env.cli import main
from dagsched_env.generators import (
    GENERATORS,
    CholeskyGenerator,
    DaggenGenerator,
    FFTGenerator,
    JobShopGenerator,
    Mixture,
    RecipeGenerator,
    TopcuogluGenerator,
    ToyGenerator,
)
from dagsched_env.io import MachineOptions
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import (
    PLATFORMS,
    Clustered,
    CpuGpu,
    Related,
    Restricted,
    Shared,
    Unrelated,
)
from dagsched_env.schedulers import heft
from dagsched_env.sources import Draw, parameters, plugins, specs

OF_FAMILY = {
    "chains": "chains=2..3&length=2",
    "cholesky": "tiles=2..4",
    "daggen": "tasks=5..9&fat=0.3,0.6&density=0.5&regularity=0.1&jump=1..2",
    "erdos_renyi": "tasks=6&probability=0.3,0.6",
    "fft": "points=2,4",
    "fork_join": "phases=1..2&width=2&length=1..2",
    "gaussian_elimination": "size=3..4",
    "in_tree": "levels=3&degree=2",
    "job_shop": "jobs=2..3&machines=2&durations=0..9",
    "laplace": "size=2,4",
    "layered": "layers=2..3&width=2..3&probability=0.5",
    "lu": "tiles=2,3",
    "molecular_dynamics": "",
    "out_tree": "levels=2,3&degree=1..2",
    "qr": "tiles=3",
    "query_plans": "plans=1..2&scans=1..3&steps=2&scan_cores=1..4&stage_cores=3",
    "series_parallel": "tasks=4..8&parallel=0.2,0.9",
    "stencil": "width=3&steps=2..3",
    "topcuoglu": "tasks=5..9&processors=2..3&shape=0.5&out-degree=1..2&ccr=0.5,2&beta=0.5",
    "topcuoglu_graph": "n_tasks=7&shape=1,2&out_degree=2",
    "toy": "tasks=6..8&processors=2,3&optimum=50&beta=0.5&density=0.2",
    "wfcommons": "application=blast&tasks=60..70",
}
OF_PLATFORM = {
    "clustered": "processors=3,4&beta=1&ccr=2&clusters=2,3&slowdown=3&latency_share=0.2",
    "cpu_gpu": "cpus=2..3&gpus=1&acceleration=2..4&ccr=0.5,2",
    "related": "processors=2,5&speeds=1..2&ccr=3",
    "identical": "processors=2,3&ccr=0.5",
    "restricted": "processors=3&beta=0.2,1&ccr=1&share=0.3",
    "unrelated": "processors=1..3&beta=0.1&ccr=0.1,5",
}
COMBINATIONS = [
    (family, platform)
    for family, factory in GENERATORS.items()
    for platform in (PLATFORMS if specs.keys(family) >= {"processors", "ccr"} else ["-"])
    if family not in ("topcuoglu", "toy", "job_shop") or platform in ("-", "unrelated")
]


def spec_of(family: str, platform: str) -> str:
    own = [OF_FAMILY[family]] if OF_FAMILY[family] else []
    if platform == "-" or family in ("topcuoglu", "toy"):
        return f"family:{family}?{'&'.join(own)}"
    return f"family:{family}?{'&'.join([*own, f'platform={platform}', OF_PLATFORM[platform]])}"


def test_every_family_and_platform_is_tested() -> None:
    assert OF_FAMILY.keys() == GENERATORS.keys()
    assert OF_PLATFORM.keys() == PLATFORMS.keys()
    assert len(COMBINATIONS) == 3 + 19 * 6


@pytest.mark.parametrize(("family", "platform"), COMBINATIONS)
def test_every_family_on_every_platform_draws_valid_instances(family: str, platform: str) -> None:
    generator = specs.parse_family(spec_of(family, platform))
    for seed in range(2):
        instance = generator(np.random.default_rng(seed))
        assert instance == generator(np.random.default_rng(seed))
        assert instance.n_tasks <= generator.max_tasks
        assert instance.n_processors <= generator.max_processors
        assert instance.n_edges <= generator.max_edges
        heft(instance).validate(instance)


@pytest.mark.parametrize("family", GENERATORS)
def test_defaults_are_those_of_python(family: str) -> None:
    assert specs.parse_family(f"family:{family}") == GENERATORS[family]()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cholesky?tiles=4", CholeskyGenerator(tiles=4)),
        ("cholesky?tiles=4..8", CholeskyGenerator(tiles=(4, 8))),
        ("fft?points=4,8", FFTGenerator(points=(4, 8))),
        ("daggen?fat=0.1,0.8&jump=1..3", DaggenGenerator(fat=(0.1, 0.8), jump=(1, 2, 3))),
        ("job-shop?jobs=2..3&n_machines=4", JobShopGenerator(n_jobs=(2, 3), n_machines=4)),
        ("topcuoglu?processors=2..4&ccr=1", TopcuogluGenerator(n_processors=(2, 3, 4), ccr=1)),
        ("wfcommons?application=bwa", RecipeGenerator(application="bwa")),
        ("lu?ccr=2&n-processors=3", GENERATORS["lu"](platform=Unrelated(3, ccr=2))),
        (
            "cholesky?tiles=4..8&platform=cpu-gpu&cpus=3&gpus=1&ccr=1,2",
            CholeskyGenerator(tiles=(4, 8), platform=CpuGpu((4,), 1, ccr=(1, 2))),
        ),
        (
            "lu?platform=cpu_gpu&processors=6&gpus=2&acceleration=3",
            GENERATORS["lu"](platform=CpuGpu(6, 2, (3, 3))),
        ),
        ("qr?platform=related&speeds=1..2.5", GENERATORS["qr"](platform=Related(speeds=(1, 2.5)))),
        (
            "qr?platform=clustered&clusters=3",
            GENERATORS["qr"](platform=Clustered(Unrelated(4), n_clusters=3)),
        ),
        ("qr?platform=restricted&share=0.9", GENERATORS["qr"](platform=Restricted(share=0.9))),
        ("qr?cores=16", GENERATORS["qr"](platform=Shared(cores=16))),
        (
            "qr?platform=related&processors=2&cores=4,8&demand=1..6",
            GENERATORS["qr"](platform=Shared(Related(2), cores=(4, 8), demand=(1, 6))),
        ),
    ],
)
def test_values_of_every_form(text: str, expected: object) -> None:
    assert specs.parse_family(f"family:{text}") == expected


def test_demands_need_cores() -> None:
    with pytest.raises(DAGSchedError, match=r"qr\?demand=2: demand is how many cores a task uses"):
        specs.parse_family("family:qr?demand=2")
    with pytest.raises(DAGSchedError, match="toy has no parameter 'cores'"):
        specs.parse_family("family:toy?cores=2")


def test_a_mixture_of_demands_has_one_number_of_resources() -> None:
    mixture = specs.parse_family("family:fft?cores=4&demand=1,2..4")
    assert [member.platform.demand for member in mixture.members] == [1, (2, 4)]
    assert mixture.max_resources == 1
    assert specs.parse_family("family:fft").max_resources == 0


def test_choices_of_a_range_are_a_mixture() -> None:
    mixture = specs.parse_family("family:cholesky?tiles=2,4..5&platform=cpu_gpu&gpus=1,2")
    assert isinstance(mixture, Mixture)
    assert [(m.tiles, m.platform.n_gpus) for m in mixture.members] == [
        (2, 1),
        (2, 2),
        ((4, 5), 1),
        ((4, 5), 2),
    ]
    assert mixture.max_tasks == CholeskyGenerator(tiles=5).max_tasks
    named = specs.parse_family("family:wfcommons?application=blast,bwa")
    assert [m.application for m in named.members] == ["blast", "bwa"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("choleski", "no family 'choleski': did you mean 'cholesky'[?] There are chains, "),
        ("", "no family ''"),
        ("lu?tile=3", "lu on unrelated has no parameter 'tile': did you mean 'tiles'[?]"),
        ("lu?platform=cpu", "no platform 'cpu': did you mean 'cpu_gpu'[?] There are clustered"),
        ("lu?gpus=1", "lu on unrelated has no parameter 'gpus'"),
        ("toy?platform=related", "toy makes its own machines"),
        ("lu?tiles", "'tiles' is not of the form parameter=value"),
        ("lu?tiles=", "'tiles=' is not of the form"),
        ("lu?tiles=3&tiles=4", "'tiles' is given twice"),
        ("lu?tiles=3&", "'' is not of the form"),
        ("lu?tiles=many", "tiles is 'many': write a number, a range"),
        ("lu?tiles=3..", "tiles is '': write a number"),
        ("lu?tiles=5..3", "tiles is .5, 3.: it needs 1 <= low <= high"),
        ("lu?tiles=2.5", "tiles is 2.5: give a whole number"),
        ("lu?ccr=0.5..2", "ccr is '0.5..2': it takes single values, so list them"),
        ("lu?processors=4..2", "n_processors is '4..2': it needs low <= high"),
        ("lu?processors=1..99999", "at most 10000 values"),
        ("toy?optimum=100..5100&tasks=4,5,6", "more than 10000 combinations"),
        ("lu?platform=cpu_gpu&cpus=2&processors=3", "n_processors and n_cpus are both given"),
        ("lu?platform=cpu_gpu&processors=2&gpus=3", "n_gpus is 3"),
        ("lu?ccr=-1", "ccr has -1"),
        ("lu?ccr=nan", "ccr is nan"),
        ("wfcommons?application=x", "no recipe 'x'"),
    ],
)
def test_errors_repeat_the_spec(text: str, message: str) -> None:
    with pytest.raises(DAGSchedError, match=message) as caught:
        specs.parse_family(f"family:{text}")
    assert str(caught.value).startswith(f"family:{text}: ")
    assert "\n" not in str(caught.value)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="alutiescr_n=&?.,-0123456789é", max_size=40), st.sampled_from(["", "lu?"]))
def test_any_text_is_a_family_or_an_error(text: str, start: str) -> None:
    try:
        generator = specs.parse_family(f"family:{start}{text}")
    except DAGSchedError:
        return
    assert generator.max_tasks >= 1


def test_parameters_of_families_and_platforms_do_not_clash() -> None:
    for platform in PLATFORMS:
        shared = specs.keys("molecular_dynamics", platform)
        for family in GENERATORS:
            own = OF_FAMILY[family].replace("-", "_").split("&")
            if family not in ("topcuoglu", "toy", "job_shop", "molecular_dynamics"):
                assert not shared & {parameters.plain(part.partition("=")[0]) for part in own}


def test_the_table_shows_every_parameter_with_its_default() -> None:
    text = specs.table()
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}
    assert rows.keys() >= {*GENERATORS, *PLATFORMS}
    assert rows["daggen"][:2] == ["tasks=20..100", "fat=0.1,0.4,0.8"]
    assert rows["cholesky"] == ["tiles=5", "platform=…"]
    assert "acceleration=0.5..30" in rows["cpu_gpu"]
    for family in GENERATORS:
        shown = {word.partition("=")[0] for word in rows[family]}
        assert shown - {"platform"} <= specs.keys(family)


# -- families of other packages ------------------------------------------------------------------


def fork(*, tasks: int = 3) -> ToyGenerator:
    return ToyGenerator(n_tasks=tasks)


def untyped(tasks) -> ToyGenerator:  # type: ignore[no-untyped-def]
    return ToyGenerator(n_tasks=tasks)


def number() -> int:
    return 3


def plain() -> Draw:
    """A family without ``max_tasks``."""
    return lambda rng: Instance([[float(rng.integers(1, 9))]], [], [])


def wrong() -> Draw:
    return lambda rng: 3  # type: ignore[return-value]


def test_families_that_other_packages_declare(monkeypatch: pytest.MonkeyPatch) -> None:
    here = SimpleNamespace(fork=fork, untyped=untyped, number=number)
    monkeypatch.setitem(sys.modules, "families_for_tests", here)
    declared = {"fork": "fork", "gone": "gone", "lu": "fork"} | {
        name: name for name in ("untyped", "number")
    }
    points = [
        EntryPoint(name, f"families_for_tests:{value}", plugins.FAMILIES)
        for name, value in declared.items()
    ]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points)
    assert specs.parse_family("family:fork?tasks=5") == ToyGenerator(n_tasks=5)
    assert specs.parse_family("family:lu") == GENERATORS["lu"]()
    with pytest.raises(DAGSchedError, match=r"no family 'forc': did you mean 'fork'\?"):
        specs.parse_family("family:forc")
    with pytest.raises(
        DAGSchedError, match=r"family:gone: gone \(families_for_tests:gone\) cannot"
    ):
        specs.parse_family("family:gone")
    with pytest.raises(DAGSchedError, match="untyped: give tasks a type and a default"):
        specs.parse_family("family:untyped")
    with pytest.raises(DAGSchedError, match="number returned int: a family returns a function rng"):
        specs.parse_family("family:number")
    rows = {line.partition(" ")[0]: line.partition(" ")[2] for line in specs.table().splitlines()}
    assert rows["fork"].strip() == "tasks=3"
    assert "cannot be loaded: AttributeError" in rows["gone"]


def test_families_of_others_are_drawn_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = SimpleNamespace(plain=plain, wrong=wrong)
    monkeypatch.setitem(sys.modules, "families_for_tests", here)
    points = [EntryPoint(n, f"families_for_tests:{n}", plugins.FAMILIES) for n in vars(here)]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points)
    out = tmp_path / "x.json"
    assert main(["generate", "plain", "--out", str(out)]) == 0
    assert io.load(out).n_tasks == 1
    assert main(["generate", "wrong", "--out", str(out)]) == 2
    assert "what wrong drew is int" in capsys.readouterr().err


# -- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "path", "options"),
    [
        ("graph.dot", "graph.dot", MachineOptions()),
        ("montage?processors=8", "montage", MachineOptions(processors=8)),
        (
            "a/graph.dot?platform=cpu-gpu&processors=6&gpus=2&acceleration=2..8&platform-seed=3",
            "a/graph.dot",
            MachineOptions(
                platform="cpu-gpu", processors=6, gpus=2, acceleration="2..8", platform_seed=3
            ),
        ),
        ("f/?n_processors=2&ccr=0.5", "f/", MachineOptions(processors=2, ccr=0.5)),
        (
            "x?y.dot?speeds=1,2,4&bandwidth=1e9",
            "x?y.dot",
            MachineOptions(speeds="1,2,4", bandwidth="1e9"),
        ),
        ("g.dot?machines=m.json", "g.dot", MachineOptions(machines="m.json")),
    ],
)
def test_files_with_machines(spec: str, path: str, options: MachineOptions) -> None:
    assert specs.parse_file(spec) == (path, options)
    assert specs.parse_file(specs.file_spec(path, options)) == (path, options)


def test_a_file_whose_name_has_a_question_mark(tmp_path: Path) -> None:
    path = tmp_path / "a?processors=2"
    path.touch()
    assert specs.parse_file(str(path)) == (str(path), MachineOptions())


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("procesors=4", "no parameter 'procesors': did you mean 'processors'"),
        ("processors=many", "processors is 'many': write a whole number"),
        ("ccr=x", "ccr is 'x': write a number"),
        ("platform=magic", "platform is 'magic': write one of clustered, cpu-gpu"),
        ("platform=identical&gpus=1", "gpus is for platform cpu-gpu, not for identical"),
        ("processors", "'processors' is not of the form parameter=value"),
        ("ccr=1&ccr=2", "'ccr' is given twice"),
    ],
)
def test_machines_that_are_refused(query: str, message: str) -> None:
    with pytest.raises(DAGSchedError) as caught:
        specs.parse_file(f"graph.dot?{query}")
    assert str(caught.value).startswith(f"graph.dot?{query}: {message}")
