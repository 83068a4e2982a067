"""Compiled code is kept as long as nothing that is compiled into it changes; or not at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bbparse.runtime.errors import BBParseError
from bbparse.runtime.jit import Kernel

FILES = {
    "start.py": """
        import sys
        from plug.upper import answer, half_of

        assert half_of(4.0) == 2.0
        print(answer(1.0), sum(answer._whole.stats.cache_misses.values()))
        """,
    "plug/__init__.py": "",
    "plug/upper.py": """
        import plug.tables as tables
        from bbparse.runtime.jit import kernel
        from plug.helper import help, PAIR

        @kernel(inline=True)
        def half(x):
            return x / 2.0

        @kernel
        def half_of(x):
            return x / 2

        @kernel
        def answer(x):
            return half(help(x)) + tables.TABLE[0] + PAIR[1]
        """,
    "plug/tables.py": "import numpy as np\nTABLE = np.array([10.0, 20.0])\nOTHER = 3\n",
    "plug/helper.py": """
        from numba import njit
        from plug.deep import below
        PAIR = (1, 2)

        @njit
        def help(x):
            return below(x) * 4.0

        def unused():
            return 1
        """,
    "plug/deep.py": "from numba import njit\n@njit\ndef below(x):\n    return x + 1.0\n",
}
CHANGES = [
    ("plug/upper.py", "2.0", "4.0", 14.0),
    ("plug/tables.py", "10.0", "11.0", 17.0),
    ("plug/helper.py", "(1, 2)", "(1, 3)", 17.0),
    ("plug/deep.py", "1.0", "2.0", 18.0),
    ("plug/helper.py", "return 1", "return 2", None),
]


def plug_in(folder: Path, first: str = "") -> None:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    start(folder, textwrap.dedent(first) + textwrap.dedent(FILES["start.py"]))


def start(folder: Path, text: str) -> None:
    (folder / "start.py").write_text(textwrap.dedent(text), encoding="utf-8")


def run(folder: Path, *, cache: str = "cache", **more: str) -> tuple[list[str], str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **more}
    environment["NUMBA_CACHE_DIR"] = str(folder / cache) if cache else ""
    command = [sys.executable, "start.py"]
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return ran.stdout.split(), ran.stderr


def test_a_kernel_of_any_package_is_compiled_anew_when_what_it_names_changes(
    tmp_path: Path,
) -> None:
    plug_in(tmp_path)
    assert run(tmp_path)[0] == ["16.0", "1"]
    shutil.copytree(tmp_path / "cache", tmp_path / "kept")
    for name, old, new, answer in CHANGES:
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert old in text
        (tmp_path / name).write_text(text.replace(old, new), encoding="utf-8")
        expected = ["16.0", "0"] if answer is None else [str(answer), "1"]
        assert run(tmp_path)[0] == expected, (name, new)
        (tmp_path / name).write_text(text, encoding="utf-8")
        shutil.rmtree(tmp_path / "cache")
        shutil.copytree(tmp_path / "kept", tmp_path / "cache")


def test_functions_made_by_one_text_are_kept_beside_each_other(tmp_path: Path) -> None:
    start(
        tmp_path,
        """
        from bbparse.runtime.jit import kernel

        def maker(step):
            @kernel
            def walk(x):
                return step(x)
            return walk

        @kernel
        def up(x):
            return x + 1

        @kernel
        def down(x):
            return x - 1

        for step in (up, down, 5):
            try:
                walk = maker(step)
                print(walk(1), sum(walk._whole.stats.cache_misses.values()))
            except Exception:
                pass
        """,
    )
    assert run(tmp_path)[0] == ["2", "1", "0", "1"]
    assert run(tmp_path)[0] == ["2", "0", "0", "0"]


def test_code_with_bounds_checked_is_kept_beside_other_code(tmp_path: Path) -> None:
    start(
        tmp_path,
        """
        import numpy as np
        from bbparse.runtime.jit import kernel

        @kernel
        def beside(a):
            return a[3]

        try:
            beside(np.zeros(6)[:3])
            print("read")
        except IndexError:
            print("refused")
        print(sum(beside._whole.stats.cache_misses.values()))
        """,
    )
    for misses in "10":
        for checked, said in (("0", "read"), ("1", "refused")):
            assert run(tmp_path, NUMBA_BOUNDSCHECK=checked)[0] == [said, misses]


def test_without_a_place_for_a_cache_a_run_goes_on_and_says_so_once(tmp_path: Path) -> None:
    plug_in(tmp_path)
    (tmp_path / "file").write_text("")
    nowhere = str(tmp_path / "file" / "below")  # no folder can be made in a file
    (tmp_path / "plug" / "__pycache__").write_text("")
    for _ in range(2):
        out, said = run(tmp_path, cache="", HOME=nowhere, XDG_CACHE_HOME=nowhere)
        assert out == ["16.0", "1"]
        assert said.count("NUMBA_CACHE_DIR") == said.count("bbparse: compiling") == 1
        assert len(said.splitlines()) == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full disk")
def test_a_full_disk_is_no_error(tmp_path: Path) -> None:
    plug_in(
        tmp_path,
        """
        import builtins
        from numba.core import caching

        def full(path, mode="r", *rest):
            if "w" in mode:
                path = "/dev/full"
            return builtins.open(path, mode, *rest)

        caching.open = full
        """,
    )
    out, said = run(tmp_path)
    assert out == ["16.0", "1"]
    assert said.count("NUMBA_CACHE_DIR") == 1 and len(said.splitlines()) == 2


def test_code_that_can_only_be_read_is_read(tmp_path: Path) -> None:
    plug_in(tmp_path)
    assert run(tmp_path, cache="")[0] == ["16.0", "1"]
    plug_in(
        tmp_path,
        """
        import tempfile

        def refused(*arguments, **options):
            raise PermissionError('read-only')

        tempfile.TemporaryFile = refused
        """,
    )
    assert run(tmp_path, cache="")[0] == ["16.0", "0"]


def test_what_was_cut_off_is_compiled_anew(tmp_path: Path) -> None:
    plug_in(tmp_path)
    run(tmp_path)
    for file in (tmp_path / "cache").rglob("*.nb?"):
        file.write_bytes(file.read_bytes()[:20])
    assert run(tmp_path)[0] == ["16.0", "1"]
    assert run(tmp_path)[0] == ["16.0", "0"]


def test_code_of_other_types_under_the_same_name_is_compiled_anew(tmp_path: Path) -> None:
    """Of two processes that compile at the same time, each may replace the code of the other."""
    plug_in(tmp_path)
    run(tmp_path)
    start(tmp_path, FILES["start.py"].replace("answer(1.0)", "answer(1)"))
    run(tmp_path, cache="other")
    start(tmp_path, FILES["start.py"])
    codes = list((tmp_path / "other").rglob("*answer*.nbc"))
    assert codes
    for file in codes:
        shutil.copy(file, tmp_path / "cache" / file.relative_to(tmp_path / "other"))
    assert run(tmp_path)[0] == ["16.0", "1"]
    assert run(tmp_path)[0] == ["16.0", "0"]


BELOW = """
    import numpy as np
    from bbparse.runtime.jit import kernel

    @kernel
    def total(numbers, divisor):
        if divisor < 0:
            raise ValueError("negative")
        found = np.zeros(1)
        for number in numbers:
            found[0] += number
        return found[0] / divisor

    @kernel
    def twice(numbers, divisor):
        return total(numbers, divisor) + total(numbers[::-1], divisor)
    """
ABOVE = """
    import numpy as np
    from below import total, twice
    from bbparse.runtime.jit import kernel

    @kernel
    def both(numbers, divisor):
        'Two ways.'
        return total(numbers, divisor), twice(numbers, divisor)

    numbers = np.arange(5.0)
    print(*both(numbers, 2.0), *both(np.arange(5), 2))
    for divisor in (0.0, -1.0):
        try:
            both(numbers, divisor)
        except (ZeroDivisionError, ValueError) as error:
            print(type(error).__name__, error)
    print(twice(numbers, 4.0), both.__doc__, both.__name__)
    hits, misses = both._whole.stats.cache_hits, total._whole.stats.cache_misses
    print(sum(hits.values()), sum(misses.values()))
    """


def test_kernels_are_parts_of_the_one_that_calls_them_whose_code_alone_is_kept(
    tmp_path: Path,
) -> None:
    (tmp_path / "below.py").write_text(textwrap.dedent(BELOW), encoding="utf-8")
    start(tmp_path, ABOVE)
    answers = "5.0 10.0 5.0 10.0 ZeroDivisionError division by zero ValueError negative 5.0"
    for hits in ("0", "2"):
        out, said = run(tmp_path)
        assert out == [*answers.split(), "Two", "ways.", "both", hits, "0"]
        assert said.count("\n") == said.count("bbparse: compiling kernels") == (hits == "0")


def test_without_the_compiler_nothing_can_be_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbparse.runtime.jit.config.DISABLE_JIT", 1)
    with pytest.raises(BBParseError, match="NUMBA_DISABLE_JIT is set: unset it"):
        Kernel(abs, "nothing", False)(-1)
