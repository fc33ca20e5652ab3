"""Title, date, and what a report is read beside."""

from datetime import date

from raterlens.output.report.page import Document


def test_a_report_has_a_title_and_today_s_date_unless_told_otherwise():
    found = Document()
    assert (found.title, found.date, found.previous, found.cautions) == (
        "Rater report",
        date.today(),
        None,
        (),
    )
    assert Document("Essays", date(2026, 12, 31)).day == "31 December 2026"
