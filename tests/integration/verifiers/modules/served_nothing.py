"""What `hone verifier serve` says where it serves nothing: `python served_nothing.py FOLDER OPTIONS`."""

import json
import os
import sys

from typer.testing import CliRunner

from hone.cli.main import app

os.chdir(sys.argv[1])
os.environ["COLUMNS"] = "500"
found = [CliRunner().invoke(app, ["verifier", "serve", *options]) for options in json.loads(sys.argv[2])]
print(json.dumps([[one.exit_code, " ".join(one.output.replace("│", " ").split())] for one in found]))
