"""The GGUF reader: agreement with a reader of the tests' own, and typed errors for bad files."""

from __future__ import annotations

import gc
import os
import pickle
import random
import struct
from pathlib import Path
from typing import Any, cast

import bessemer
import numpy as np
import pytest
from bessemer import _core, errors
from bessemer.errors import (
    Error,
    InvalidArgumentError,
    ParseError,
    UnknownNameError,
    UnsupportedError,
)
from bessemer.frontends.gguf import GgufFile
from oracles.gguf_file import GgufFile as OracleFile
from oracles.gguf_writer import gguf_bytes, text, value_bytes, write_gguf
from oracles.models import GEMMA3, SMOLLM2, model_path

METADATA = {
    "general.architecture": "llama",
    "llama.block_count": 30,
    "llama.eps": 0.5,
    "flag": True,
    "names": ["a", "", "é"],
    "numbers": [1, -2, 3],
    "floats": [0.5, -1.5],
    "none": [],
}
TENSORS = [
    ("w", (3, 64), 3, bytes(range(120))),
    ("b", (3,), 0, np.array([1, 2, 3], "<f4").tobytes()),
    ("h", (2, 2), 1, np.array([1, 2, 3, 4], "<f2").tobytes()),
]


@pytest.mark.parametrize("name", [SMOLLM2, GEMMA3])
def test_reads_what_the_oracle_reads(name: str) -> None:
    path = model_path(name)
    if path is None:
        pytest.skip(f"the package of {name} is not installed")
    ours, oracle = GgufFile(path), OracleFile(path)
    assert list(ours.metadata) == list(oracle.metadata)
    for key, value in oracle.metadata.items():
        found: Any = ours.metadata[key]
        assert (list(found) if isinstance(value, list) else found) == value, key
    assert list(ours.tensors) == list(oracle.tensors)
    for key, tensor in oracle.tensors.items():
        info = ours.info(key)
        assert (info.name, info.shape) == (key, tensor.shape)
        assert info.dtype == tensor.format.name.lower()
        assert info.offset % 32 == 0
        assert np.array_equal(np.frombuffer(info.data(), np.uint8), tensor.data)


def test_values_and_arrays(tmp_path: Path) -> None:
    file = GgufFile(write_gguf(tmp_path / "a.gguf", METADATA, TENSORS))
    m = file.metadata
    assert m.text("general.architecture") == "llama"
    assert m.integer("llama.block_count") == 30
    assert m.number("llama.eps") == 0.5
    assert m.flag("flag") is True
    assert m.strings("names") == ["a", "", "é"]
    assert list(m.numbers("numbers")) == [1, -2, 3]
    assert np.asarray(m.numbers("floats")).dtype == np.float32
    assert m.strings("none") == []
    assert m.integer("absent", 7) == 7 and m.text("absent", None) is None
    assert "absent" not in m and cast(Any, 3) not in m and len(m) == len(METADATA)
    assert dict(m).keys() == METADATA.keys()
    with pytest.raises(KeyError):
        m["absent"]
    assert np.array_equal(file.tensor("b"), [1, 2, 3])
    assert file.tensor("h").dtype == np.float16 and file.tensor("h").shape == (2, 2)
    assert file.tensor("w").tobytes() == bytes(range(120))
    assert not file.tensor("b").flags.writeable
    assert file.info("w").shape == (3, 64) and file.info("w").dtype == "q4_1"
    with pytest.raises(UnknownNameError, match=r"no tensor `ww` among the file's 3; .* `w`\?"):
        file.tensor("ww")


@pytest.mark.parametrize(
    ("getter", "key", "message"),
    [
        ("integer", "llama.eps", "is float 0.5, expected an integer"),
        ("integer", "flag", "is bool True, expected an integer"),
        ("integer", "absent", "is missing, expected an integer"),
        ("number", "llama.block_count", "is int 30, expected a floating-point"),
        ("flag", "llama.block_count", "is int 30, expected a bool"),
        ("text", "names", "is an array of 3 strings, expected a string"),
        ("strings", "numbers", "is an array of 3 numbers of type `i`, expected an array of str"),
        ("numbers", "general.architecture", "is str 'llama', expected an array of numbers"),
    ],
)
def test_typed_getters_say_what_is_there(
    tmp_path: Path, getter: str, key: str, message: str
) -> None:
    file = GgufFile(write_gguf(tmp_path / "a.gguf", METADATA))
    with pytest.raises(ParseError, match=message) as caught:
        getattr(file.metadata, getter)(key)
    assert f"`{key}`" in str(caught.value) and "a.gguf" in str(caught.value)


def test_tensors_outlive_the_file_object(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "a.gguf", METADATA, TENSORS)
    array = GgufFile(path).tensor("b")
    info = GgufFile(path).info("b")
    path.unlink()
    gc.collect()
    assert np.array_equal(array, [1, 2, 3])
    assert np.array_equal(np.frombuffer(info.data(), "<f4"), [1, 2, 3])


def test_text_that_is_not_utf8_is_an_error_when_asked_for(tmp_path: Path) -> None:
    file = GgufFile(
        write_gguf(tmp_path / "a.gguf", {"good": "x", "bad": "\udcff", "l": ["\udcff"]})
    )
    assert file.metadata.text("good") == "x"
    for key in ("bad", "l"):
        with pytest.raises(ParseError, match=f"`{key}` is not UTF-8"):
            file.metadata[key]
    assert file.core.strings("l")[0] == b"\xff"


def test_every_cut_is_a_typed_error(tmp_path: Path) -> None:
    whole = gguf_bytes(METADATA, TENSORS)
    path = tmp_path / "cut.gguf"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(ParseError if size else InvalidArgumentError):
            GgufFile(path)
    path.write_bytes(whole)
    GgufFile(path)


def test_random_damage_is_never_worse_than_an_error(tmp_path: Path) -> None:
    whole = gguf_bytes(METADATA, TENSORS)
    draw = random.Random(1)
    path = tmp_path / "damaged.gguf"
    for _ in range(500):
        damaged = bytearray(whole)
        for _ in range(draw.randint(1, 3)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        path.write_bytes(damaged)
        try:
            file = GgufFile(path)
            for key in file.metadata:
                _ = file.metadata[key]
            for name in file.tensors:
                assert sum(file.info(name).data()) >= 0
        except Error:
            pass


def _header(tensors: int, entries: int, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, entries)


def _tensor(name: str, sizes: list[int], code: int, offset: int) -> bytes:
    return text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, code, offset)


HUGE = 2**64 - 1


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"PK\x03\x04" + bytes(20), ParseError, "begins with 50 4b 03 04"),
        (_header(0, 0, 9), UnsupportedError, "version 9; expected 2 or 3"),
        (_header(HUGE, 0), ParseError, "claims 18446744073709551615 tensors"),
        (_header(0, HUGE), ParseError, "claims 18446744073709551615 metadata"),
        (
            _header(0, 1) + text("k") + struct.pack("<IIQ", 9, 8, 2**60) + bytes(64),
            ParseError,
            "`k` claims 1152921504606846976 elements",
        ),
        (
            _header(0, 1) + text("k") + struct.pack("<IIQ", 9, 9, 1) + bytes(64),
            UnsupportedError,
            "`k` is an array of arrays",
        ),
        (_header(0, 2) + (text("k") + value_bytes(1)) * 2, ParseError, "`k` occurs twice"),
        (
            _header(1, 0) + _tensor("t", [256], 22, 0) + bytes(256),
            UnsupportedError,
            r"`t` has type IQ2_S \(22\)",
        ),
        (
            _header(1, 0) + _tensor("t", [64], 0, 0) + bytes(100),
            ParseError,
            "`t` of 256 bytes reaches past the end",
        ),
        (
            _header(1, 0) + _tensor("t", [8], 0, HUGE - 31) + bytes(100),
            ParseError,
            "reaches past the end",
        ),
        (_header(1, 0) + _tensor("t", [2**33, 2**33], 0, 0), ParseError, "63 bits can count"),
        (_header(2, 0) + _tensor("t", [1], 0, 0) * 2 + bytes(99), ParseError, "`t` occurs twice"),
    ],
)
def test_hostile_files(tmp_path: Path, content: bytes, error: type[Error], message: str) -> None:
    path = tmp_path / "hostile.gguf"
    path.write_bytes(content)
    with pytest.raises(error, match=message) as caught:
        GgufFile(path)
    assert "hostile.gguf" in str(caught.value) and "\n" not in str(caught.value)


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path, "a directory"),
        (tmp_path / "absent", "No such file"),
        (Path("/dev/null"), "not a regular file"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            GgufFile(path)
    with pytest.raises(TypeError):
        GgufFile(3)  # type: ignore[arg-type]
    odd = write_gguf(tmp_path / os.fsdecode(b"caf\xc3\xa9\xff.gguf"), METADATA)
    assert GgufFile(odd).path == str(odd)


def test_every_kind_of_the_core_has_its_class() -> None:
    kinds = [
        errors.InvalidArgumentError,
        errors.ShapeError,
        errors.DtypeError,
        errors.UnknownNameError,
        errors.ParseError,
        errors.UnsupportedError,
        errors.OutOfMemoryError,
        errors.StateError,
        errors.BusyError,
        errors.CancelledError,
        errors.InternalError,
    ]
    for number, kind in enumerate(kinds):
        with pytest.raises(bessemer.Error) as caught:
            _core._raise(number, "what happened")
        assert type(caught.value) is kind
        assert caught.value.kind == kind.kind != "error"
        assert caught.value.message == "what happened"
        assert str(caught.value).startswith("what happened (")
        copy = pickle.loads(pickle.dumps(caught.value))
        assert (type(copy), copy.message, copy.notes) == (
            kind,
            caught.value.message,
            caught.value.notes,
        )
    assert len({kind.kind for kind in kinds}) == len(kinds)
