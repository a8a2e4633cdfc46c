# SPDX-License-Identifier: Apache-2.0
"""Runs of the optimizer."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import warnings
from typing import Any, Callable, Dict, List, Optional

from ._library import LOG, PROGRESS, NoetherError, lib

Progress = Callable[[str], Any]


class Report:
    """What a run has done: str(report) is what noether-optimize prints."""

    def __init__(self, text: str, facts: Dict[str, Any], interrupted: bool):
        self.text = text
        self.facts = facts  # noether-optimize's --json
        self.interrupted = interrupted

    def __str__(self) -> str:
        return self.text

    @property
    def improved(self) -> bool:
        """Is the result another graph than the input?"""
        return self.facts["decision"] == "better"

    @property
    def rules(self) -> List[Dict[str, Any]]:
        """The rules that were applied: id, reversed, times, text."""
        return self.facts["rules"]


def option_names() -> Dict[str, str]:
    """Names and explanations of all options that optimize() takes."""
    rows = lib.take_text(lib.options_list()).splitlines()
    return {name.replace("-", "_"): text
            for name, _, text in (row.split("\t", 2) for row in rows)}


def packaged_rules() -> Optional[str]:
    """The rule database inside this package, if it was built with one."""
    path = pathlib.Path(__file__).parent / "data" / "rules.db"
    return str(path) if path.exists() else None


class Options:
    """Options for one call, freed at its end."""

    def __init__(self, progress: Optional[Progress] = None, **values: Any):
        self.pointer = lib.options_new()
        self.raised: Optional[BaseException] = None
        self.warnings: List[str] = []
        if values.get("rules") is None and not os.environ.get("NOETHER_RULES"):
            values["rules"] = packaged_rules()
        for name, value in values.items():
            if value is not None:
                self._set(name.replace("_", "-"), value)
        self._progress = PROGRESS(lambda _, text: self._call(progress, text))
        self._log = LOG(lambda _, level, text: self.warnings.append(text.decode()))
        # Without a caller's function too: it is where Ctrl-C is seen.
        lib.options_progress(self.pointer, self._progress, None)
        lib.options_log(self.pointer, self._log, None)

    def _set(self, name: str, value: Any) -> None:
        if isinstance(value, (list, tuple)):
            for item in value:
                self._set(name, item)
            return
        if isinstance(value, bool):
            value = int(value)
        lib.options_set(self.pointer, name.encode(), os.fsencode(str(value)))

    def _call(self, progress: Optional[Progress], text: bytes) -> int:
        """Exceptions cannot cross the library: kept, and raised behind it."""
        try:
            return int(bool(progress(text.decode()))) if progress else 0
        except BaseException as raised:  # KeyboardInterrupt too
            self.raised = raised
            return 1

    def __enter__(self) -> "Options":
        return self

    def __exit__(self, *_: Any) -> None:
        lib.options_free(self.pointer)


def shape_texts(shapes) -> List[str]:
    return [f"{name}:{','.join(str(d) for d in dims)}"
            for name, dims in (shapes or {}).items()]


def _take_report(pointer: ctypes.c_void_p, options: Options) -> Report:
    text = lib.report_text(pointer).decode("utf-8", "replace")
    facts = json.loads(lib.report_json(pointer).decode("utf-8", "replace"))
    facts["warnings"] = options.warnings
    report = Report(text, facts, bool(lib.report_interrupted(pointer)))
    lib.report_free(pointer)
    for warning in options.warnings:
        warnings.warn(warning, RuntimeWarning, stacklevel=3)
    return report


def optimize(graph, alpha: float = 1.05, budget: int = 300, *, rules=None,
             device: Optional[str] = None, costs=None,
             time_limit: Optional[float] = None, level: Optional[str] = None,
             progress: Optional[Progress] = None, **options: Any):
    """The optimized graph, checked against the original on random inputs.

    Where nothing better is found the result is a copy of the input, byte for byte.

    alpha: keep graphs up to this times the best cost; budget: graphs expanded.
    rules: the rule database; device: "cpu", "ort", "ort:LIBRARY", "roofline",
    "table:FILE"; costs: a database that keeps measured times; time_limit: seconds;
    level: "exact", "float" or "fast".
    progress: called about once a second with a text; a true answer ends the search with
    the best so far.
    Any other option of noether-optimize by its name, underscores for dashes:
    optimize(graph, check=10, report="run.html"); see option_names().

    The result's attribute `report` says what was done. Raises NoetherError.
    """
    from .graph import Graph

    with Options(progress, alpha=alpha, budget=budget, rules=rules, device=device,
                 costs=costs, time_limit=time_limit, level=level, **options) as o:
        model, report = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            lib.optimize(graph._pointer, o.pointer, ctypes.byref(model),
                         ctypes.byref(report))
        except NoetherError:
            if o.raised:
                raise o.raised from None
            raise
        result = Graph._adopt(model)
        result.report = _take_report(report, o)
        if o.raised:
            raise o.raised
        return result


def optimize_file(source, target, *, input_shapes=None,
                  progress: Optional[Progress] = None, **options: Any) -> Report:
    """From file to file, as noether-optimize does it; also for models with external
    data. Options as for optimize()."""
    with Options(progress, input_shape=shape_texts(input_shapes), **options) as o:
        report = ctypes.c_void_p()
        lib.optimize_file(os.fsencode(source), os.fsencode(target), o.pointer,
                          ctypes.byref(report))
        result = _take_report(report, o)
        if o.raised:
            raise o.raised
        return result
