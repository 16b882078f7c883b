"""Files and directories appear whole or not at all, whoever writes and whatever lies there."""

import errno
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from dagsched_env.cli import main
from dagsched_env.io.atomic import remove_leftovers, write_bytes, write_folder, write_text
from dagsched_env.io.csv_trio import FILES
from dagsched_env.pictures.canvas import new_figure, save_figure
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance

WRITERS = 4
ROUNDS = 25


def table(text: str) -> dict[str, str]:
    return dict.fromkeys(FILES, text)


def test_temporary_names_cannot_be_foreseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[str] = []
    for call in ("replace", "rename"):
        move: Callable[[Path, Path], None] = getattr(os, call)

        def seen(source: Path, target: Path, move: Callable[..., None] = move) -> None:
            used.append(Path(source).name)
            move(source, target)

        monkeypatch.setattr(os, call, seen)
    for _ in range(2):
        write_text(tmp_path / "a.json", "{}")
        write_folder(tmp_path / "a.csv", table(""), replaceable=FILES)
    temporary = [name for name in used if name != "a.csv"]
    assert len(set(temporary)) == len(temporary) == 4
    for name in temporary:
        random = name.removeprefix(".a.json.").removeprefix(".a.csv.").removesuffix(".tmp")
        assert len(random) == 16
        assert str(os.getpid()) not in name.split(".")


def test_a_link_at_the_temporary_name_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if somebody could guess the name."""
    monkeypatch.setattr(secrets, "token_hex", lambda _: "guessed")
    victim, target = tmp_path / "victim", tmp_path / "a.json"
    victim.write_text("mine")
    (tmp_path / ".a.json.guessed.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError) as caught:
        write_text(target, "{}")
    assert caught.value.filename == str(target)
    (tmp_path / ".a.csv.guessed.tmp").symlink_to(tmp_path)
    with pytest.raises(FileExistsError):
        write_folder(tmp_path / "a.csv", table(""), replaceable=FILES)
    assert victim.read_text() == "mine"
    assert not target.exists()


def test_leftovers_of_a_killed_writer_are_removed_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    script = (
        "import os, sys; from dagsched_env.io.atomic import write_text\n"
        "os.replace = lambda *_: os._exit(9)\n"
        "write_text(sys.argv[1], 'new')"
    )
    write_text(folder / "a.json", "old")
    done = subprocess.run([sys.executable, "-c", script, folder / "a.json"], check=False)
    assert done.returncode == 9
    assert len(list(folder.iterdir())) == 2
    (tmp_path / ".mine.tmp").touch()
    remove_leftovers(tmp_path)
    assert [path.name for path in folder.iterdir()] == ["a.json"]
    assert (folder / "a.json").read_text() == "old"
    assert (tmp_path / ".mine.tmp").exists()


def test_the_longest_names_can_be_written(tmp_path: Path) -> None:
    longest = tmp_path / ("ä" * 125 + ".json")
    write_text(longest, "{}")
    assert longest.read_text() == "{}"


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_threads_write_one_place(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "a.csv"
    together, errors = threading.Barrier(WRITERS), []

    def write(writer: int) -> None:
        text = str(writer) * 5000
        try:
            together.wait()
            for _ in range(ROUNDS):
                if kind == "file":
                    write_text(target, text)
                else:
                    write_folder(target, table(text), replaceable=FILES)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    files = [target] if kind == "file" else [target / name for name in FILES]
    (content,) = {path.read_text() for path in files}
    assert len(content) == 5000
    assert len(set(content)) == 1
    assert os.listdir(tmp_path) == ["a.csv"]


def test_what_another_process_has_put_there_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It replaces the directory between the two renames."""
    target, rename = tmp_path / "a.csv", os.rename
    write_folder(target, table("first"), replaceable=FILES)

    def interfere(source: Path, place: Path) -> None:
        rename(source, place)
        if Path(source) == target:
            target.mkdir()
            (target / FILES[0]).write_text("of another")

    monkeypatch.setattr(os, "rename", interfere)
    with pytest.raises(OSError, match="not empty") as caught:
        write_folder(target, table("second"), replaceable=FILES)
    assert caught.value.filename == str(target)
    assert (target / FILES[0]).read_text() == "of another"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_a_link_stays_and_what_it_names_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    file, folder = tmp_path / "elsewhere" / "a.json", tmp_path / "elsewhere" / "a.csv"
    write_text(file, "old")
    write_folder(folder, table("old"), replaceable=FILES)
    for name, place in (("link.json", file), ("link.csv", folder)):
        (tmp_path / name).symlink_to(place)
    write_text(tmp_path / "link.json", "new")
    write_folder(tmp_path / "link.csv", {FILES[0]: "new"}, replaceable=FILES)
    assert file.read_text() == "new"
    assert {p.name: p.read_text() for p in folder.iterdir()} == {FILES[0]: "new"}
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "link.csv").is_symlink()
    assert sorted(os.listdir(tmp_path / "elsewhere")) == ["a.csv", "a.json"]


def test_a_link_that_leads_nowhere_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to("b.json")
    (tmp_path / "b.json").symlink_to("a.json")
    write_text(tmp_path / "a.json", "{}")
    assert (tmp_path / "a.json").read_text() == "{}"


def test_a_link_to_a_directory_of_something_else_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    (tmp_path / "link.csv").symlink_to(tmp_path / "mine")
    with pytest.raises(DAGSchedError, match=r"link\.csv holds 'notes.txt' too"):
        write_folder(tmp_path / "link.csv", table(""), replaceable=FILES)
    assert (tmp_path / "link.csv").is_symlink()
    assert os.listdir(tmp_path / "mine") == ["notes.txt"]


def test_a_command_writes_through_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_text("one.json", Instance([[1.0]], [], []).to_json())
    assert main(["convert", "one.json", "real", "--to", "csv"]) == 0
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("missing/real")
    assert main(["convert", "one.json", "link", "--to", "csv"]) == 0
    assert main(["convert", "one.json", "dangling", "--to", "csv"]) == 2
    assert sorted(os.listdir(tmp_path)) == ["dangling", "link", "one.json", "real"]
    assert (tmp_path / "link").is_symlink()


def test_what_stdout_is_redirected_to_keeps_what_is_in_it(tmp_path: Path) -> None:
    write_text(tmp_path / "one.json", Instance([[1.0]], [], []).to_json())
    (tmp_path / "log").write_text("precious\n")
    command = [sys.executable, "-m", "dagsched_env", "schedule", "one.json", "--out"]
    for place in ("/dev/stdout", "/proc/self/fd/1"):
        with (tmp_path / "log").open("a") as log:
            subprocess.run([*command, place], cwd=tmp_path, stdout=log, check=True)
    text = (tmp_path / "log").read_text()
    assert text.startswith("precious\n")
    assert text.count('"format": "dagsched-schedule"') == 2
    assert text.endswith("wrote /proc/self/fd/1 (heft)\n")


# -- full disks ----------------------------------------------------------------------------------


def test_the_error_of_a_full_device_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(OSError, match="No space left") as caught:
        write_text("/dev/full", "{}")
    assert caught.value.filename == "/dev/full"
    write_text(tmp_path / "one.json", Instance([[1.0]], [], []).to_json())
    assert main(["schedule", str(tmp_path / "one.json"), "--out", "/dev/full"]) == 2
    assert capsys.readouterr().err == "dagsched: error: /dev/full: No space left on device\n"


def test_the_error_of_a_full_disk_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    writers: dict[str, Callable[[Path], object]] = {
        "a.json": lambda path: write_bytes(path, b"{}"),
        "a.csv": lambda path: write_folder(path, table(""), replaceable=FILES),
        "a.png": lambda path: save_figure(lambda: new_figure(1.0), path),
    }
    for name, write in writers.items():
        with pytest.raises(OSError, match="No space left") as caught:
            write(tmp_path / name)
        assert caught.value.filename == str(tmp_path / name)
    assert os.listdir(tmp_path) == []
