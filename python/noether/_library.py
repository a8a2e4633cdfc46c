# SPDX-License-Identifier: Apache-2.0
"""libnoether.so by ctypes: declarations of include/noether.h and nothing else."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_float,
                    c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p)

MAX_RANK = 8
NO_VALUE = 0xFFFFFFFF


class Type(Structure):
    _fields_ = [("dtype", c_int32), ("rank", c_int32), ("dims", c_int64 * MAX_RANK)]


class Attribute(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int), ("n", c_size_t),
                ("ints", POINTER(c_int64)), ("floats", POINTER(c_float)),
                ("text", c_char_p)]


class ErrorText(Structure):
    _fields_ = [("status", c_int), ("text", ctypes.c_char * 1024)]


PROGRESS = CFUNCTYPE(c_int, c_void_p, c_char_p)
LOG = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
_E = POINTER(ErrorText)
_P = POINTER(c_void_p)

# name: (result, arguments); functions whose result is _STATUS raise on trouble.
_STATUS = object()
_FUNCTIONS = {
    "noether_version": (c_char_p, []),
    "noether_options_new": (c_void_p, []),
    "noether_options_free": (None, [c_void_p]),
    "noether_options_set": (_STATUS, [c_void_p, c_char_p, c_char_p]),
    "noether_options_list": (c_void_p, []),
    "noether_options_progress": (None, [c_void_p, PROGRESS, c_void_p]),
    "noether_options_log": (None, [c_void_p, LOG, c_void_p]),
    "noether_model_load": (_STATUS, [c_char_p, c_void_p, _P]),
    "noether_model_load_memory": (_STATUS, [c_char_p, c_size_t, c_void_p, _P]),
    "noether_model_new": (c_void_p, []),
    "noether_model_free": (None, [c_void_p]),
    "noether_model_save": (_STATUS, [c_void_p, c_char_p]),
    "noether_model_serialize": (_STATUS, [c_void_p, _P, POINTER(c_size_t)]),
    "noether_model_describe": (_STATUS, [c_void_p, _P]),
    "noether_model_weight": (_STATUS, [c_void_p, c_char_p, _P, POINTER(c_size_t)]),
    "noether_add_input": (_STATUS, [c_void_p, c_char_p, POINTER(Type),
                                    POINTER(c_uint32)]),
    "noether_add_weight": (_STATUS, [c_void_p, c_char_p, POINTER(Type), c_void_p,
                                     c_size_t, POINTER(c_uint32)]),
    "noether_add_node": (_STATUS, [c_void_p, c_char_p, POINTER(c_uint32), c_uint32,
                                   POINTER(Attribute), c_uint32, POINTER(Type),
                                   POINTER(c_uint32), c_uint32]),
    "noether_add_output": (_STATUS, [c_void_p, c_uint32, c_char_p]),
    "noether_value_type": (_STATUS, [c_void_p, c_uint32, POINTER(Type)]),
    "noether_optimize": (_STATUS, [c_void_p, c_void_p, _P, _P]),
    "noether_optimize_file": (_STATUS, [c_char_p, c_char_p, c_void_p, _P]),
    "noether_model_cost": (_STATUS, [c_void_p, c_void_p, POINTER(c_double)]),
    "noether_model_time": (_STATUS, [c_void_p, c_void_p, POINTER(c_double)]),
    "noether_model_kernels": (_STATUS, [c_void_p, c_void_p, _P]),
    "noether_report_text": (c_char_p, [c_void_p]),
    "noether_report_json": (c_char_p, [c_void_p]),
    "noether_report_interrupted": (c_int, [c_void_p]),
    "noether_report_free": (None, [c_void_p]),
    "noether_free": (None, [c_void_p]),
}

_STATUS_NAMES = {1: "io", 2: "parse", 3: "shape", 4: "argument", 5: "unsupported",
                 6: "limit", 7: "database", 8: "backend", 9: "mismatch",
                 10: "cancelled"}


class NoetherError(Exception):
    """What the library says went wrong, naming value and place.

    kind: "io", "parse", "shape", "argument", "unsupported", "limit", "database",
    "backend", "mismatch" or "cancelled".
    """

    def __init__(self, text: str, kind: str):
        super().__init__(text)
        self.kind = kind


def _candidates():
    """The library's places: $NOETHER_LIBRARY alone, the package, the system."""
    chosen = os.environ.get("NOETHER_LIBRARY")
    if chosen:
        return [chosen]
    inside = pathlib.Path(__file__).parent / "lib" / "libnoether.so"
    return [str(inside)] if inside.exists() else ["libnoether.so.0"]


def _open() -> ctypes.CDLL:
    problems = []
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as problem:
            problems.append(str(problem))
    raise ImportError("libnoether.so cannot be loaded (NOETHER_LIBRARY names another "
                      "one): " + "; ".join(problems))


def _declare(library: ctypes.CDLL, name: str):
    result, arguments = _FUNCTIONS[name]
    function = getattr(library, name)
    if result is not _STATUS:
        function.restype, function.argtypes = result, arguments
        return function
    function.restype, function.argtypes = c_int, arguments + [_E]

    def checked(*values):
        error = ErrorText()
        status = function(*values, byref(error))
        if status:
            raise NoetherError(error.text.decode("utf-8", "replace"),
                               _STATUS_NAMES.get(status, "unknown"))

    return checked


class _Library:
    """The functions by their names without "noether_"."""

    def __init__(self):
        library = _open()
        for name in _FUNCTIONS:
            setattr(self, name[len("noether_"):], _declare(library, name))

    def take_text(self, pointer) -> str:
        """The text at a pointer that is the caller's to free."""
        try:
            return ctypes.string_at(pointer).decode("utf-8", "replace")
        finally:
            self.free(pointer)


lib = _Library()
