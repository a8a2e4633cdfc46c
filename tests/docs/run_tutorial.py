# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a tutorial and compares what they print with what it shows.

In blocks marked ```console a line "$ COMMAND" is a command (a "\\" at its end goes on with
the next line), and what follows is its output, both streams; a line "..." stands for any
lines, "..." within a line for any text. All commands of a tutorial run one after the
other in one empty folder. Blocks with another mark are not run.

Prints "PASS name" or "FAIL name" a command. With --update the outputs in the file are
replaced, but for those that match.
    run_tutorial.py TUTORIAL BIN-FOLDER [--update]
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile


def parse(text):
    """Lines, and for each command: (first line, last line + 1 of its output, command)."""
    lines, commands, inside, i = text.split("\n"), [], False, 0
    while i < len(lines):
        line = lines[i]
        if line.startswith("```"):
            inside = line.strip() == "```console"
        elif inside and line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                i += 1
                command = command[:-1] + lines[i].strip()
            end = i + 1
            while not lines[end].startswith(("```", "$ ")):
                end += 1
            commands.append((i + 1, end, command))
            i = end - 1
        i += 1
    return lines, commands


def matches(want, got):
    """Both lists of lines."""
    pattern = ""
    for line in want:
        if line.strip() == "...":
            pattern += "(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(p) for p in line.split("...")) + "\n"
    return re.fullmatch(pattern, "".join(g + "\n" for g in got)) is not None


def main():
    path, bin_folder = pathlib.Path(sys.argv[1]), os.path.abspath(sys.argv[2])
    update = "--update" in sys.argv
    lines, commands = parse(path.read_text())
    assert commands, "no commands"
    environment = {**os.environ, "PATH": bin_folder + ":" + os.environ["PATH"],
                   "LC_ALL": "C.UTF-8"}
    failed, changes = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for number, (first, end, command) in enumerate(commands, 1):
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            got = done.stdout.decode("utf-8", "replace").splitlines()
            want = [line.rstrip() for line in lines[first:end]]
            ok = matches(want, [line.rstrip() for line in got])
            name = f"{path.stem}.{number}-{command.split()[0]}"
            if not ok and update:
                changes.append((first, end, got))
            elif not ok:
                print(f"$ {command}\n--- got\n" + "\n".join(got) + "\n--- want\n" +
                      "\n".join(want))
                failed += 1
            print(f"{'PASS' if ok or update else 'FAIL'} docs.{name}")
    for first, end, got in reversed(changes):
        lines[first:end] = got
    if changes:
        path.write_text("\n".join(lines))
    sys.exit(failed > 0)


main()
