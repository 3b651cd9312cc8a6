"""Files of rows: jsonl, JSON, csv, yaml and parquet, read as a stream and written atomically."""
