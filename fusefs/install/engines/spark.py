"""Not run by the project's tests. Spark: counts the records of a data set. spark-submit spark.py FILE..."""
import subprocess
import sys

from pyspark.sql import SparkSession

N = 64
files = sys.argv[1:]
cat = ["recordfs", "cat", "--lines", "--skip-damage", "--skipped", "/dev/stderr"]
spark = SparkSession.builder.getOrCreate().sparkContext
lines = spark.parallelize(range(N), N).flatMap(
    lambda i: subprocess.run([*cat, "--split", f"{i}/{N}", *files], stdout=subprocess.PIPE, check=True).stdout.splitlines())
print(lines.count())
