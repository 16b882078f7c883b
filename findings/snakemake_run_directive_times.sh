#!/usr/bin/env bash
# Snakemake 9.27.1: the record of a rule with `run:` says that the job started after it had ended.
# Expected: starttime and endtime in .snakemake/metadata tell how long a job took, as with `shell:`.
# Seen: of a job of two seconds the start is some milliseconds behind the end; with `shell:` there are
#   two seconds between them. The log file has the true start, in whole seconds.
# Why it matters: runtimes that are read from the records are zero or less for every rule with `run:`,
#   so reports and plans take the longest jobs of such workflows for free.
# In this project: dagsched_env/io/snakemake.py takes the start from the log file, and says which jobs
#   are not measured where there is none.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile snakemake==9.27.1
mkdir "$work/run"
cd "$work/run"
cat >Snakefile <<'END'
rule all:
    input: "shell.txt", "run.txt"
rule by_shell:
    output: "shell.txt"
    shell: "sleep 2; echo 1 > {output}"
rule by_run:
    output: "run.txt"
    run:
        import time
        time.sleep(2)
        open(output[0], "w").write("1")
END
"$work/venv/bin/snakemake" --cores 1 --quiet all
"$work/venv/bin/python" - <<'PYTHON'
import json
import pathlib

took = {}
for path in pathlib.Path(".snakemake/metadata").iterdir():
    record = json.loads(path.read_text())
    took[record["rule"]] = record["endtime"] - record["starttime"]
print({rule: f"{seconds:.2f} s on record" for rule, seconds in sorted(took.items())})
assert took["by_shell"] >= 2, "changed: shell"
assert took["by_run"] <= 0, "changed: run"
PYTHON
