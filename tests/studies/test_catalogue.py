"""Every study of the list is in the module of its name."""

import pytest

from raterlens.studies.catalogue import STUDIES, STUDY_HELP
from raterlens.studies.study import Study, get_study


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_of_the_catalogue_is_there(name):
    study = get_study(name)
    assert isinstance(study, Study)
    assert study.name == name
    assert f"\n  {name} " in STUDY_HELP
