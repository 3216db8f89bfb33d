from pathlib import Path

import pytest

from milabench_ddp.config.paths import expanded, shown


def test_a_path_below_the_current_folder_is_shown_relative(here: Path) -> None:
    assert shown(here / "config" / "x.yaml") == "config/x.yaml"


def test_a_path_far_away_is_shown_whole(here: Path) -> None:
    assert shown("/etc/x.yaml") == "/etc/x.yaml"


def test_the_home_folder_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert expanded("~/x.yaml") == Path("/home/me/x.yaml")
    assert expanded("x/~") == Path("x/~")


def test_a_user_who_does_not_exist() -> None:
    assert expanded("~no-such-user/x") == Path("~no-such-user/x")
