"""Pages in a real browser: hostile names neither run nor become elements."""

import shutil
import subprocess
from pathlib import Path

import pytest
from env.pictures.test_names import Elements, pages

from dagsched_env.io.atomic import write_text

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
CODE = "document.title='hit'"
HOSTILE = [
    f"<script>{CODE}</script>",
    f"</script><script>{CODE}</script>",
    f'"><img src=x onerror="{CODE}">',
    f"</title></style><svg onload={CODE}>",
    f"--><body onload={CODE}>",
    f"javascript:{CODE}",
    f"&lt;script&gt;{CODE}&lt;/script&gt;",
]


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_no_name_runs_or_becomes_an_element(tmp_path: Path) -> None:
    hostile = pages(HOSTILE, [f"P{name}" for name in HOSTILE[:3]], HOSTILE[0])
    harmless = pages([str(i) for i in range(len(HOSTILE))], ["P", "Q", "R"], "harmless")
    for i, (page, other) in enumerate(zip(hostile, harmless, strict=True)):
        seen, expected = (Elements(shown(text, tmp_path / f"{i}.html")) for text in (page, other))
        assert seen.tags == expected.tags
        assert seen.attributes == expected.attributes
        assert "<title>hit</title>" not in shown(page, tmp_path / f"{i}.html")


def shown(page: str, path: Path) -> str:
    """The page as the browser has it, after its scripts have run."""
    write_text(path, page)
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={path.parent}/b"]
    done = subprocess.run(
        [str(BROWSER), *options, "--virtual-time-budget=2000", "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout
