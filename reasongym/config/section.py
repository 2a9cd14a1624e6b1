"""What every part of the configuration is made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Fraction01", "LearningRate", "Natural", "NonNegative", "Positive", "PositiveFloat", "Section"]

Positive = Annotated[int, Field(gt=0)]
Natural = Annotated[int, Field(ge=0)]
PositiveFloat = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
LearningRate = Annotated[float, Field(gt=0, le=1)]
Fraction01 = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """Frozen; an unknown key, infinity and NaN are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    @classmethod
    def meaning(cls, key: str) -> str:
        """What a key means; one that only has another default here means what it does where it was described."""
        found = (model.model_fields[key].description for model in cls.__mro__
                 if issubclass(model, BaseModel) and key in model.model_fields)
        return " ".join(next((text for text in found if text), "").split())
