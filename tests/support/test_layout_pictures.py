"""The pictures of the documentation are those of the corpus."""

from tests.support.layout_pictures import FOLDER, pictures


def test_pictures_are_up_to_date() -> None:
    for name, content in pictures().items():
        assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == content, (
            "run: python -m tests.support.layout_pictures"
        )
