"""Configuration: one TOML file for the training and the use of a parser.

Tables and keys are the fields of the records in `bbparse.models.records`. An unknown key is
an error that lists the known ones, so a misspelt key is never silently ignored.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from bbparse.inference.search.settings import SearchSettings
from bbparse.models.records import (
    FactorConfig,
    LabelConfig,
    LearningConfig,
    ModelConfig,
    NetworkConfig,
    PrunerConfig,
    read_record,
    record_table,
)
from bbparse.models.templates import (
    TemplateSet,
    check_label_templates,
    default_label_templates,
)
from bbparse.runtime.errors import ConfigError
from bbparse.runtime.shipped import Shipped

CONFIGURATIONS = Shipped("configuration", "configs", ".toml", ConfigError)

@dataclass(frozen=True, slots=True)
class Configuration:
    """All settings of a parser; see the records of its parts."""

    templates: TemplateSet = field(default_factory=lambda: TemplateSet.from_table({}))
    pruner_templates: TemplateSet = field(default_factory=lambda: TemplateSet.from_table({}))
    model: ModelConfig = field(default_factory=ModelConfig)
    pruner: PrunerConfig = field(default_factory=PrunerConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    factors: FactorConfig = field(default_factory=FactorConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    search: SearchSettings = field(default_factory=SearchSettings)
    labels: LabelConfig = field(default_factory=LabelConfig)
    label_templates: TemplateSet = field(default_factory=default_label_templates)

    def __post_init__(self) -> None:
        if self.network.epochs:
            for wrong, expected in (
                (self.model.backbone != "grandsib", "the backbone grandsib"),
                (self.model.solver != "bb", "the solver bb"),
                (self.templates.lines or self.pruner_templates.lines, "no templates"),
            ):
                if wrong:
                    raise ConfigError(
                        f"network.epochs is {self.network.epochs}, it needs {expected}"
                    )

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Configuration:
        """Build a configuration from parsed TOML.

        Raises `ConfigError` for an unknown table or key (it lists the known ones) or an impossible
        value.
        """
        tables = [*_RECORDS, "templates"]
        for name, value in table.items():
            if name not in tables:
                raise ConfigError(f"unknown table [{name}]; there are {', '.join(tables)}")
            if not isinstance(value, Mapping):
                raise ConfigError(f"{name} is {value!r:.60}, expected a table [{name}]")
        parts = {name: dict(table.get(name, {})) for name in _RECORDS}
        lines_of = {
            "templates": ("templates", table.get("templates")),
            "pruner_templates": ("pruner.templates", parts["pruner"].pop("templates", None)),
            "label_templates": ("labels.templates", parts["labels"].pop("templates", None)),
        }
        # First the keys: a misspelt one may be why templates seem to lack.
        records: dict[str, Any] = {
            name: read_record(_RECORDS[name], part, name) for name, part in parts.items()
        }
        for name, (where, lines) in lines_of.items():
            if lines is not None:
                records[name] = TemplateSet.from_table(lines, where)
            elif name != "label_templates" and not parts["network"].get("epochs"):
                raise ConfigError(f"there is no table [{where}]")
        if "label_templates" in records:
            check_label_templates(records["label_templates"])
        return cls(**records)

    @classmethod
    def load(cls, name_or_path: str | Path) -> Configuration:
        """Read a configuration by the name it is shipped under, or by its path."""
        path = CONFIGURATIONS.path(name_or_path)
        try:
            with open(path, "rb") as stream:
                table = tomllib.load(stream)
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: not TOML: {error}") from None
        try:
            return cls.from_table(table)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None

    def to_table(self) -> dict[str, Any]:
        """Return the table that :meth:`from_table` reads, of plain lists, strings and numbers."""
        table: dict[str, Any] = {name: record_table(getattr(self, name)) for name in _RECORDS}
        table["templates"] = self.templates.to_table()
        table["pruner"]["templates"] = self.pruner_templates.to_table()
        table["labels"]["templates"] = self.label_templates.to_table()
        return table

    @property
    def method(self) -> dict[str, Any]:
        """Options of `bbparse.solve`, except limits."""
        if self.model.solver != "bb":
            return {"method": self.model.solver}
        return self.search_options

    @property
    def search_options(self) -> dict[str, Any]:
        """Options of branch and bound, which decodes in training: that needs a tree, no proof."""
        if not self.projective:
            return {"settings": self.search}
        return {"backbone": self.model.backbone, "settings": self.search}

    @property
    def projective(self) -> bool:
        """True if no two arcs of a tree may cross; also while training has not settled "auto"."""
        return bool(self.model.projective)

    def with_(self, part: str, **changes: Any) -> Configuration:
        """Return a copy with fields of one record changed; values of None change nothing."""
        changes = {key: value for key, value in changes.items() if value is not None}
        return replace(self, **{part: replace(getattr(self, part), **changes)})


#: The class of each table, except for tables of templates.
_RECORDS: dict[str, Any] = {
    x.name: x.default_factory for x in fields(Configuration) if "templates" not in x.name
}
