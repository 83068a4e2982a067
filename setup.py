"""Where the packages lie; everything else about the project is in pyproject.toml.

The folder `features` is installed as `bbparse_families`, a name that no user's file has.
"""

from __future__ import annotations

from setuptools import find_packages, setup

code = find_packages(include=["bbparse*"])
families = find_packages(include=["features*"])
installed = [name.replace("features", "bbparse_families", 1) for name in families]

setup(
    packages=[*code, *installed, "bbparse.configs"],
    package_dir={"bbparse.configs": "configs", "bbparse_families": "features"},
)
