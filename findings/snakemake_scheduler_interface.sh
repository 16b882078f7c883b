#!/bin/sh
# Snakemake 9.27.1 with snakemake-interface-scheduler-plugins 2.0.2. The interface says that `dag_updated()` "is called when
# the DAG is updated", so one expects a call after a checkpoint: there is none, ever. It also has `jobs()` of a group as a
# method; Snakemake's own groups have a property, and calling it fails. A scheduler that trusts either plans without the
# jobs behind checkpoints, or ends the run at the first group of a cluster.
#
# integrations/snakemake compares the remaining jobs with those it knows, and takes both kinds of `jobs`.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    snakemake==9.27.1 snakemake-interface-scheduler-plugins==2.0.2

mkdir -p "$folder/plugin/snakemake_scheduler_plugin_counting" "$folder/work"
cat >"$folder/plugin/snakemake_scheduler_plugin_counting/__init__.py" <<'END'
from snakemake_interface_scheduler_plugins.base import SchedulerBase

class Scheduler(SchedulerBase):
    def dag_updated(self):
        print("dag_updated was called", flush=True)

    def select_jobs(self, selectable_jobs, remaining_jobs, available_resources, input_sizes):
        print(f"select_jobs: {len(remaining_jobs)} jobs remain", flush=True)
        return list(selectable_jobs)[:1]
END
cd "$folder/work"
cat >Snakefile <<'END'
rule all:
    input: "all.txt"
checkpoint parts:
    output: directory("parts")
    shell: "mkdir parts; for i in 1 2 3; do echo $i > parts/$i.txt; done"
rule double:
    input: "parts/{k}.txt"
    output: "double/{k}.txt"
    shell: "cat {input} {input} > {output}"
def doubled(wildcards):
    folder = checkpoints.parts.get().output[0]
    return expand("double/{k}.txt", k=glob_wildcards(folder + "/{k,[0-9]+}.txt").k)
rule all_of:
    input: doubled
    output: "all.txt"
    shell: "cat {input} > {output}"
END
PYTHONPATH="$folder/plugin" "$folder/venv/bin/snakemake" --cores 1 --quiet all --scheduler counting >said.txt
cat said.txt
"$folder/venv/bin/python" -c '
from snakemake.jobs import GroupJob
print("GroupJob.jobs is a", type(GroupJob.jobs).__name__)
raise SystemExit(not isinstance(GroupJob.jobs, property))'
! grep -q "dag_updated was called" said.txt
