"""Pieces of work: what a student wrote or did at a time, which several raters may read."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from raterlens.base.types import Indices
from raterlens.ratings.coded import Codes, Ratings


class ByPiece(NamedTuple):
    """The same ratings with each piece in the place of a student."""

    ratings: Ratings
    student: Codes
    """(pieces,): whose they are; in ascending order."""
    label: Indices
    """(pieces,): which of the labels."""


def by_piece(ratings: Ratings) -> ByPiece:
    """Pieces are those of a student: two students may use the same label."""
    assert ratings.piece is not None
    n_labels = len(ratings.piece.labels)
    code = ratings.student.astype(np.int64) * n_labels + ratings.piece.codes
    distinct, which = np.unique(code, return_inverse=True)
    student, label = np.divmod(distinct, n_labels)
    pieces = replace(
        ratings,
        student=which.astype(np.int32),
        students=pl.Series("student", np.arange(len(distinct))),
        piece=None,
    )
    return ByPiece(pieces, student.astype(np.int32), label)


def one_each(ratings: Ratings) -> bool:
    """Whether no student has two pieces."""
    return len(by_piece(ratings).student) == ratings.n_students


def read_once(ratings: Ratings) -> bool:
    """Whether no piece was read by two raters."""
    pieces = by_piece(ratings)
    reading = pieces.ratings.student.astype(np.int64) * ratings.n_raters + ratings.rater
    return bool(pl.Series(reading).n_unique() == len(pieces.student))
