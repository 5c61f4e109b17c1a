"""What a command that publishes days prints at the end: facts of its flows, then each night as `show night` does."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from jobs.settings.model import Settings
from jobs.text.progress import Progress
from jobs.text.redaction import redacted
from jobs.text.terminal import one_line

if TYPE_CHECKING:  # they import Spark, and what reads Delta
    from jobs.answers.digest import Digest
    from jobs.runs.facts import Facts
    from jobs.runs.run import Run


@dataclass
class Answer:
    """The answer of a run, gathered while it runs.

    Attributes:
        facts: of the flows that have published their days so far.
        spark_settings: of the session; they may hold secrets.
    """

    settings: Settings
    run: Run
    progress: Progress
    facts: list[Facts] = field(default_factory=list)
    spark_settings: dict[str, str] = field(default_factory=dict, repr=False)

    def nights(self) -> list[Digest] | None:
        """The published nights; None, and a sentence on stderr, where the lake cannot be read without Spark.

        The days are published by then, so a failure to read them back is not an error.
        """
        try:
            from jobs.answers.digest import digests
            from jobs.answers.store import storage_options

            clusters = sorted({cluster for facts in self.facts for cluster in facts.clusters})
            options = storage_options(self.settings.lake, self.spark_settings)
            with self.progress.step("reading the answers"):
                return digests(self.settings.lake, clusters, self.run.days, options, self.settings.owners)
        except Exception as error:  # noqa: BLE001 - see above
            why = one_line(redacted(f"{error}" or type(error).__name__))
            sys.stderr.write(
                f"faultline: published, but the night cannot be read back: {why}; ask faultline show night\n"
            )
            return None

    def as_text(self, nights: Sequence[Digest] | None) -> str:
        """Facts, nights, and where the tables are."""
        from jobs.answers.digest_text import nights_text
        from jobs.runs.facts import facts_text

        lake = one_line(redacted(self.settings.lake))
        where = f"Tables are in {lake} (Delta); ask them with faultline show, faultline report, or SQL (docs/sql.md)."
        facts = "\n".join(map(facts_text, self.facts))
        return "\n\n".join([facts, *([nights_text(nights)] if nights else []), where])

    def as_json(self, nights: Sequence[Digest] | None) -> str:
        """The same as one object; `nights` is null where they cannot be read."""
        told = {
            "run_id": self.run.run_id,
            "lake": redacted(self.settings.lake),
            "flows": {facts.flow: asdict(facts) for facts in self.facts},
            "nights": None if nights is None else [asdict(night) for night in nights],
        }
        return json.dumps(told, indent=1)
