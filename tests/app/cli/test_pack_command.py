"""`raterlens pack`: what is packed is what is fitted."""

from pathlib import Path

import raterlens as rl
from raterlens.app.cli.main import DONE, main
from tests.support.command_line import Captured


def test_packed_ratings_give_the_same_fit(table: Path, tmp_path: Path, capsys: Captured) -> None:
    packed = tmp_path / "ratings.rlpack"
    assert main(["pack", str(table), "--out", str(packed)]) == DONE
    assert "720 ratings of 60 students by 4 raters on 3 items" in capsys.readouterr().out
    assert abs(rl.fit(packed).loglik - rl.fit(table).loglik) < 1e-8
