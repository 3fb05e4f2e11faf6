"""Programs on Spark: partitioned by key and by time, with a local engine in each piece.

A batch run goes through these modules: `job` prepares the program and its `cuts`; `first_look`
surveys the facts; `grid` chooses shards and slices; `exchange` brings the facts to the pieces
(`parquet_files`, `shuffle_payloads`); `piece_step` evaluates a piece; the answers are merged.
`staged_batch` runs a program in stages. `spark_session` is the only module that imports PySpark.
"""
