"""The equation of the effective batch, and nothing of any framework.

    B = micro batch x accumulation x replicas          items per optimizer step
    replicas = world size / (tensor x pipeline x context)
    T = B x sequence length                            tokens per optimizer step

Everything is a :class:`~effbatch_lint.terms.Term`: what is not known stays unknown, with its reason.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from effbatch_lint.terms import ONE, Term, exact, floor, number, product, shown, unknown

Unit = Literal[
    "sequences", "samples", "pairs", "completions", "prompts", "images", "utterances", "tokens", "seconds", "bins"
]


class Problem(NamedTuple):
    """Something that the framework itself would say, or should say and does not.

    Attributes:
        code: the rule that reports it (EB201, EB301, ...).
        message: one sentence with the numbers.
        terms: the numbers it speaks of; the first one is where the finding points.
        refuses: whether the framework stops at start because of it; then there is no batch.
        help: what to change.
    """

    code: str
    message: str
    terms: tuple[Term, ...] = ()
    refuses: bool = False
    help: str | None = None

    def as_dict(self) -> dict[str, object]:
        """The contract's form of a problem."""
        return {"code": self.code, "message": self.message}


class Stage(NamedTuple):
    """A stage of a batch ramp: from ``start`` (in ``unit``: samples, tokens, epochs) on, ``effective_batch`` items."""

    start: int
    unit: str
    effective_batch: Term

    def as_dict(self) -> dict[str, object]:
        """The contract's form of a stage."""
        return {"from": self.start, "from_unit": self.unit, "effective_batch": number(self.effective_batch.value)}


class Layout(NamedTuple):
    """How the devices are divided. ``context`` is every degree that splits one sequence over ranks of its own.

    Expert parallelism borrows data-parallel ranks in every framework read so far, and has no place here.
    """

    world: Term
    replicas: Term
    tensor: Term = ONE
    pipeline: Term = ONE
    context: Term = ONE
    problems: tuple[Problem, ...] = ()

    @classmethod
    def of_world(
        cls,
        world: Term,
        *,
        tensor: Term = ONE,
        pipeline: Term = ONE,
        context: Term = ONE,
        rounding: Literal["exact", "floor"] = "exact",
    ) -> Layout:
        """Replicas from the number of devices: ``world / (tensor x pipeline x context)``.

        ``exact`` reports a remainder as EB201 and leaves the replicas unknown, as frameworks that assert do;
        ``floor`` drops the devices left over, as HF Trainer does.
        """
        degrees = (("tensor", tensor), ("pipeline", pipeline), ("context", context))
        model = product(tensor, pipeline, context)
        devices = f"{shown(world.value)} device{'' if world.value == 1 else 's'}"
        text = " / ".join(
            [
                devices,
                *(f"{shown(t.value)} {name}" for name, t in degrees if t.value != 1),
            ]
        )
        rule = exact if rounding == "exact" else floor
        replicas = rule(world, model)
        if replicas.known:
            return cls(world, replicas.because(text), tensor, pipeline, context)
        problems: tuple[Problem, ...] = ()
        # A degree that is not known is a whole number: it mends no remainder that the others leave.
        known = [(name, term) for name, term in degrees if term.known]
        held = product(*(term for _, term in known))
        if world.known and not exact(world, held).known:
            some = "" if model.known else "a multiple of "
            split = " x ".join(f"{shown(t.value)} ({t.key or name})" for name, t in known if t.value != 1)
            problems = (
                Problem(
                    "EB201",
                    f"{devices} cannot be divided into replicas of {some}{shown(held.value)}: {split}",
                    (*(t for _, t in known if t.value != 1), world),
                    refuses=True,
                    help=f"use a multiple of {shown(held.value)} devices, or smaller model-parallel degrees",
                ),
            )
        return cls(world, replicas._replace(formula=text), tensor, pipeline, context, problems)

    @classmethod
    def of_replicas(
        cls,
        replicas: Term,
        *,
        world: Term | None = None,
        tensor: Term = ONE,
        pipeline: Term = ONE,
        context: Term = ONE,
        refuses: bool = True,
    ) -> Layout:
        """Replicas as the config states them; a world size that contradicts them is reported as EB202."""
        model = product(tensor, pipeline, context)
        needed = product(replicas, model)
        if world is None or not world.known:
            return cls(needed.named("world_size"), replicas, tensor, pipeline, context)
        problems: tuple[Problem, ...] = ()
        if needed.known and needed.value != world.value:
            problems = (
                Problem(
                    "EB202",
                    f"{shown(replicas.value)} replicas of {shown(model.value)} devices need {shown(needed.value)} "
                    f"devices, and the job has {shown(world.value)}",
                    (replicas, world, *(t for t in (tensor, pipeline, context) if t.value != 1)),
                    refuses=refuses,
                    help=f"start it on {shown(needed.value)} devices, or set {replicas.key or 'the replicas'} to "
                    "devices / model-parallel",
                ),
            )
        return cls(world, replicas, tensor, pipeline, context, problems)

    @property
    def model_parallel(self) -> Term:
        """Devices that hold one replica together."""
        return product(self.tensor, self.pipeline, self.context)


class Batch(NamedTuple):
    """What one optimizer step of one optimizer consumes.

    Attributes:
        micro: items per replica and forward pass.
        accumulation: forward passes per optimizer step.
        layout: the devices and the replicas they form.
        sequence_length: tokens per sequence; None where items have no token count (images).
        unit: what an item is.
        sequences_per_item: 2 for preference pairs.
        global_batch: B where the framework fixes it instead of multiplying it out.
        declared: the framework's own key for the global batch, where the config sets it.
        tokens: T where it is not B x L.
        tokens_bound: whether T is exact or an upper bound (padding, variable length).
        schedule: the stages of a ramp; the numbers above are those of its last stage.
        items_per_prompt: completions per prompt, for reinforcement learning.
        problems: what the framework's checks and traps say.
        profile: the era of keys or the unit, where a framework has several.
    """

    micro: Term
    accumulation: Term
    layout: Layout
    sequence_length: Term | None = None
    name: str = "train"
    unit: Unit = "sequences"
    sequences_per_item: int = 1
    global_batch: Term | None = None
    declared: Term | None = None
    tokens: Term | None = None
    tokens_bound: Literal["exact", "at most"] = "exact"
    schedule: tuple[Stage, ...] = ()
    items_per_prompt: Term | None = None
    problems: tuple[Problem, ...] = ()
    profile: str | None = None

    @property
    def all_problems(self) -> tuple[Problem, ...]:
        """The layout's problems and the framework's, each once; else a factor that makes no batch."""
        found = tuple(dict.fromkeys((*self.layout.problems, *self.problems)))
        return found if any(problem.refuses for problem in found) else (*found, *self._too_small())

    def _too_small(self) -> tuple[Problem, ...]:
        """A factor of 0 or below, which no framework trains with, whether it checks or divides by it."""
        layout = self.layout
        degrees = {"tensor": layout.tensor, "pipeline": layout.pipeline, "context": layout.context}
        factors = {
            "micro batch": self.micro, "accumulation": self.accumulation, **degrees, "replicas": layout.replicas,
            "global batch": self.global_batch,
        }  # fmt: skip
        for name, term in factors.items():
            if term is not None and term.value is not None and term.value <= 0:
                message = f"{term.key or name} is {shown(term.value)}, and no step can be made of less than 1"
                return (Problem("EB304", message, (term,), refuses=True, help=f"set {term.key or name} to 1 or more"),)
        return ()

    @property
    def refused(self) -> str | None:
        """Why the framework stops at start with this configuration, or None."""
        return next((problem.message for problem in self.all_problems if problem.refuses), None)

    @property
    def per_replica(self) -> Term:
        """Items that one replica contributes to a step: micro batch x accumulation."""
        return product(self.micro, self.accumulation)

    @property
    def effective(self) -> Term:
        """B, in items of ``unit`` per optimizer step."""
        if self.refused is not None:
            return unknown(f"the framework refuses to start: {self.refused}")
        if self.global_batch is not None:
            return self.global_batch
        return product(self.micro, self.accumulation, self.layout.replicas)

    @property
    def stated_in_tokens(self) -> bool:
        """Whether the framework's own key for the global batch counts tokens, and the items follow from their length."""
        return self.declared is not None and self.declared == self.tokens and self.unit != "tokens"

    @property
    def tokens_per_step(self) -> Term | None:
        """T, in tokens per optimizer step (at most, when ``tokens_bound`` says so); None where items have none."""
        tokens, length = self._tokens(), self.sequence_length
        if tokens is None or tokens.value is None or tokens.value > 0:
            return tokens
        written = tokens if length is None else length
        return unknown(f"{written.key or 'the length'} is {shown(written.value)}, which limits no row", *tokens.origins)

    def _tokens(self) -> Term | None:
        if self.refused is not None:
            return None if self.sequence_length is None else self.effective
        if self.tokens is not None:
            return self.tokens
        if self.unit == "tokens":
            return self.effective
        if self.sequence_length is None:
            return None
        if self.sequences_per_item == 1:
            return product(self.effective, self.sequence_length)
        doubled = Term(self.sequences_per_item, "derived", key="sequences per item")
        return product(doubled, self.effective, self.sequence_length)

    def terms(self) -> dict[str, Term]:
        """Every number of the batch by its name in the contract."""
        layout = self.layout
        named = {
            "world_size": layout.world,
            "micro_batch": self.micro,
            "accumulation": self.accumulation,
            "data_parallel": layout.replicas,
            "tensor_parallel": layout.tensor,
            "pipeline_parallel": layout.pipeline,
            "context_parallel": layout.context,
            "batch_per_replica": self.per_replica,
            "effective_batch": self.effective,
        }
        tokens = self.tokens_per_step
        if self.sequence_length is not None:
            named["sequence_length"] = self.sequence_length
        if tokens is not None:
            named["tokens_per_step"] = tokens
        if self.declared is not None:
            named["declared_global_batch"] = self.declared
        return named

    def as_dict(self) -> dict[str, object]:
        """The contract's form of a batch."""
        terms = self.terms()
        numbers: dict[str, object] = {
            name: number(terms[name].value) if name in terms else None
            for name in (
                "world_size", "micro_batch", "accumulation", "data_parallel", "tensor_parallel", "pipeline_parallel",
                "context_parallel", "batch_per_replica", "effective_batch", "sequence_length", "tokens_per_step",
                "declared_global_batch",
            )
        }  # fmt: skip
        return {
            "name": self.name,
            "unit": self.unit,
            **numbers,
            "tokens_bound": self.tokens_bound if numbers["tokens_per_step"] is not None else None,
            "schedule": [stage.as_dict() for stage in self.schedule],
            "refused": self.refused,
            "problems": [problem.as_dict() for problem in self.all_problems],
            "terms": {name: term.as_dict() for name, term in terms.items()},
        }
