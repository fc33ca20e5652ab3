from raterlens.models.registry import DAWID_SKENE, HRM


def test_only_the_hierarchical_model_has_abilities():
    assert (HRM.ability, DAWID_SKENE.ability) == (True, False)
    for spec in (HRM, DAWID_SKENE):
        assert spec.methods == ("mml",)
        assert spec.takes == {"allow_reversed"}
        assert not spec.ordered
