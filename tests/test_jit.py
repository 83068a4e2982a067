"""Compiled code is kept as long as nothing that is compiled into it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbparse import jit
from bbparse.search.root import solve_root
from features.enumerate import sibling_pairs


def forget() -> None:
    jit._stamp.cache_clear()
    jit._read.cache_clear()


def test_a_stamp_follows_what_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "_ROOT", str(tmp_path))
    files = {
        "bbparse/a.py": "from bbparse.b import one, two\nimport numpy\n",
        "bbparse/b.py": "from bbparse.parts import c\nfrom bbparse.a import x\n",
        "bbparse/parts/__init__.py": "",
        "bbparse/parts/c.py": "from features.d import (\n    y,\n)\n",
        "features/d.py": "y = 1\n",
        "bbparse/other.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8")

    def stamp() -> str:
        forget()
        return jit._stamp(str(tmp_path / "bbparse" / "a.py"))

    try:
        for name in files:
            before = stamp()
            assert stamp() == before
            with open(tmp_path / name, "a", encoding="utf-8") as stream:
                stream.write("# changed\n")
            assert (stamp() != before) == (name != "bbparse/other.py"), name
    finally:
        forget()


@pytest.mark.parametrize("compiled", [solve_root, sibling_pairs])
def test_caches_look_at_the_stamp(compiled: object) -> None:
    file = compiled._cache._cache_file  # type: ignore[attr-defined]
    own, of_all = file._source_stamp
    assert own and of_all == jit._stamp(compiled.py_func.__code__.co_filename)  # type: ignore[attr-defined]
