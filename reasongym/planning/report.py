"""A plan as `reasongym plan` shows it: tables for a terminal, and one object for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from reasongym.planning.budgets import Budget
from reasongym.planning.hardware import GIB, Hardware
from reasongym.planning.memory import DTYPE_BYTES
from reasongym.planning.rates import MEANINGS, Rates
from reasongym.planning.record import Plan
from reasongym.planning.remedies import Remedy
from reasongym.planning.roles import Role
from reasongym.planning.timing import StepTime

__all__ = ["Findings", "as_dict", "as_text"]

LABEL, COLUMN = 52, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """A plan, and what was found of it. lacking: places that do not hold what is needed, with what helps each."""

    plan: Plan
    roles: tuple[Role, ...]
    rates: Rates
    step: StepTime | None
    lacking: tuple[tuple[Budget, tuple[Remedy, ...]], ...]

    @property
    def fits(self) -> bool:
        return not self.lacking


def as_dict(found: Findings) -> dict[str, object]:
    """For JSON. Bytes and seconds; a KV cache that lacks is counted in tokens."""
    plan = found.plan
    return {
        "fits": found.fits,
        "known": plan.shape is not None,
        "model": None if plan.shape is None else {**asdict(plan.shape), "parameters": plan.shape.parameters},
        "device": plan.device, "dtype": plan.dtype, "transport": plan.transport,
        "nodes": plan.config.resources.nodes, "machine": _machine(plan.hardware),
        "placement": [asdict(slot) for slot in plan.placement],
        "roles": [role.as_dict() for role in found.roles],
        "places": [_place(budget) for budget in plan.budgets],
        "lacking": [{**_place(budget), "remedies": [asdict(remedy) for remedy in helping]}
                    for budget, helping in found.lacking],
        "step_seconds": None if found.step is None else found.step.as_dict(),
        "assumed": found.rates.figures(),
        "warnings": list(plan.warnings),
    }


def as_text(found: Findings) -> str:
    """Several tables, and the verdict last."""
    plan = found.plan
    blocks = [list(_head(plan)), list(_roles(found.roles)), list(_places(plan.budgets)), list(_times(found))]
    if found.step is not None:
        blocks.append(list(_assumed(found.rates)))
    blocks += [[f"warning: {text}" for text in plan.warnings], list(_verdict(found))]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _place(budget: Budget) -> dict[str, object]:
    return {"place": budget.place, "where": budget.where, "needed": budget.needed, "capacity": budget.available,
            "free": budget.available - budget.needed, "fits": budget.fits}


def _head(plan: Plan) -> Iterator[str]:
    config, nodes = plan.config, plan.config.resources.nodes
    if plan.shape is None:
        yield f"{config.model.path}: of unknown size"
    else:
        weights = plan.shape.parameters * DTYPE_BYTES[plan.dtype]
        yield f"{plan.shape.name}: {plan.shape.parameters:,} parameters, {_gib(weights)} GiB in {plan.dtype}"
    lora = f", LoRA of rank {config.model.lora.rank}" if config.model.lora.rank else ""
    yield f"{config.algorithm.name} on {config.task.name}{lora}, ZeRO stage {config.trainer.zero_stage}"
    yield f"{nodes} x ({_machine(plan.hardware)})" if nodes > 1 else _machine(plan.hardware)


def _machine(hardware: Hardware) -> str:
    gpus = hardware.gpus
    first = f"{len(gpus)} x {gpus[0].name} of {gpus[0].memory_gib:.0f} GiB, " if gpus else ""
    return f"{first}{hardware.cores} cores, {hardware.memory_gib:,.1f} GiB memory"


def _roles(roles: Sequence[Role]) -> Iterator[str]:
    if not roles:
        return
    yield _row("One process of each role, in GiB", (role.name for role in roles), indent="")
    yield _row("processes", (str(role.count) for role in roles))
    yield _row("on", (role.devices for role in roles))
    yield from _parts(roles, "always")
    for moment in dict.fromkeys(moment for role in roles for moment in role.turns):
        yield from _turn(roles, moment)
    yield _row("total at its fullest", (_gib(role.total) for role in roles))
    if any(role.capacity for role in roles):
        yield _row("capacity of its device", (_gib(role.capacity) for role in roles))
        yield _row("free", (_gib(role.free) for role in roles))
    if any(any(role.host.values()) for role in roles):
        yield "  in host memory"
        yield from _parts(roles, "host", indent="    ")


def _turn(roles: Sequence[Role], moment: str) -> Iterator[str]:
    sums = [sum(role.turns.get(moment, {}).values()) for role in roles]
    if any(sums):
        yield f"  {moment}, in turn"
        for part in dict.fromkeys(part for role in roles for part in role.turns.get(moment, {})):
            counts = [role.turns.get(moment, {}).get(part, 0) for role in roles]
            if any(counts):
                yield _row(part, map(_gib, counts), indent="    ")


def _parts(roles: Sequence[Role], group: str, indent: str = "  ") -> Iterator[str]:
    for part in dict.fromkeys(part for role in roles for part in getattr(role, group)):
        counts = [getattr(role, group).get(part, 0) for role in roles]
        if any(counts):
            yield _row(part, map(_gib, counts), indent=indent)


def _places(budgets: Sequence[Budget]) -> Iterator[str]:
    if budgets:
        yield _row("Places, the fullest of each kind, in GiB", ("needed", "capacity", "free"), indent="", column=12)
    for budget in budgets:
        figures = (budget.needed, budget.available, budget.available - budget.needed)
        yield _row(budget.where, map(_gib, figures), column=12)


def _times(found: Findings) -> Iterator[str]:
    step = found.step
    if step is None:
        return
    yield _row("A step, in seconds", (f"{step.total:,.1f}",), indent="", column=12)
    sampled = f"{step.sampled_tokens:,} tokens at {step.engine_tokens_per_s:,.0f}/s an engine"
    for label, seconds in ((f"sampling {sampled}", step.sampling), ("scoring under fixed policies", step.scoring),
                           (f"training on {step.trained_tokens:,} tokens", step.training),
                           ("waiting for other ranks", step.communication), ("optimizer", step.optimizer),
                           ("weights to the engines", step.sync)):
        if seconds:
            yield _row(label, (f"{seconds:,.1f}",), column=12)
    if step.together:
        yield "  engines sample while ranks train: the longer of the two counts"


def _assumed(rates: Rates) -> Iterator[str]:
    gpu = {"": "", "unknown": "; this GPU is not known: the peak and speeds are low guesses"}.get(
        rates.gpu, f"; {rates.gpu} by its maker's data sheet")
    yield f"Assumed, and set with --assume NAME=NUMBER{gpu}"
    for name, value in rates.figures().items():
        yield f"  {name:<24}{value:>12,.4g}  {MEANINGS[name]}"
    yield "  Not counted: verifiers, evaluations, checkpoints, the first steps' compilation."


def _verdict(found: Findings) -> Iterator[str]:
    if found.fits:
        yield "It fits." if found.plan.shape else "It can be placed; its memory is not known."
    for budget, helping in found.lacking:
        unit = " tokens" if budget.place == "cache" else " GiB"
        yield (f"It does not fit: {budget.where} has {_amount(budget, budget.available)}{unit} and needs "
               f"{_amount(budget, budget.needed)}.")
        for remedy in helping:
            settings = " ".join(f"--set {setting}" for setting in remedy.settings)
            figures = f"{_amount(budget, remedy.needed)} of {_amount(budget, remedy.available)}{unit}"
            ending = ", and all fits" if remedy.settled else ", and this fits" if remedy.fits else ""
            yield f"  {settings}\n      {remedy.cost}; then {figures}{ending}"
        if not helping:
            yield f"  {budget.remedy}"


def _amount(budget: Budget, count: int) -> str:
    return f"{count:,}" if budget.place == "cache" else _gib(count)


def _row(label: str, cells: Iterable[str], indent: str = "  ", column: int = COLUMN) -> str:
    return f"{indent + label:<{LABEL}}" + "".join(f"{cell:>{column}}" for cell in cells)


def _gib(count: int | None) -> str:
    return f"{count / GIB:,.2f}" if count else "-"
