#!/bin/sh
# Snakemake 9.27.1: `--touch` marks results as up to date without running anything. One expects the records in
# .snakemake/metadata to keep when and how long the jobs ran. It gives them new times of both kinds, so that a job of one
# second is on record with none, and reports and runtimes taken from the records are wrong from then on.
#
# dagsched_env/io/snakemake.py takes the times of such a call for unknown, as its log file has the command line.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check snakemake==9.27.1

mkdir "$folder/work"
cd "$folder/work"
cat >Snakefile <<'END'
rule one:
    output: "one.txt"
    shell: "sleep 1; echo 1 > {output}"
END

seconds() {
    "$folder/venv/bin/python" -c '
import json, pathlib
record = json.loads(next(pathlib.Path(".snakemake/metadata").iterdir()).read_text())
print("%.1f" % (record["endtime"] - record["starttime"]))'
}

"$folder/venv/bin/snakemake" --cores 1 --quiet all
first=$(seconds)
"$folder/venv/bin/snakemake" --cores 1 --quiet all --forceall --touch
second=$(seconds)
echo "seconds on record: $first after the run, $second after --touch"
[ "$first" != 0.0 ] && [ "$second" = 0.0 ]
