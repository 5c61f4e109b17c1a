"""A mapping guessed from the names and values in the heads of a send log, as TOML to review and correct."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from jobs.check.fields import find_fields, plain
from jobs.check.heads import Head
from jobs.settings.inputs import SendsInput
from jobs.settings.send_fields import CLOSED, FIELD_KINDS, REQUIRED, TIMES, problem_of
from udfs.plain_outcome import OUTCOMES
from udfs.plain_written_time import plain_written_ms

_NAMES: Mapping[str, str] = {
    "client_id": "client producer instance producerid clientinstance instancename instanceid serviceinstanceid who",
    "producer_group": "group grp",
    "process_id": "process pid",
    "cluster": "clustername",
    "topic": "destination destinationname topicname",
    "broker_name": "broker",
    "broker_addr": "brokeraddress addr address endpoint remote",
    "queue_id": "queue qid",
    "client_version": "version ver sdkversion",
    "client_language": "language lang",
    "mode": "sendmode communicationmode sendtype how",
    "invoke_id": "invoke",
    "attempt": "try tries retry times",
    "started_at_ms": "start started startedat starttime begin begun begintime",
    "ended_at_ms": "end ended endedat endtime finish finished time timestamp ts at",
    "latency_ms": "latency cost costtime took elapsed duration rt responsetime",
    "submitted_at_ms": "submitted submittedat",
    "result_broker_name": "resultbroker",
    "outcome": "result status sendstatus sendresult state",
    "cause": "rootcause",
    "response_code": "code respcode",
    "error": "message errormessage exceptiontext",
    "msg_id": "messageid",
    "thread": "threadname",
    "queue_chosen_by": "chosenby",
    "one_line_per": "oneline",
    "previous_broker_name": "previousbroker",
    "seq": "sequence seqno no",
    "fault_latency_enabled": "faultlatency switch sendlatencyfaultenable sendlatencyenable",
    "detector_enabled": "detector startdetectorenable",
    "order_key": "shardingkey orderingkey",
}
_UNITS = {"ns": "ns", "nanos": "ns", "us": "us", "micros": "us", "ms": "ms", "millis": "ms", "s": "s", "sec": "s"}
_UNIT = re.compile(r"(?:[_ .-]((?i:ns|nanos|us|micros|ms|millis|s|sec))|(?<=[a-z])(Ns|Nanos|Us|Micros|Ms|Millis|Sec))$")
_NUMBER = re.compile(r"-?\d+(\.\d+)?$", re.ASCII)
_OTHER_WORDS = {
    "ok": "SEND_OK",
    "success": "SEND_OK",
    "succeeded": "SEND_OK",
    "timeout": "RemotingTimeoutException",
    "timedout": "RemotingTimeoutException",
    "s": "SYNC",
    "a": "ASYNC",
    "o": "ONEWAY",
    "on": "true",
    "off": "false",
    "enabled": "true",
    "disabled": "false",
}
_MOST_TEXTS = 10
_SECONDS, _MILLIS, _MICROS = 1e11, 1e14, 1e17  # a time since 1970 below these is in that unit


def propose(heads: Sequence[Head], sends: SendsInput) -> str:
    """Tables `[inputs.sends.fields]` and `[inputs.sends.values]`; existing mappings are kept."""
    texts = {
        column: Counter(text for head in heads for record in head.records if (text := record.get(column)))
        for column in dict.fromkeys(column for head in heads for column in head.columns)
    }
    constants = {name: source.value for name, source in sends.fields.items() if source.value is not None}
    columns = _guessed(texts, constants, sends)
    lines = [
        "# Guessed from the names and values in the first lines of the log: correct it, then pass it with",
        "# --settings beside your own, and run faultline check again.",
        "[inputs.sends.fields]",
        *(
            _field(column, columns[column], texts)
            for column in columns
            if column != columns[column] or _unit(column, column, texts)
        ),
        *(f"{name} = {{ value = {json.dumps(value, ensure_ascii=False)} }}" for name, value in constants.items()),
    ]
    if any(head.looks_like_csv for head in heads):
        lines.insert(2, '# The log looks like CSV: set [inputs.sends] format = "csv", or name it .csv, and try again.')
    found = find_fields(heads, sends)
    if found.looks_like_calls:
        lines[2:2] = ["[inputs.sends]", 'one_line_per = "call"  # long lines, and no failure has a broker', ""]
    lines += [
        f"# {column} is a list: no field can come from inside it; write a line for each send" for column in found.lists
    ]
    lines += [
        f"# {' or '.join(names)}: each line needs it, and no column looks like it"
        for names in REQUIRED
        if not {*columns, *constants} & {*names}
    ]
    rows = sum(len(head.records) for head in heads)
    for name, column in columns.items():
        lines += _values(name, texts[column], rows, sends)
    return "\n".join(lines)


def _guessed(texts: Mapping[str, Counter[str]], constants: Collection[str], sends: SendsInput) -> dict[str, str]:
    """Canonical field to column: from the settings, else by the same name, else by a synonym."""
    chosen = {name: source.column for name, source in sends.fields.items() if source.column in texts}
    left = [name for name in FIELD_KINDS if name not in chosen and name not in constants]
    own = {name: {plain(name), plain(name.removesuffix("_ms"))} for name in left}
    synonyms = {name: {*_NAMES[name].split()} for name in left}
    for words in (own, synonyms):
        for name in left:
            free = [column for column in texts if column not in chosen.values() and _may_be(name, texts[column])]
            alike = next((column for column in free if words[name] & _forms(column)), None)
            if name not in chosen and alike is not None:
                chosen[name] = alike
    return {name: chosen[name] for name in FIELD_KINDS if name in chosen}


def _may_be(name: str, texts: Counter[str]) -> bool:
    """Whether most of a column's texts can be values of the field, in some unit or translation."""
    if FIELD_KINDS[name] not in ("int", "long"):
        return True
    fitting = sum(
        count for text, count in texts.items() if _NUMBER.match(text) or (name in TIMES and plain_written_ms(text))
    )
    return 2 * fitting >= texts.total()


def _forms(column: str) -> set[str]:
    """The column's name and its last parts, lower case, without a unit."""
    parts = column.split(".")
    bare = _UNIT.sub("", parts[-1])
    return {plain("".join([*parts[place:-1], last])) for place in range(len(parts)) for last in (parts[-1], bare)}


def _field(name: str, column: str, texts: Mapping[str, Counter[str]]) -> str:
    unit = _unit(name, column, texts)
    source = f"{{ column = {_quoted(column)}, unit = {_quoted(unit)} }}" if unit else _quoted(column)
    example = next(iter(texts[column]), "")
    return f"{name} = {source}" + (f"  # such as {_comment(example)}" if example else "")


def _unit(name: str, column: str, texts: Mapping[str, Counter[str]]) -> str:
    """Unit of a time or duration; empty for milliseconds or none."""
    if name not in TIMES:
        return ""
    suffix = _UNIT.search(column)
    by_name = _UNITS.get((suffix[1] or suffix[2]).lower(), "") if suffix else ""
    example = next(iter(texts[column]), "")
    if name == "latency_ms" or not example:
        return by_name.replace("ms", "") or ("s" if any("." in text for text in texts[column]) else "")
    try:
        number = abs(float(example))
    except ValueError:
        return "iso8601"
    return "s" if number < _SECONDS else "" if number < _MILLIS else "us" if number < _MICROS else "ns"


def _values(name: str, texts: Counter[str], rows: int, sends: SendsInput) -> Iterator[str]:
    """The table of values for a field with a closed list, if the log has other values."""
    if name not in {*CLOSED, "outcome"} and FIELD_KINDS[name] != "boolean":
        return
    known = sends.translations(name)
    foreign = [text for text, _ in texts.most_common() if text not in known and problem_of(name, text)]
    without = rows - texts.total() if name == "outcome" and "" not in known else 0
    if not foreign and not known and not without:
        return
    yield f"\n[inputs.sends.values.{name}]"
    yield from (f"{_quoted(theirs)} = {_quoted(ours)}" for theirs, ours in known.items())
    if without:
        yield f'# "" = "SEND_OK"  # {without} lines have none: is that a success?'
    for text in foreign[:_MOST_TEXTS]:
        if ours := _ours(name, text):
            yield f"{_quoted(text)} = {_quoted(ours)}"
        else:
            yield f"# {_quoted(text)} = …  # {texts[text]} lines"


def _ours(name: str, text: str) -> str:
    """Our text with the same meaning; empty when there is none."""
    allowed = CLOSED.get(name, OUTCOMES if name == "outcome" else ("true", "false"))
    by_letters = {plain(value): value for value in allowed}
    if (same := by_letters.get(plain(text))) or (same := by_letters.get(f"{plain(text)}exception")):
        return same
    other = _OTHER_WORDS.get(plain(text), "")
    return other if other in allowed else ""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    """The start of the text, safe inside a comment."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:60])
