"""Helpers of the scripts: the pinned packages, the program, and tables."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CACHE = ROOT / "target" / "rivals"


def enter_environment(name: str = ".venv", requirements: str = "requirements.txt") -> None:
    """Start this script again with the packages that a file names, and install them if they are missing."""
    environment = CACHE / name
    if Path(sys.prefix).resolve() == environment.resolve():
        return
    python = environment / "bin" / "python"
    stamp = environment / "installed.txt"
    wanted = (HERE / requirements).read_text()
    if not python.exists():
        print(f"making {environment}", file=sys.stderr)
        venv.create(environment, with_pip=True)
    if not stamp.exists() or stamp.read_text() != wanted:
        install = [str(python), "-m", "pip", "install", "--quiet", "-r", str(HERE / requirements)]
        subprocess.run(install, check=True)
        stamp.write_text(wanted)
    sys.stdout.flush()
    os.execv(python, [str(python), "-B", *sys.argv])


def program(name: str, given: str | None) -> str:
    """The path of one of our programs: the one given, or that of the release build."""
    path = Path(given) if given else ROOT / "target" / "release" / name
    if not path.exists():
        sys.exit(f"{path} does not exist: cargo build --release, or say where it is")
    return str(path)


def rueful_path(given: str | None) -> str:
    """The path of rueful itself."""
    return program("rueful", given)


def ask(command: list[str]) -> dict:
    """The JSON object that a command prints. If it prints none, its error output is shown."""
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.strip():
        sys.exit(f"{' '.join(command)}\nprinted nothing and said: {done.stderr.strip()}")
    return json.loads(done.stdout)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, with its first column aligned to the left and the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    rule = ["-" * widths[0]] + ["-" * (w - 1) + ":" for w in widths[1:]]

    def line(row: list[str]) -> str:
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        return "| " + " | ".join(cells) + " |"

    return "\n".join([line(header), line(rule), *map(line, rows)])
