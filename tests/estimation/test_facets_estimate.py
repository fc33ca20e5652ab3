import raterlens as rl
from tests.support.facets_models import by_hand


def test_a_common_slope_at_its_least_is_said():
    rows = [(s, f"r{r}", f"i{i}", (s + r + i) % 2) for s in range(20) for r in range(3) for i in range(2)]
    fit = rl.fit(by_hand(rows), model="tfm")
    assert any("hold no information about ability" in warning for warning in fit.warnings)
