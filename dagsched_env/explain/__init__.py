"""What bounds a measured run, and what would change it.

In reading order:

- ``chains``: what each task of the run waited for, and the longest chains of the graph;
- ``whatif``: the same tasks on other machines;
- ``analysis``: ``explain``, which puts it all together;
- ``report``: the explanation as text and as JSON;
- ``page``: the explanation as a page, with the recorded and the planned chart on one scale.
"""

from dagsched_env.explain.analysis import Explanation, explain
from dagsched_env.explain.page import save_page
from dagsched_env.explain.report import as_record, as_text

__all__ = ["Explanation", "as_record", "as_text", "explain", "save_page"]
