"""Predictions as a JSON document."""

from dataclasses import dataclass

from ..document import Document
from .predict import Predicted


@dataclass(frozen=True, kw_only=True)
class PredictionDocument(Document):
    """What ``report --predict`` tells."""

    predictions: tuple[Predicted, ...]
