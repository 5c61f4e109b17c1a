"""Settings of Spark that act only while its JVM starts: passed to spark-submit, or refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.errors import SettingsError
from jobs.spark.at_launch import acting_later, submit_options
from jobs.spark.store_jars import lacks_jar

# As spark-submit has it on one machine, on YARN's client and in a container of YARN.
LOCAL = {"spark.jars": "file:///d/delta-spark.jar,file:///opt/s3.jar", "spark.master": "yarn"}
CLIENT = {"spark.yarn.dist.jars": "file:///d/delta-spark.jar,file:///opt/s3.jar"}
CONTAINER = {"spark.yarn.secondary.jars": "delta-spark.jar,s3.jar"}


@pytest.mark.parametrize("started", [LOCAL, CLIENT, CONTAINER])
@pytest.mark.parametrize("jars", ["/opt/s3.jar", "/opt/s3.jar,/d/delta-spark.jar", "hdfs:///site/s*.jar"])
def test_a_jar_that_spark_was_started_with_is_known_by_its_name(started: dict[str, str], jars: str) -> None:
    assert acting_later({"spark.jars": jars, "spark.ui.port": "1"}, started) == {"spark.ui.port": "1"}


def test_an_archive_is_known_by_its_name_and_the_folder_that_it_becomes() -> None:
    started = {"spark.archives": "file:///site/env.tar.gz#env"}
    assert acting_later({"spark.archives": "env.tar.gz#env"}, started) == {}
    with pytest.raises(SettingsError, match=r"--archives 'file:///site/env.tar.gz#env,env.tar.gz#other'"):
        acting_later({"spark.archives": "env.tar.gz#other"}, started)


@pytest.mark.parametrize("mode", ["client", "cluster"])
@pytest.mark.parametrize("key", ["spark.yarn.dist.archives", "spark.submit.pyFiles", "spark.files"])
def test_a_list_of_files_that_spark_submit_rewrote_is_known(key: str, mode: str) -> None:
    started = {key: "file:/d/other.zip,file:/opt/e.tgz#environment", "spark.submit.deployMode": mode}
    assert acting_later({key: "/opt/e.tgz#environment"}, started) == {}  # the longer list stays
    with pytest.raises(SettingsError, match=key):
        acting_later({key: "/opt/e.tgz#env"}, started)


def test_the_submitter_decides_master_and_deploy_mode() -> None:
    started = {"spark.master": "spark://a:7077", "spark.submit.deployMode": "client"}
    assert acting_later({"spark.master": "yarn", "spark.submit.deployMode": "cluster"}, started) == {}


@pytest.mark.parametrize("key", ["spark.yarn.queue", "spark.kubernetes.namespace"])
def test_in_deploy_mode_cluster_the_managers_settings_come_too_late(key: str) -> None:
    started = {"spark.submit.deployMode": "cluster", key: "x"}
    assert acting_later({key: "x"}, started) == {}
    with pytest.raises(SettingsError, match=key):
        acting_later({key: "y"}, started)


@pytest.mark.parametrize(
    "secret", ["spark.driver.extraJavaOptions=-Dx.password=y", "spark.jars.repositories=https://u:pw@host"]
)
def test_a_value_that_holds_a_secret_is_on_no_command_line(secret: str) -> None:
    plain = "spark.driver.extraJavaOptions=-Dx=y" if "Java" in secret else "spark.jars.repositories=https://host"
    assert submit_options(["nightly", "--set", secret], "delta.jar") == ["--jars", "delta.jar"]
    assert submit_options(["nightly", "--set", plain], "delta.jar") == ["--jars", "delta.jar", "--conf", plain]


def test_a_package_is_known_by_the_jar_that_it_became() -> None:
    started = {"spark.jars": "file:///home/u/.ivy2.5.2/jars/org.apache.hadoop_hadoop-aws-3.5.0.jar"}
    assert acting_later({"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.5.0"}, started) == {}
    with pytest.raises(SettingsError, match=r"--conf spark.jars.packages=org.apache.hadoop:hadoop-aws:3.4.0"):
        acting_later({"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.4.0"}, started)


def test_what_acts_only_at_launch_is_refused_by_name_with_the_options_for_spark_submit() -> None:
    site = {
        "spark.master": "yarn",
        "spark.driver.memory": "8g",
        "spark.driver.extraJavaOptions": "-Da=1 -Db=2",
        "spark.jars": "/opt/s3.jar,/opt/more.jar",
        "spark.driver.maxResultSize": "2g",
    }
    with pytest.raises(SettingsError) as refused:
        acting_later(site, LOCAL)
    assert str(refused.value) == (
        "spark-submit has started Spark without spark.driver.memory, spark.driver.extraJavaOptions, spark.jars of"
        " [spark], too late for Faultline to set; give spark-submit --conf spark.driver.memory=8g --conf"
        " 'spark.driver.extraJavaOptions=-Da=1 -Db=2' --jars"
        " file:///d/delta-spark.jar,file:///opt/s3.jar,/opt/s3.jar,/opt/more.jar"
    )
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("key", "is_late"),
    [
        ("spark.driver.memory", True),
        ("spark.driver.memoryOverhead", True),
        ("spark.driver.extraClassPath", True),
        ("spark.jars.packages", True),
        ("spark.submit.pyFiles", True),
        ("spark.yarn.queue", False),
        ("spark.kubernetes.namespace", False),
        ("spark.driver.maxResultSize", False),
        ("spark.executor.memory", False),
        ("spark.sql.shuffle.partitions", False),
        ("spark.hadoop.fs.s3a.endpoint", False),
    ],
)
def test_a_setting_acts_at_launch_or_later(key: str, *, is_late: bool) -> None:
    if is_late:
        with pytest.raises(SettingsError, match=key):
            acting_later({key: "x"}, {key: "y"})
    else:
        assert acting_later({key: "x"}, {key: "y"}) == {key: "x"}


@pytest.mark.usefixtures("own_folder")
def test_a_command_lines_settings_become_options_of_spark_submit() -> None:
    Path("site.toml").write_text(
        '[spark]\n"spark.jars" = "/opt/s3.jar"\n"spark.driver.memory" = "4g"\n"spark.ui.port" = "1"\n'
        '"spark.archives" = "env.tar.gz#env"\n'
        '"spark.kubernetes.authenticate.submission.oauthToken" = "hunter22"\n',
        encoding="utf-8",
    )
    words = ["nightly", "--settings=site.toml", "--json", "--set", "spark.driver.memory=8g", "--fail-on", "event"]
    jars, more = (
        ["--jars", "delta.jar,/opt/s3.jar"],
        ["--conf", "spark.driver.memory=8g", "--archives", "env.tar.gz#env"],
    )
    assert submit_options(words, "delta.jar") == [*jars, *more]
    assert submit_options(words, "delta.jar", to_cluster=True) == [*jars, "--files", "site.toml", *more]


@pytest.mark.parametrize("words", [["nightly"], ["nightly", "--settings"], ["nightly", "--set"], []])
def test_a_command_line_without_settings_passes_deltas_jars_alone(words: list[str]) -> None:
    assert submit_options(words, "delta.jar", to_cluster=True) == ["--jars", "delta.jar"]


def test_a_settings_file_for_a_driver_on_the_cluster_is_named_without_its_folder(tmp_path: Path) -> None:
    (tmp_path / "site.toml").touch()
    with pytest.raises(SettingsError, match=f"go to {tmp_path} and give --settings site.toml"):
        submit_options(["nightly", "--settings", f"{tmp_path}/site.toml"], "delta.jar", to_cluster=True)


@pytest.mark.parametrize(
    ("why", "jar", "module"),
    [
        ("ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found", "hadoop-aws", "aws"),
        ("NoClassDefFoundError: software/amazon/awssdk/core/X", "bundle (of the AWS SDK)", "aws"),
        ("ClassNotFoundException: Class org.apache.hadoop.fs.azurebfs.X not found", "hadoop-azure", "azure"),
    ],
)
def test_a_jar_that_a_store_needs_is_named_with_the_setting(why: str, jar: str, module: str) -> None:
    said = lacks_jar("s3a://b/lake", why, "3.5.0")
    assert said.startswith(f"s3a://b/lake needs the jar {jar}, which Spark lacks ({why}); set spark.jars.packages to")
    assert f"org.apache.hadoop:hadoop-{module}:3.5.0," in said
