#!/bin/sh
# Snakemake 9.27.1 begins a failed job again where its rule has `retries`. One expects that of every workflow. A job that
# has failed and waits for cores while a checkpoint ends is forgotten: when a checkpoint ends the list of ready jobs is
# made anew, and the job that waits still counts as one that runs. The rest of the workflow goes on, and at its end the
# run stops with "BUG: Out of jobs ready to be started" and exit code 1. The scheduler is not to blame: the job has to
# wait, because the checkpoint takes both cores and is of higher priority.
#
# integrations/snakemake puts jobs that failed first, and begins no checkpoint while one of them waits.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check snakemake==9.27.1

cd "$folder"
cat >Snakefile <<'END'
rule all:
    input: "counted.txt", "tried.txt"
rule ready:
    output: "ready.txt"
    shell: "sleep 0.5; touch {output}"
checkpoint parts:
    input: "ready.txt"
    output: directory("parts")
    threads: 2
    priority: 1
    shell: "mkdir parts; touch parts/1.txt"
def found(wildcards):
    return expand("{folder}/1.txt", folder=checkpoints.parts.get().output[0])
rule counted:
    input: found
    output: "counted.txt"
    shell: "touch {output}"
rule tried:
    output: "tried.txt"
    retries: 1
    shell: "sleep 1; [ -e once ] && touch {output} || {{ touch once; exit 1; }}"
END

code=0
"$folder/venv/bin/snakemake" --cores 2 --scheduler greedy >log 2>&1 || code=$?
echo "exit code $code; $(grep -o 'BUG: Out of jobs ready to be started' log || echo 'no such message')"
echo "the file of the job: $(ls tried.txt 2>/dev/null || echo missing)"
[ "$code" = 1 ] && grep -q 'BUG: Out of jobs ready' log && [ ! -e tried.txt ]
