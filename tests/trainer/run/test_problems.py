"""Problems of levels with SPECs: disjoint parts, mixtures, and settings that hold them."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from aerl_trainer import config as settings
from aerl_trainer.config import (
    MIXTURE,
    MIXTURE_SMALL,
    Config,
    ConfigError,
    CurriculumConfig,
    LevelConfig,
)
from aerl_trainer.run.curriculum import Curriculum
from aerl_trainer.run.launch import with_specs
from aerl_trainer.run.problems import Problems
from dagsched_env import io, suites
from dagsched_env.generators import CholeskyGenerator, TopcuogluGenerator
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.sources import resolve_source

GRAPHS = (
    LevelConfig(tasks=(10, 20), processors=(3, 4), ccr=(0.5, 2.0), threshold=1.02),
    LevelConfig(tasks=(20, 40), processors=(3, 6), ccr=(0.5, 2.0), threshold=0.95),
)
FAMILY = "family:stencil?width=2&steps=2..3&processors=2"
FEW = "family:toy?tasks=2&processors=2&optimum=4"
"""Has a few different problems only."""


def level(*instances: str, validate: tuple[str, ...] = ()) -> LevelConfig:
    return LevelConfig(threshold=0.9, instances=instances, validate=validate)


def prints(instances: list[Instance]) -> set[str]:
    return {instance.fingerprint for instance in instances}


def drawn(problems: Problems, number: int = 0, count: int = 200) -> list[Instance]:
    rng = np.random.default_rng(1)
    return [problems.draw(number, rng) for _ in range(count)]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Ten problems of two to eleven tasks."""
    for n in range(2, 12):
        io.save(Instance(np.ones((n, 2)), [], [], name=f"n{n}"), tmp_path / f"{n:02}.json")
    return [str(path) for path in sorted(tmp_path.iterdir())]


def assert_disjoint(problems: Problems, number: int = 0) -> None:
    training = prints(drawn(problems, number))
    validation = prints(problems.validation_set(number, 99, seed=0))
    assert training
    assert validation
    assert not training & validation
    assert not (training | validation) & prints(problems.test)


def test_files_are_split_by_fingerprint(files: list[str], tmp_path: Path) -> None:
    problems = Problems([level(*files)])
    assert_disjoint(problems)
    parts = [drawn(problems), problems.validation_set(0, 9, 0), problems.test]
    assert [len(prints(part)) for part in parts] == [8, 1, 1]
    for others in (files[::-1], [*files, files[0]], [str(tmp_path)]):
        again = Problems([level(*others)], seed=5)
        assert [
            prints(drawn(again)),
            prints(again.validation_set(0, 9, 0)),
            prints(again.test),
        ] == [prints(part) for part in parts]
    assert problems.max_tasks == 11


def test_families_have_a_stream_for_each_part() -> None:
    problems = Problems([level(FAMILY)], seed=2, count=12)
    assert_disjoint(problems)
    assert len(problems.validation_set(0, 99, seed=2)) == len(problems.test) == 12
    twin = Problems([level(FAMILY)], seed=2, count=12)
    assert twin.test == problems.test
    assert twin.validation_set(0, 5, seed=2) == problems.validation_set(0, 12, seed=2)[:5]
    longer = Problems([level(FAMILY)], seed=2, count=20)
    assert longer.validation_set(0, 12, 2) == problems.validation_set(0, 12, 2)
    assert not prints(Problems([level(FAMILY)], seed=3).test) & prints(problems.test)


def test_a_family_of_few_problems_is_drawn_again() -> None:
    problems = Problems([level(FEW)], count=3)
    assert_disjoint(problems)
    with pytest.raises(DAGSchedError, match=r"LaplaceGenerator.* has too few different problems"):
        drawn(Problems([level("family:laplace?size=2&beta=0&ccr=1")]))


def test_a_mixture_is_uniform_over_its_specs(files: list[str]) -> None:
    problems = Problems([level(str(Path(files[0]).parent), FAMILY, "suite:heldout")], count=9)
    names = [str(i.name) for i in drawn(problems, count=1500)]
    shares = [sum(n.startswith(start) for n in names) / 1500 for start in ("n", "stencil", "held")]
    assert shares == pytest.approx([1 / 3] * 3, abs=0.05)
    assert_disjoint(problems)
    kinds = [str(i.name)[0] for i in problems.validation_set(0, 9, seed=0)]
    assert {"n", "s", "h"} == set(kinds)
    assert kinds.count("s") >= 3


def test_levels_are_split_together(files: list[str]) -> None:
    """What one level validates on, another one does not train on."""
    problems = Problems([level(*files[:6]), level(*files), level(FAMILY, *files[4:])])
    training = [prints(drawn(problems, i)) for i in range(3)]
    judged = [prints(problems.validation_set(i, 99, 0)) - training[i] for i in (1, 2)]
    assert not set().union(*training) & set().union(*judged)
    assert not set().union(*training[1:]) & prints(problems.test)


def test_a_validation_set_of_its_own(files: list[str]) -> None:
    problems = Problems([level(*files, validate=(*files[:2], "suite:paper"))], count=40)
    expected = [io.load(file) for file in files[:2]] + suites.load("paper")
    assert prints(problems.validation_set(0, 99, 0)) == prints(expected)
    assert_disjoint(problems)
    assert len(prints(drawn(problems))) == 7


def test_levels_of_random_graphs_can_have_a_validation_set(files: list[str]) -> None:
    plain = dataclasses.replace(Config(), curriculum=CurriculumConfig(levels=GRAPHS))
    problems = Problems(with_specs(plain, (), files[:2]).curriculum.levels)
    for number in range(2):
        assert len(problems.validation_set(number, 40, seed=0)) == 2
        assert drawn(problems, number, 3) == drawn(Problems(GRAPHS), number, 3)
    assert problems.test == []


def test_the_default_is_a_mixture_of_families() -> None:
    problems = Problems(Config().curriculum.levels, count=6)
    assert_disjoint(problems)
    found = drawn(problems, 0, 60)
    assert len({(instance.name or "").split("-")[0] for instance in found}) >= 8
    assert {instance.n_processors for instance in found} == set(range(3, 9))


@pytest.mark.parametrize(
    ("mixture", "least", "most"),
    [(MIXTURE_SMALL, 8, 30), (MIXTURE, 20, 60)],
)
def test_every_family_of_the_default_keeps_to_its_size(
    mixture: tuple[str, ...], least: int, most: int
) -> None:
    rng = np.random.default_rng(2)
    for spec in mixture:
        draw = resolve_source(spec)
        sizes = [draw(rng).n_tasks for _ in range(30)]
        assert min(sizes) >= least, spec
        assert max(sizes) <= most, spec


def test_fewer_than_three_problems_are_reused(files: list[str]) -> None:
    problems = Problems([level(*files[:2])])
    expected = prints([io.load(file) for file in files[:2]])
    for part in (drawn(problems), problems.validation_set(0, 9, 0), problems.test):
        assert prints(part) == expected
    assert "trained on as well" in problems.summary
    assert not problems.test_is_new
    beside = Problems([level(files[0], FAMILY)], count=4)
    assert_disjoint(beside)
    assert io.load(files[0]) in drawn(beside)
    assert beside.test_is_new
    assert beside.summary == "problems: 4 for validation, 4 for the test"


def test_nothing_left_to_train_on(files: list[str]) -> None:
    with pytest.raises(DAGSchedError, match="level 0 has no problem left to train on"):
        Problems([level(*files[:2], validate=tuple(files))])


def test_without_specs_nothing_is_split() -> None:
    problems = Problems(GRAPHS)
    assert (problems.test, problems.summary, problems.max_tasks) == ([], "", 40)
    family = TopcuogluGenerator(n_tasks=(10, 20), n_processors=(3, 4), ccr=GRAPHS[0].ccr)
    assert drawn(problems, 0, 1) == [family(np.random.default_rng(1))]


def test_functions_are_given_beside_the_settings() -> None:
    def draw(rng: np.random.Generator) -> Instance:
        return CholeskyGenerator(tiles=2)(rng)

    problems = Problems([level("python:draw", FAMILY)], functions={"python:draw": draw})
    assert problems.max_tasks is None
    assert_disjoint(problems)
    with pytest.raises(DAGSchedError, match="come from the Python function 'draw'"):
        Problems([level("python:draw")])


def test_a_curriculum_of_specs(files: list[str]) -> None:
    config = CurriculumConfig(levels=(level(*files), level(FAMILY)), window=2)
    curriculum = Curriculum(config)
    assert curriculum.make_instance(np.random.default_rng(0)).edges.size == 0
    assert [curriculum.observe(0.5) for _ in range(2)] == [False, True]
    assert str(curriculum.make_instance(np.random.default_rng(0)).name).startswith("stencil")
    assert len(curriculum.validation_set(1, 7, seed=0)) == 7


def test_specs_in_a_settings_file(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        """
        [[curriculum.levels]]
        instances = ["family:cholesky?tiles=4..6&platform=cpu-gpu"]
        threshold = 0.95
        """
    )
    config = settings.load(path)
    expected = LevelConfig(
        threshold=0.95, instances=("family:cholesky?tiles=4..6&platform=cpu-gpu",)
    )
    assert config.curriculum.levels == (expected,)
    path.write_text(tomli_w.dumps(settings.to_dict(config)))
    assert settings.load(path) == config
    for wrong in ({"instances": "family:lu"}, {"instances": [3]}, {"validate": [""], "tasks": 3}):
        with pytest.raises(ConfigError, match=r"curriculum\.levels"):
            settings.from_dict({"curriculum": {"levels": [{"threshold": 1.0, **wrong}]}})


def test_files_are_recorded_by_their_absolute_paths(
    files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(files[0]).parent)
    config = with_specs(Config(), ("02.json", FAMILY, "montage"), ("suite:paper",))
    (only,) = config.curriculum.levels
    assert only.instances == (files[0], FAMILY, "montage")
    assert only.validate == ("suite:paper",)
    assert with_specs(Config(), ()) == Config()
    assert dataclasses.replace(config, curriculum=Config().curriculum) == Config()
