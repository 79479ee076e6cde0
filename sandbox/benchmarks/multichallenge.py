"""MultiChallenge: the last turn of a written dialogue is answered, and one yes/no question decides on that answer alone.

Source: Sirdeshmukh et al. 2025, arXiv 2501.17399, and the authors' repository at 5ccefcc. 273 dialogues on four axes; the
score is the unweighted mean of the axes' pass rates. An answer passes if the verdict equals PASS_CRITERIA (all 273 are YES;
the rule is equality all the same). (R) marks our own reading.

- With k attempts a question counts as passed if any attempt passed: that is pass@k, and is called so. Beside it stand
  pass^k (all attempts passed) and the mean of the attempts, which is what compares with one attempt.
- Sampling: temperature 0 and nothing else, as the repository's own command. Output limit 16,384 tokens, reasoning
  included (R: none is published; an answer cut off at a lower one would be the limit's failure and not the model's).
- Judge: gpt-4o-2024-08-06, temperature 0, at most 4,096 tokens.
- A row with REFERENCE_ANSWER, as in the bundled ones, brings an answer that must pass; the published rows have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sandbox.benchmarks.benchmark import Benchmark, Loaded, PublishedForm, SourceResolver
from sandbox.loading.dialogues import Dialogue, dialogue_facts, load_dialogues
from sandbox.loading.locate import located
from sandbox.loading.responses import Texts, read_responses, response_notes, sessions_of
from sandbox.measuring.measures import Average, Fold, Measure, Measures, criterion_value
from sandbox.sample import Criterion, Gold, Sample, Script
from sandbox.settings import RunSettings
from tools.tool import SetupError

NOT_SENT = ("top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty")
KNOWLEDGE = "needs_knowledge"


def load(settings: RunSettings, _: SourceResolver | None) -> Loaded:
    """The dialogues of `settings.data`, with the answers of `settings.responses` where it names a file.

    Raises SetupError for everything that is wrong with either.
    """
    if settings.data is None:
        raise SetupError(
            f"{settings.benchmark} needs the dialogues: --data PATH (JSON Lines, JSON, Parquet, hf:OWNER/NAME)"
        )
    if settings.fields is not None:
        raise SetupError(
            f"{settings.benchmark} reads no field map: name the columns QUESTION_ID, AXIS, CONVERSATION, TARGET_QUESTION "
            "and PASS_CRITERIA, in any case of letters"
        )
    data = located(settings.data)
    dialogues = load_dialogues(data.path)
    answers: dict[str, Texts] = {}
    notes: tuple[str, ...] = ()
    if settings.responses is not None:
        file = read_responses(Path(settings.responses), [row.id for row in dialogues.rows])
        answers.update(sessions_of(file, settings.repeats))
        notes = response_notes(file, settings.repeats, [row.id for row in dialogues.rows[: settings.limit]])
    return Loaded(
        samples=tuple(_sample(row, answers.get(row.id)) for row in dialogues.rows),
        path=data.source,
        n_rows=len(dialogues.rows),
        sha256=dialogues.sha256,
        unused=dialogues.unused,
        facts=dialogue_facts(dialogues.rows),
        notes=notes,
    )


def _sample(row: Dialogue, responses: Texts | None) -> Sample:
    *before, last = row.messages
    return Sample(
        id=row.id,
        question=last.content,
        script=Script(
            turns=(last.content,),
            history=tuple({"role": turn.role, "content": turn.content} for turn in before),
            tools=False,
            responses=responses,
        ),
        gold=Gold(row.reference, criterion=Criterion("criterion", row.target_question, (row.passes,))),
        task_type=row.axis,
        labels={KNOWLEDGE: row.needs_knowledge} if row.needs_knowledge else {},
    )


@dataclass(frozen=True, slots=True)
class _Named:
    """A way to fold attempts, as it is called: `key` over all questions, `by_axis` as the mean of the axes."""

    fold: Fold
    key: str
    by_axis: str
    title: str
    short: str
    attempts: int


def measures(settings: RunSettings) -> Measures:
    """The mean of the axes, then the rate over all questions; with k > 1 attempts each as pass@k, as mean and as pass^k.

    With one attempt the three are one number, which is called neither pass@k nor pass^k.
    """
    k = settings.repeats
    title = "Pass rate" if k == 1 else f"Mean of {k} attempts"
    named = [_Named("mean", "pass_rate", "axis_mean", title, "Pass", k)]
    if k > 1:
        at, hat = f"pass_at_{k}", f"pass_hat_{k}"
        named.insert(0, _Named("any", at, f"axis_mean_{at}", f"pass@{k}", f"pass@{k}", k))
        named.append(_Named("all", hat, f"axis_mean_{hat}", f"pass^{k}", f"pass^{k}", k))
    return (*(_measure(one, "types") for one in named), *(_measure(one, "questions") for one in named))


def _measure(named: _Named, average: Average) -> Measure:
    by_axis = average == "types"
    return Measure(
        name=named.by_axis if by_axis else named.key,
        title=f"{named.title}, {'mean of the axes' if by_axis else 'all questions'}",
        short=f"{named.short} ({'axes' if by_axis else 'all'})",
        value=criterion_value,
        rate=True,
        fold=named.fold,
        attempts=named.attempts,
        average=average,
        headline=by_axis and named.fold != "all",
    )


BENCHMARK = Benchmark(
    name="multichallenge",
    version="1",
    about="MultiChallenge: the last turn of an English dialogue, decided by one yes/no question",
    defaults={
        "search.engine": "none",
        "language": "en",
        "judge.language": "en",
        "judge.max_output_tokens": 4_096,
        "judge.thinking": "unsaid",
        "model.decode.temperature": 0.0,
        "model.decode.omit": NOT_SENT,
    },
    load=load,
    measures=measures,
    judgements=("criterion",),
    type_name="axis",
    mini={"data": "mini:multichallenge.jsonl"},
    published=PublishedForm(("axis_mean*",), "gpt-4o-2024-08-06", by_type=True),
)
