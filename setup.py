"""Where the packages lie; everything else about the project is in pyproject.toml."""

from __future__ import annotations

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["bbparse*", "features*"]), "bbparse.configs", "bbparse.models"
    ],  # fmt: skip
    package_dir={"bbparse.configs": "configs"},
)
