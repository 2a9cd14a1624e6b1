"""Memory and placement of a configuration, before anything starts. Loads no torch and starts nothing but nvidia-smi."""

from reasongym.planning.hardware import Gpu, Hardware
from reasongym.planning.known_shapes import KNOWN_SHAPES, shape_of
from reasongym.planning.plan import plan
from reasongym.planning.recipes import default_recipe
from reasongym.planning.record import Plan
from reasongym.planning.shapes import ModelShape

__all__ = ["KNOWN_SHAPES", "Gpu", "Hardware", "ModelShape", "Plan", "default_recipe", "plan", "shape_of"]
