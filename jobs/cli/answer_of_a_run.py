"""What a command that publishes days prints at the end: facts of its flows, then each night as `show night` does."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jobs.errors import LakeError, UsageError
from jobs.settings.model import Settings
from jobs.text.progress import Progress
from jobs.text.redaction import redacted
from jobs.text.terminal import one_line
from jobs.text.whole_file import write_whole
from jobs.uri import local_folder

if TYPE_CHECKING:  # they import Spark, and what reads Delta
    from pyspark.sql import SparkSession

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

    @cached_property
    def nights(self) -> list[Digest] | None:
        """The published nights; None, and a sentence on stderr, where the lake cannot be read without Spark.

        None also after a signal, which nobody should wait for. The days are published by then, so a failure to read
        them back is not an error.
        """
        from jobs.spark.interruption import Interrupted

        if not self.facts:
            return []
        if isinstance(sys.exception(), Interrupted):
            return None
        nights = None
        with said_alone("published, but the night cannot be read back", "; ask faultline show night"):
            from jobs.answers.digest import digests
            from jobs.answers.store import storage_options

            clusters = sorted({cluster for facts in self.facts for cluster in facts.clusters})
            options = storage_options(self.settings.lake, self.spark_settings)
            with self.progress.step("reading the answers"):
                nights = digests(self.settings.lake, clusters, self.run.days, options, self.settings.owners)
        return nights

    def as_text(self) -> str:
        """Facts, nights, and where the tables are."""
        from jobs.answers.digest_text import nights_text
        from jobs.runs.facts import facts_text

        lake = one_line(redacted(self.settings.lake))
        where = f"Tables are in {lake} (Delta); ask them with faultline show, faultline report, or SQL (docs/sql.md)."
        facts = "\n".join(map(facts_text, self.facts))
        return "\n\n".join([facts, *([nights_text(self.nights)] if self.nights else []), where])

    def as_object(self) -> dict[str, Any]:
        """The same; `nights` is None where they cannot be read."""
        return {
            "run_id": self.run.run_id,
            "lake": redacted(self.settings.lake),
            "flows": {facts.flow: asdict(facts) for facts in self.facts},
            "nights": None if self.nights is None else [asdict(night) for night in self.nights],
        }

    def as_json(self) -> str:
        """The same as one JSON object."""
        return json.dumps(self.as_object(), indent=1)

    @contextmanager
    def written(self, spark: SparkSession, uri: str | None) -> Iterator[None]:
        """Write the answer as JSON after the block, to a file or URI if one is given.

        When one flow has published and the other fails, its answer is written too; the failure counts.

        Raises:
            PlatformError: Spark lacks a jar of the store; before the block.
            LakeError: it cannot be written.
        """
        from jobs.spark.store_jars import check_stores

        check_stores(spark, [uri or ""])
        try:
            yield
        finally:
            if uri and self.facts:
                self._write(spark, uri, is_failing=sys.exception() is not None)

    def _write(self, spark: SparkSession, uri: str, *, is_failing: bool) -> None:
        from jobs.spark.interruption import give_back
        from jobs.spark.store_folder import StoreFolder

        give_back()  # after a signal, too
        file, text = local_folder(uri), f"{self.as_json()}\n"
        try:
            if file is None:
                folder, _, name = uri.rpartition("/")
                StoreFolder(spark, folder).replace(name, text.encode())
            else:
                write_whole(file, text)
        except OSError as error:
            sentence = (
                f"published, but the answer cannot be written to {uri}: {error.strerror or error}; free or make its"
                " place, and ask faultline show night --json"
            )
            if not is_failing:
                raise LakeError(sentence) from error
            self.progress.say(f"warning: {sentence}")


@contextmanager
def said_alone(what: str, fix: str = "") -> Iterator[None]:
    """A failure in the block is a sentence on stderr, and changes nothing of how the command ends."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, the night counts
        why = one_line(redacted(f"{error}" or type(error).__name__))
        sys.stderr.write(f"faultline: {what}: {why}{fix}\n")


def check_json_to(uri: str | None) -> None:
    """Refuse a local file whose folder does not exist, before a night is spent.

    Raises:
        UsageError: there is no such folder, or it is one itself.
    """
    file = local_folder(uri) if uri else None
    if file and (file.is_dir() or not file.absolute().parent.is_dir()):
        raise UsageError(f"--json-to {uri} cannot be a file; name one in a folder that exists")
