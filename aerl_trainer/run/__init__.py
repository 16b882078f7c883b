"""A training run: lifecycle of search jobs, validator, curriculum, problems, records, reports.

In reading order:

- ``records``: what a run says of its policy and of its end
- ``interruption``: signals that end a run
- ``reporting``: tables, pictures, metrics, the directory of a run
- ``problems``: what to train on
- ``curriculum``: which problems, and when the next ones
- ``validator``: judges a policy; the paired test of new weights
- ``lifecycle``: a search job from draw to experiences
- ``observers``: what a run shows and records
- ``attention_run``: the run of a rival
- ``training``: the run: learners, lifecycle, validator and curriculum at work together
- ``launch``: ``train``, from any source of problems
"""
