"""Options from Python in a program that uses Hydra itself, and from several threads."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hydra
import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.version import VersionBase
from omegaconf import OmegaConf

from figlang.config import EvaluateConfig, calling
from figlang.errors import FiglangError


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """No test leaves a version or settings of Hydra to another one."""
    version, settings = VersionBase.instance(), HydraConfig.instance()
    before = version.version_base, settings.cfg
    yield
    version.version_base, settings.cfg = before


def test_a_program_of_hydra_keeps_its_own(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("steps: 3\n")
    own = OmegaConf.create({"hydra": {"job": {"name": "mine"}}})
    with hydra.initialize_config_dir(str(tmp_path), version_base="1.2"):
        HydraConfig.instance().cfg = own  # type: ignore[assignment]
        mine = GlobalHydra.instance().hydra
        assert (
            calling.options("evaluate", EvaluateConfig, ["data=figqa_sample", "data.limit=3"]).data.limit == 3
        )
        with pytest.raises(FiglangError):
            calling.options("evaluate", EvaluateConfig, ["data=figqa_sample", "data.limt=3"])
        assert hydra.compose("mine").steps == 3
        assert GlobalHydra.instance().hydra is mine
        assert HydraConfig.instance().cfg is own
        assert str(VersionBase.instance().getbase()) == "1.2"


def test_threads_take_turns() -> None:
    with ThreadPoolExecutor(4) as threads:
        limits = threads.map(
            lambda limit: (
                calling.options(
                    "evaluate", EvaluateConfig, ["data=figqa_sample", f"data.limit={limit}"]
                ).data.limit
            ),
            range(1, 13),
        )
        assert list(limits) == list(range(1, 13))
