"""Write the sample pack as rows that ms-swift can train on: `python make_rows.py rows.jsonl`."""

import sys
from pathlib import Path

from prorubric import SAMPLE_TASKS, load_tasks
from prorubric.train.ms_swift import save_rows

if __name__ == "__main__":
    save_rows(Path(sys.argv[1]), load_tasks(SAMPLE_TASKS))
