"""Where the packages lie; everything else about the project is in pyproject.toml."""

from __future__ import annotations

from setuptools import find_packages, setup

code = find_packages(include=["bbparse*", "features*"])

setup(
    packages=[*code, "bbparse.configs", "bbparse.models"],
    package_dir={"bbparse.configs": "configs"},
)
