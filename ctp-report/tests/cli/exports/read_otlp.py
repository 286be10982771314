"""Prints what OpenTelemetry's descriptors find in exported spans, as JSON by file name.

Ids are hexadecimal in OTLP, which the parser of other JSON takes for base64. So ids are checked in the
text, and all fields by the parser.
"""

import collections
import json
import re
import sys

from google.protobuf import json_format
from opentelemetry.proto.trace.v1 import trace_pb2 as proto

ERROR = proto.Status.STATUS_CODE_ERROR


def attributes(span):
    """The attributes of a span or link."""
    found = {}
    for attribute in span.attributes:
        value = attribute.value
        found[attribute.key] = getattr(value, value.WhichOneof("value"))
    return found


def place(span):
    """`session.rs:17`, or nothing."""
    at = attributes(span).get("code.location", "").rsplit("/", 1)[-1]
    return at if at.split(":")[-1].isdigit() else ""


def read(path):
    """What an export shows."""
    roots, parents, ids, linked = {}, [], collections.Counter(), set()
    waits, errors = collections.defaultdict(lambda: [0, 0]), []
    for line in open(path, encoding="utf-8"):
        for kind, digits in re.findall(r'"(traceId|[a-zA-Z]*[sS]panId)":"([^"]*)"', line):
            length = 32 if kind == "traceId" else 16
            if not re.fullmatch("[0-9a-f]{%d}" % length, digits) or not digits.strip("0"):
                errors.append(f"{kind} {digits}")
        document = json_format.Parse(line, proto.TracesData())
        for resource in document.resource_spans:
            if not attributes(resource.resource).get("service.name"):
                errors.append("no service")
            for span in resource.scope_spans[0].spans:
                ids[span.trace_id, span.span_id] += 1
                nanos = span.end_time_unix_nano - span.start_time_unix_nano
                for link in span.links:
                    linked.add((link.trace_id, link.span_id))
                if span.parent_span_id:
                    parents.append((span.trace_id, span.parent_span_id))
                    sum = waits[place(span)]
                    sum[0] += 1
                    sum[1] += nanos
                else:
                    roots[span.trace_id, span.span_id] = span
    errors += [f"{count} times {id}" for id, count in ids.items() if count != 1]
    errors += [f"no parent {id}" for id in parents if id not in roots]
    errors += [f"no span {id}" for id in linked if id not in roots]

    def number(span):
        return attributes(span)["coroutine.id"]

    return {
        "coroutines": [number(span) for span in roots.values()],
        "stuck": [number(span) for span in roots.values() if span.status.code == ERROR],
        "waits": waits,
        "links": [number(roots[id]) for id in linked if id in roots],
        "errors": errors[:10],
    }


json.dump({path: read(path) for path in sys.argv[1:]}, sys.stdout)
