"""No secret in what the program says: by name, by place, by value."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest

from jobs.cli import main as cli
from jobs.doctor.examination import Check, as_json, as_text
from jobs.errors import LakeError
from jobs.settings.load import load_settings
from jobs.text.progress import Progress
from jobs.text.redaction import is_secret, redacted, secrets_of

CANARY = "cAnAry/9+x"


@pytest.mark.parametrize(
    "text",
    [
        f"spark.hadoop.fs.s3a.secret.key={CANARY}",
        f"fs.s3a.access.key -> {CANARY}",
        f"('spark.hadoop.fs.s3a.session.token', '{CANARY}')",
        f"setting 'spark.a.token' is ['{CANARY}'] (list); it must be a text",
        f"setting 'spark.a.token' is '{CANARY}' (str)",
        f'{{"password": "{CANARY} and more"}}',
        f"fs.azure.account.key.site.dfs.core.windows.net={CANARY}==",
        f"fs.azure.sas.container.site: {CANARY}",
        f"-Djavax.net.ssl.trustStorePassword={CANARY}",
        f"AWS_SECRET_ACCESS_KEY={CANARY}",
        f"jdbc:postgresql://db/x?user=u&password={CANARY}",
        f"jdbc:sqlserver://db;user=u;pwd={CANARY}",
        f"s3a://AKIA:{CANARY}@bucket/lake",
        f"https://site/container?sv=1&sig={CANARY}&se=2",
        f"https://bucket/lake?X-Amz-Expires=9&X-Amz-Signature={CANARY}",
        f"https://bucket/lake?signature={CANARY}",
        f"error: token={CANARY}",
        f"Authorization: Bearer {CANARY}xyz",
        f"Authorization: Basic {CANARY}==",
        f"--set 'spark.hadoop.fs.s3a.secret.key={CANARY}' has no key",
        f"site.auth.pass={CANARY}",
        f"DB_PASS={CANARY}",
        f'{{"pass": "{CANARY}"}}',
        f"--pass={CANARY}",
        f"dbPass: {CANARY}",
        f"ssl.key.passphrase -> {CANARY}",
        f"keytool -storepass={CANARY}",
        f"-Xmx4g -Djavax.net.ssl.keyStorePassword={CANARY} -Dx=y",
        f"pwd={CANARY}",
        f"userPwd={CANARY}",
        f"MYSQL_PWD={CANARY}",
        f"SharedAccessKey={CANARY}",
    ],
)
def test_a_secret_is_hidden_by_its_name_or_place(text: str) -> None:
    assert "cAnAry" in text
    assert "cAnAry" not in redacted(text)
    assert "…" in redacted(text)


@pytest.mark.parametrize(
    "text",
    [
        "hdfs://namenode:8020/lake/x@y",
        "abfss://container@account.dfs.core.windows.net/lake",
        "cannot read /data/sends.jsonl; give another",
        "a disaster: 3 brokers",
        "order_key = 17",
        "a group sent no key: check",
        "bypass=true-or-false, shuffle.bypass = 200, spark.shuffle.sort.bypassMergeThreshold=200",
        "compass=northward, gps.compass: northward, encompass=everything",
        "ftp.passive=enabled, passive: enabled, passed=17, passenger.name=nobody",
        "tokenizer=standard, index.tokenizer.class -> standard, tokenization: simple",
        "first pass: 12 rows, two.pass.sort=enabled, pass_rate=0.5",
        "PWD=/home/ops and OLDPWD=/home/else",
        "keyboard=english, monkey=brown, sort.key = 17",
    ],
)
def test_what_is_not_a_secret_stays(text: str) -> None:
    assert redacted(text) == text


def test_a_known_secret_is_hidden_wherever_it_stands() -> None:
    assert redacted(f"Invalid header {CANARY}!", {CANARY}) == "Invalid header …!"
    longer = f"{CANARY}-longer"
    assert redacted(f"{longer} {CANARY}", [CANARY, longer]) == "… …"


def test_secrets_are_known_by_the_names_of_settings_and_variables(tmp_path: Path) -> None:
    named = {
        "spark.hadoop.fs.s3a.secret.key": CANARY,
        "AWS_SESSION_TOKEN": "session-canary",
        "PWD": "/somewhere",
        "USE_TOKEN": "true",
        "TOKEN_FILE": str(tmp_path),
        "spark.sql.shuffle.partitions": "123456",
    }
    assert secrets_of(named) == {CANARY, "session-canary"}
    options = {"spark.driver.extraJavaOptions": f"-Xss4m -Djavax.net.ssl.keyStorePassword='{CANARY}' -Da.pass=short"}
    assert secrets_of(options) == {CANARY}
    assert [name for name in ("PWD", "OLDPWD", "MONKEY", "spark.driver.memory") if is_secret(name)] == []


def test_a_long_hostile_text_takes_no_time() -> None:
    began = time.monotonic()
    for text in ("a" * 200_000, "secret" * 40_000, "://a:" * 20_000, "token=" * 40_000, "'" * 200_000):
        redacted(text)
    assert time.monotonic() - began < 30  # going back at each letter would take hours


def test_the_hash_of_the_settings_reveals_no_secret() -> None:
    def hash_of(*assignments: str) -> str:
        return load_settings([], ["lake=x", *assignments], {}).content_hash()

    assert hash_of(f"spark.hadoop.fs.s3a.secret.key={CANARY}") == hash_of()
    assert hash_of("spark.sql.shuffle.partitions=5") == hash_of()


@pytest.mark.usefixtures("own_folder")
def test_the_plan_shows_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "site.toml").write_text(
        f"""
        lake = "s3a://AKIA:{CANARY}@bucket/lake"
        inputs.sends = "s3a://AKIA:{CANARY}@bucket/sends"
        [spark.hadoop.fs.s3a]
        "secret.key" = "{CANARY}"
        [spark]
        "driver.extraJavaOptions" = "-Djavax.net.ssl.keyStorePassword={CANARY} -Dsite.auth.pass={CANARY}"
        "site.auth.pass" = "{CANARY}"
        "site.key.passphrase" = "{CANARY}"
        "site.index.tokenizer" = "standard"
        "hadoop.site.url" = "jdbc:x://h/d?password={CANARY}"
        """
    )
    assert cli.main(["plan", "nightly", "--settings", "site.toml", "--date", "2026-11-21"]) == 0
    said = capsys.readouterr()
    assert "cAnAry" not in said.out + said.err
    assert "read     sends: s3a://AKIA:…@bucket/sends" in said.out
    assert "spark.driver.extraJavaOptions = '-Djavax.net.ssl.keyStorePassword=… -Dsite.auth.pass=…'" in said.out
    assert "spark.site.index.tokenizer = 'standard'" in said.out


@pytest.mark.usefixtures("own_folder")
@pytest.mark.parametrize("error", [LakeError, ValueError])
@pytest.mark.parametrize("options", [[], ["-v"]], ids=["quiet", "verbose"])
def test_an_error_and_its_trace_show_none(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
    options: list[str],
) -> None:
    def fail(*_: object, **__: object) -> None:
        cause = OSError(f"403 for {CANARY}, header variable-canary")
        raise error(f"cannot open s3a://AKIA:{CANARY}@bucket: {CANARY}") from cause

    monkeypatch.setenv("SITE_API_KEY", "variable-canary")
    monkeypatch.setattr("jobs.cli.publish.run_flows", fail)
    secret = f"spark.hadoop.fs.s3a.secret.key={CANARY}"
    assert cli.main(["nightly", "--lake", "x", "--date", "2026-11-21", "--set", secret, *options]) == 1
    said = capsys.readouterr()
    assert "cannot open s3a://AKIA:…@bucket: …" in said.err
    assert ("Traceback" in said.err) == bool(options)
    assert "403 for …, header …" in said.err or not options
    assert "cAnAry" not in said.out + said.err
    assert "variable-canary" not in said.err


@pytest.mark.usefixtures("own_folder")
@pytest.mark.parametrize("key", ["spark.hadoop.fs.s3a.secret.key", "spark.a.password"])
def test_a_mistake_in_the_settings_shows_none(capsys: pytest.CaptureFixture[str], key: str) -> None:
    assert cli.main(["plan", "nightly", "--lake", "x", "--set", f"{key}=['{CANARY}']"]) == 2
    said = capsys.readouterr().err
    assert f"setting 'spark.{key}'" in said or key in said
    assert "cAnAry" not in said


def test_progress_and_the_doctor_show_none() -> None:
    stream = io.StringIO()
    Progress(stream).say(f"lake s3a://AKIA:{CANARY}@bucket")
    assert stream.getvalue() == "lake s3a://AKIA:…@bucket\n"
    checks = [Check("lake", is_ok=False, found=f"s3a://AKIA:{CANARY}@bucket cannot be reached", fix="mend it")]
    for said in (as_text(checks), as_json(checks)):
        assert "cAnAry" not in said
        assert "cannot be reached" in said


@pytest.mark.usefixtures("own_folder")
def test_a_long_secret_is_hidden_before_what_is_said_is_shortened(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "cAnAry" * 1_000

    def fail(*_: object, **__: object) -> None:
        raise LakeError(f"403 for {token}")

    monkeypatch.setattr("jobs.cli.publish.run_flows", fail)
    secret = ["--set", f"spark.site.token={token}"]
    assert cli.main(["nightly", "--lake", "x", "--date", "2026-11-21", *secret]) == 1
    assert capsys.readouterr().err == "faultline: 403 for …\n"
    assert cli.main(["plan", "nightly", "--lake", "x", *secret, "--set", f"cluster={token}"]) == 0
    plan = capsys.readouterr().out
    assert "spark.site.token = '…'" in plan
    assert "cAnAry" not in plan


def test_the_parser_shows_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["nightly", f"--password={CANARY}"]) == 2
    assert capsys.readouterr().err == "faultline: unknown option '--password'; see faultline nightly --help\n"
