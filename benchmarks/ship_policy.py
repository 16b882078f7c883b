"""Make the policy of a run one of those that come with the package.

    python benchmarks/ship_policy.py RUN NAME [--commit HASH]

Writes ``aerl_trainer/data/NAME.safetensors`` and its card ``NAME.json``: what it was trained on,
for how long, by which commit, with which settings, and the tables at the end of the run.
"""

import argparse
import json
from pathlib import Path

from aerl_trainer import config as settings
from aerl_trainer.config import Config
from aerl_trainer.policy.files import save_weights
from aerl_trainer.policy.shipped import FOLDER, SUFFIX
from aerl_trainer.run.reporting import RunDirectory
from aerl_trainer.solving.loading import load_policy
from dagsched_env.io.atomic import write_text


def card(run: RunDirectory, commit: str | None) -> dict[str, object]:
    """What a user should know of the policy."""
    config, system = settings.load(run.config_file), json.loads(run.system_file.read_text())
    record, defaults = settings.to_dict(config), settings.to_dict(Config())
    return {
        "trained_on": [spec for level in config.curriculum.levels for spec in level.instances],
        "minutes": config.run.minutes,
        "seed": config.run.seed,
        "commit": commit or system["git_commit"],
        "packages": system["packages"],
        "settings": {
            f"{section}.{key}": value
            for section, values in record.items()
            for key, value in values.items()
            if section != "curriculum" and value != defaults[section][key]
        },
        "results": json.loads((run.path / "results.json").read_text()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    parser.add_argument("--commit", help="that the run was made with; by default as it says itself")
    arguments = parser.parse_args()
    weights = load_policy(arguments.run).fast.weights
    save_weights(FOLDER / f"{arguments.name}{SUFFIX}", weights, {"name": arguments.name})
    text = json.dumps(card(RunDirectory(arguments.run), arguments.commit), indent=2)
    write_text(FOLDER / f"{arguments.name}.json", text + "\n")


if __name__ == "__main__":
    main()
