"""What to type so that a declared target is met. Every change is tried on the run before it is advised.

Multiplying out is not enough: a DeepSpeed file may pin the same accumulation, a group size may no longer divide the
rows, a flag may lie over the key. The run is read again with the change, by its own framework, and must then meet the
target and every other target that it met before, without a problem of a kind that it did not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.diagnosis import factor_between
from effbatch_lint.rules.change import Change, tried, typed
from effbatch_lint.targets.verdict import judge
from effbatch_lint.terms import counted, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.launch import Launch
    from effbatch_lint.recipe import Recipe
    from effbatch_lint.targets.target import Target
    from effbatch_lint.targets.verdict import Verdict
    from effbatch_lint.terms import Number, Term


def advice(batch: Batch, recipe: Recipe, target: Target, verdict: Verdict) -> str | None:
    """The change that reaches the target, or why none does; and the declaration that would be true."""
    computed = verdict.computed.value
    if computed is None or not computed:
        return None
    truth = declaration(target, computed, verdict.unit)
    words = target.words(verdict.unit)
    world = batch.layout.world
    devices = f" on {counted(world.value, 'devices')}" if world.known else ""
    for change in _changes(batch, target, computed, verdict.unit):
        text = typed(change, recipe)
        if text is not None and _reaches(change, batch, recipe, target):
            spoilt = _spoilt(change, recipe, target)
            but = f", and no longer on {shown(spoilt)}" if spoilt is not None else ""
            return f"{text} reaches {words}{devices}{but}; or {truth}"
    wanted = _devices(batch, recipe, target, computed)
    if wanted is not None:
        return f"with these settings {words} take {counted(wanted, 'devices')}; or {truth}"
    step = product(batch.micro, batch.layout.replicas)
    exact = verdict.unit == batch.unit and batch.global_batch is None and not target.tolerance
    if exact and step.value and not target.quantity.meets_multiple(step.value):
        why = f"no accumulation reaches {target.number}: a forward pass of all replicas takes {shown(step.value)}"
        return f"{why}; {truth}"
    return truth


def of_length(batch: Batch, recipe: Recipe, target: Target) -> str | None:
    """For a global batch that is stated in tokens: the tokens to declare, or those that make the declared items."""
    stated, length = batch.declared, batch.sequence_length
    if stated is None or stated.value is None or length is None or length.value is None:
        return None
    truth = f"{in_unit(target, shown(stated.value).replace(',', ''), 'tokens')}, which holds at every length"
    change = Change(stated, int(target.quantity.value * length.value))
    text = typed(change, recipe) if stated.how == "read" else None
    if text is None or not _reaches(change, batch, recipe, target):
        return truth
    return f"{truth}; or {text} for {target.words(batch.unit)} of {shown(length.value)} tokens"


def declaration(target: Target, number: Number, unit: str) -> str:
    """The declaration with another number, as it is written where this one stands."""
    plain, key = shown(number).replace(",", ""), target.origin.key or ""
    named = f'"{plain} {unit}"' if target.quantity.unit is not None else plain
    if target.kind == "argument":
        return f"give --target {named}"
    if target.kind == "config":
        path = target.origin.span.path if target.origin.span is not None else ""
        return f"write {key} = {plain}" if path.endswith(".toml") else f"write {key}: {plain}"
    if unit == "tokens" and not target.quantity.text.replace(",", "").replace("_", "").isdecimal():
        plain = _rounded(number) or plain
    if target.kind == "settings":
        if key == "target":
            return f"declare target = {named}"
        quoted = plain if plain.isdecimal() else f'"{plain}"'
        return f"declare {key.rpartition('.')[2]} = {quoted}"
    return f"declare tokens={plain}" if unit == "tokens" else f"declare target={plain}"


def in_unit(target: Target, number: str, unit: str) -> str:
    """The declaration of a number in another unit, as it is written where this one stands."""
    if target.kind == "argument":
        return f'give --target "{number} {unit}"'
    if target.kind == "settings":
        return f'declare target = "{number} {unit}"'
    if target.kind == "config" and unit == "tokens":
        return f"write target_tokens: {number}"
    if target.kind == "config":
        return f"write unit: {unit} beside target_global_batch"
    return f"declare tokens={number}" if unit == "tokens" else f"declare target={number} unit={unit}"


def _changes(batch: Batch, target: Target, computed: Number, unit: str) -> Iterator[Change]:
    """What could be changed, the accumulation first: it costs no memory and no devices."""
    fixed = batch.global_batch if batch.global_batch is not None else batch.declared
    terms = [batch.accumulation] if batch.global_batch is None else []
    terms += [fixed] if fixed is not None and fixed.how == "read" else []
    if unit == "tokens" and batch.sequence_length is not None:
        terms.append(batch.sequence_length)
    between = factor_between(target.quantity, computed)
    for term in terms:
        if term.key is None or not isinstance(term.value, int) or not term.value or term.how not in ("read", "default"):
            continue
        if between is not None and between.larger:
            yield Change(term, term.value * between.factor)
        elif between is not None and term.value % between.factor == 0:
            yield Change(term, term.value // between.factor)
        if term is not batch.sequence_length:
            near = target.quantity.value * term.value // computed
            yield from (Change(term, int(value)) for value in (near, near + 1) if value > 0)


def _reaches(change: Change, batch: Batch, recipe: Recipe, target: Target) -> bool:
    """Whether the run with the change meets the target, and all other targets that it met without."""
    return _meets(tried(change, recipe, recipe.launch), batch, recipe, target)


def _spoilt(change: Change, recipe: Recipe, target: Target) -> Number | None:
    """Another number of devices for which the recipe is checked, and for which the change would do away with the target."""
    for world in recipe.other_sizes:
        launch = recipe.launch._replace(world_size=world)
        before, after = _read(recipe, launch), tried(change, recipe, launch)
        if before is not None and judge(before, target).met and (after is None or not judge(after, target).met):
            return world.value
    return None


def _read(recipe: Recipe, launch: Launch) -> Batch | None:
    return None if recipe.framework is None else next(iter(recipe.framework.read(recipe.config, launch)), None)


def _meets(found: Batch | None, batch: Batch, recipe: Recipe, target: Target) -> bool:
    if found is None or judge(found, target).kind != "meets":
        return False
    known = {problem.code for problem in batch.all_problems}
    others = (other for other in recipe.targets if judge(batch, other).met)
    return all(judge(found, other).met for other in others) and all(p.code in known for p in found.all_problems)


def _devices(batch: Batch, recipe: Recipe, target: Target, computed: Number) -> int | None:
    """The number of devices on which the target is met: a multiple or a part of the present one, and several replicas."""
    world, replica = batch.layout.world, batch.layout.model_parallel
    if not world.value or batch.global_batch is not None:
        return None
    wanted, rest = divmod(target.quantity.value * world.value, computed)
    if rest or wanted == replica.value or (wanted % world.value and world.value % wanted):
        return None
    found = _read(recipe, _on(recipe.launch, world, int(wanted)))
    return int(wanted) if _meets(found, batch, recipe, target) else None


def _on(launch: Launch, world: Term, wanted: int) -> Launch:
    """The launch on another number of devices: whole nodes where it states how many a node has."""
    launch = launch._replace(world_size=world._replace(value=wanted, how="declared"))
    each = launch.devices_per_node.value
    if not each or not launch.nodes.known:
        return launch
    nodes, size = (wanted // each, each) if wanted % each == 0 else (1, wanted)
    return launch._replace(
        nodes=launch.nodes._replace(value=nodes), devices_per_node=launch.devices_per_node._replace(value=size)
    )


def _rounded(number: Number) -> str | None:
    """The number with a suffix and at most one decimal, which it meets: ``8.4M`` for 8,388,608; None below 1,000."""
    for power, suffix in ((3, "B"), (2, "M"), (1, "K")):
        if number >= 1000**power:
            tenths = (number * 10 + 1000**power // 2) // 1000**power
            return f"{tenths // 10}{f'.{tenths % 10}' if tenths % 10 else ''}{suffix}"
    return None
