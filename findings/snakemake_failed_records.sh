#!/bin/sh
# Snakemake 9.27.1 writes the record of a job in .snakemake/metadata when the job has ended. One expects a record to mean
# that the job succeeded: it has a flag `incomplete`. A job that failed leaves the same record, with `incomplete: false`
# and two times, and nothing in it tells the two apart; only .snakemake/log does. Whoever takes runtimes from the records
# (for predictions, or a workflow trace) takes those of crashes, too.
#
# dagsched_env/io/snakemake.py reads the log files, and leaves such jobs out.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check snakemake==9.27.1

mkdir "$folder/work"
cd "$folder/work"
cat >Snakefile <<'END'
rule all:
    input: "good.txt", "bad.txt"
rule good:
    output: "good.txt"
    shell: "echo 1 > {output}"
rule bad:
    output: "bad.txt"
    shell: "exit 1"
END
if "$folder/venv/bin/snakemake" --cores 1 --keep-going --quiet all 2>/dev/null; then
    echo 'the run succeeded, which it should not'
    exit 1
fi

"$folder/venv/bin/python" - <<'END'
import json
from base64 import urlsafe_b64decode
from pathlib import Path

complete = []
for file in sorted(Path(".snakemake/metadata").iterdir()):
    output, record = urlsafe_b64decode(file.name).decode(), json.loads(file.read_text())
    print(f"{output}: exists {Path(output).exists()}, incomplete {record['incomplete']}, "
          f"seconds {record['endtime'] - record['starttime']:.3f}")
    if not record["incomplete"]:
        complete.append(output)
raise SystemExit(complete != ["bad.txt", "good.txt"] and complete != ["good.txt", "bad.txt"])
END
