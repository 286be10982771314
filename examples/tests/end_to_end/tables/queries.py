"""Runs the queries of a page on a dataset with DuckDB, and on an SQLite database.

usage: queries.py PAGE DATASET DATABASE
Prints a JSON list: of each query its title, the header of the documented output, and for each engine the
columns and rows. With CTP_BLESS, writes the output of DuckDB into the page.
"""
import json
import os
import re
import sqlite3
import sys

try:
    import duckdb
except ImportError:
    sys.exit("SKIPPED: no Python package duckdb")

QUERY = re.compile(r"(### (?P<title>[^\n]*)\n\n(?P<note>DuckDB only[^\n]*\n\n)?```sql\n(?P<sql>[^`]*;)\n```\n\n```\n)(?P<output>[^`]*)(```)")
VIEW = re.compile(r"CREATE VIEW [^;]*;")
# The descriptor of the page. In another recording, coroutines may wait for other descriptors.
DESCRIPTOR = re.compile(r"resource = \d+")
OPEN = "SELECT min(resource) FROM waits WHERE outcome = 'open' AND resource_kind = 'readable'"


def shown(columns, rows):
    cells = [columns] + [["" if value is None else str(value) for value in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(columns))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]
    return "\n".join(lines) + "\n"


def run(engine, sql):
    found = engine.execute(sql)
    columns, rows = [column[0] for column in found.description], found.fetchall()
    if not rows and DESCRIPTOR.search(sql):
        other = engine.execute(OPEN).fetchone()[0]
        return run(engine, DESCRIPTOR.sub(f"resource = {other}", sql))
    return columns, [list(row) for row in rows]


def main(page, dataset, database):
    text = open(page).read()
    duck, lite = duckdb.connect(), sqlite3.connect(database)
    for view in VIEW.findall(text):
        duck.execute(view.replace("'traces/", f"'{dataset}/"))
    results = []
    for query in QUERY.finditer(text):
        sql = query["sql"]
        header = query["output"].split("\n")[0].split()
        result = {"title": query["title"], "header": header, "duckdb": run(duck, sql)}
        if not query["note"]:
            result["sqlite"] = run(lite, sql)
        results.append(result)
        if "CTP_BLESS" in os.environ:
            text = text.replace(query[0], query[1] + shown(*result["duckdb"]) + "```")
    if "CTP_BLESS" in os.environ:
        open(page, "w").write(text)
    print(json.dumps(results))


main(*sys.argv[1:])
