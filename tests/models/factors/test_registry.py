from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bbparse.apps.cli.model import factors as factors_command
from bbparse.factors import FactorFamily
from bbparse.models.factors.registry import available, load_families, specification
from bbparse.runtime.errors import FactorError

OURS = {
    "combs": "bbparse_families.combs:Combs",
    "grandchildren": "bbparse_families.grandchildren:AllGrandchildren",
    "great-grandchildren": "bbparse_families.grandchildren:GreatGrandchildren",
    "parallel-labels": "bbparse_families.parallel:ParallelLabels",
    "rather-than": "bbparse_families.handcrafted:RatherThan",
    "sibling-labels": "bbparse_families.siblings:SiblingLabels",
    "siblings": "bbparse_families.siblings:AllSiblings",
    "tri-siblings": "bbparse_families.siblings:TriSiblings",
}

MODULE = """
from bbparse.factors import FactorFamily

class {cls}(FactorFamily):
    name = "{name}"
    summary = "a family of {cls}"

    def factors(self, view):
        if view.n_words > 1:
            yield [(0, 1), (1, 2)], ["start"]
"""


class Local(FactorFamily):
    """A class that is passed as it is."""

    name = "local"


class Plugins:
    """Packages in a folder on the path, as an installer would leave them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, package: str, entries: dict[str, str], modules: dict[str, str]) -> None:
        info = self.folder / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {target}" for name, target in entries.items()]
        (info / "entry_points.txt").write_text("\n".join(["[bbparse.factors]", *lines]) + "\n")
        for name, source in modules.items():
            (self.folder / f"{name}.py").write_text(source)


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugins:
    known = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Plugins(tmp_path)
    for name in set(sys.modules) - known:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_every_family_of_ours_has_its_name_and_a_summary() -> None:
    families = load_families(OURS)
    assert [family.name for family in families] == list(OURS)
    for family in families:
        assert family.summary
        assert "\n" not in family.summary
        assert specification(family) == family.name


def test_families_may_be_names_classes_and_objects() -> None:
    local = Local()
    families = load_families([local, "siblings"])
    assert families[0] is local
    assert [family.name for family in families] == ["local", "siblings"]
    assert [family.name for family in load_families(["siblings", Local])] == ["siblings", "local"]
    assert load_families([]) == []


def test_another_package_brings_a_family(plugins: Plugins) -> None:
    module = MODULE.format(cls="Start", name="my-start")
    plugins.add("my-parser-add-on", {"my-start": "add_on_module:Start"}, {"add_on_module": module})
    assert available()["my-start"].package == "my-parser-add-on"
    (family,) = load_families(["my-start"])
    assert family.summary == "a family of Start"
    assert specification(family) == "my-start"


def test_a_broken_plug_in_is_named_and_harms_no_other(plugins: Plugins) -> None:
    good = MODULE.format(cls="Start", name="my-start") + (
        "\nnumber = 7\nclass Needs(Start):\n    def __init__(self, x):\n        pass\n"
    )
    broken = {
        "cannot-import": ("broken_module:Start", "ModuleNotFoundError: No module named 'a_module_"),
        "no-class": ("good_module:Missing", "AttributeError: "),
        "not-a-family": ("good_module:number", "expected a class derived from FactorFamily, found"),
        "other-name": ("good_module:Start", "the class is named 'my-start', expected 'other-name'"),
        "cannot-make": ("good_module:Needs", "cannot be created: TypeError"),
    }
    places = {name: place for name, (place, _) in broken.items()}
    modules = {"broken_module": "import a_module_nobody_has", "good_module": good}
    plugins.add("broken-add-on", {**places, "my-start": "good_module:Start"}, modules)
    for name, (_, message) in broken.items():
        with pytest.raises(FactorError, match=f"factor family '{name}' of broken-add-on: .*") as e:
            load_families([name])
        assert message in str(e.value)
    assert [family.name for family in load_families(["my-start", "siblings"])] == [
        "my-start",
        "siblings",
    ]


def test_two_packages_that_claim_a_name_are_both_named(plugins: Plugins) -> None:
    for package in ("add-on-a", "add-on-b"):
        module, text = package.replace("-", "_"), MODULE.format(cls="Start", name="start")
        plugins.add(package, {"start": f"{module}:Start"}, {module: text})
    with pytest.raises(FactorError, match="add-on-a and add-on-b: several packages have it: "):
        load_families(["start"])
    assert load_families(["siblings"])


def test_a_class_may_be_named_by_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's file in the current directory, which nothing has installed."""
    source = MODULE.format(cls="Start", name="my-start")
    (tmp_path / "a_users_file.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    before = list(sys.path)
    (family,) = load_families(["a_users_file:Start"])
    assert sys.path == before
    assert family.name == "my-start"
    assert specification(family) == "a_users_file:Start"
    assert type(load_families(["a_users_file:Start"])[0]) is type(family)
    for wrong in ("a_users_file:Stop", "no_file_of_mine:Start", "a_users_file:", ":Start"):
        with pytest.raises(FactorError, match=f"factor family '{wrong}': cannot import"):
            load_families([wrong])
    with pytest.raises(FactorError, match=r"allow it with --factors a_users_file:Start"):
        load_families(["a_users_file:Start"], paths=False)
    del sys.modules["a_users_file"]


def test_given_families_stand_in_for_what_cannot_be_imported() -> None:
    target = specification(Local())
    assert target.endswith(":Local")
    for text in ("local", target):
        (family,) = load_families([text], given=[Local], paths=False)
        assert isinstance(family, Local)
    with pytest.raises(FactorError, match="no factor family 'other'"):
        load_families(["other"], given=[Local])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["sibling"], f"no factor family 'sibling'; there are: .*{'.*'.join(sorted(OURS))}"),
        ([Local, Local()], "factor family 'local' is given twice"),
        ([3], "expected a class derived from FactorFamily, found 3"),
        *(
            ([type("Odd", (FactorFamily,), {"name": name})], "expected a name without spaces")
            for name in ("", "two words", "a,b", "a:b", "a=b")
        ),
    ],
)
def test_what_is_no_family_is_refused(given: list[Any], message: str) -> None:
    with pytest.raises(FactorError, match=message):
        load_families(given)


def test_the_command_lists_names_summaries_and_packages(plugins: Plugins) -> None:
    plugins.add("broken-add-on", {"a-broken-one": "module_that_is_not:Start"}, {})
    result = CliRunner().invoke(factors_command)
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert len(lines) == len(available())
    for name in OURS:
        (line,) = (line for line in lines if line.split()[0] == name)
        assert load_families([name])[0].summary in line
        assert line.endswith("  bbparse")
    (line,) = (line for line in lines if line.startswith("a-broken-one"))
    assert "cannot be loaded: " in line
    assert line.endswith("broken-add-on")
