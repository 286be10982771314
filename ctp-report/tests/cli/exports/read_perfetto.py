"""Prints what Perfetto's descriptors find in exported traces, as JSON by file name."""

import collections
import gzip
import json
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto


def read(path):
    """What an exported trace shows."""
    trace = proto.Trace()
    trace.ParseFromString(gzip.open(path).read())
    event_type = proto.TrackEvent
    errors = []
    names, categories, detail_names, values = {}, {}, {}, {}
    tracks, ranks, explicit = {}, {}, set()
    events = []

    for number, packet in enumerate(trace.packet):
        interned = packet.interned_data
        for table, entries in (
            (categories, interned.event_categories),
            (names, interned.event_names),
            (detail_names, interned.debug_annotation_names),
            (values, interned.debug_annotation_string_values),
        ):
            for entry in entries:
                text = entry.str.decode() if hasattr(entry, "str") else entry.name
                table[entry.iid] = text
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            tracks[track.uuid] = track
            if track.child_ordering == proto.TrackDescriptor.EXPLICIT:
                explicit.add(track.uuid)
        elif packet.HasField("track_event"):
            if packet.track_event.track_uuid not in tracks:
                errors.append(f"no track {packet.track_event.track_uuid}")
            events.append((packet.timestamp, number, packet.track_event))


    def coroutine(uuid):
        """The number of a coroutine from the name of its track, or None for a thread."""
        words = tracks[uuid].name.split(" ")
        return int(words[1]) if words[0] == "id" else None


    def details(event):
        """The fields of an event, with the texts that they refer to."""
        found = {}
        for detail in event.debug_annotations:
            kind = detail.WhichOneof("value")
            value = getattr(detail, kind)
            value = values[value] if kind == "string_value_iid" else value
            found[detail_names[detail.name_iid]] = value
        return found


    def place(event):
        """`session.rs:17`, or nothing."""
        at = details(event).get("at", "").rsplit("/", 1)[-1]
        line = at.split(":")[-1]
        return at if line.isdigit() else ""


    waits = collections.defaultdict(lambda: [0, 0])
    runs, stuck, arrows = [0, 0], set(), {}
    open_slices = collections.defaultdict(list)
    for at, _, event in sorted(events, key=lambda event: event[:2]):
        uuid = event.track_uuid
        if event.type == event_type.TYPE_SLICE_END:
            if not open_slices[uuid]:
                errors.append(f"an end without a begin on {uuid}")
                continue
            begin, from_ = open_slices[uuid].pop()
            if coroutine(uuid) is None:
                continue
            category = categories[begin.category_iids[0]]
            kind = {"wait": waits[place(begin)], "run": runs}.get(category, [0, 0])
            kind[0] += 1
            kind[1] += at - from_
            continue
        category, name = categories[event.category_iids[0]], names[event.name_iid]
        if event.type == event_type.TYPE_SLICE_BEGIN:
            open_slices[uuid].append((event, at))
            if category == "stuck" and not name.startswith("BUSY"):
                stuck.add(coroutine(uuid))
            for flow in event.terminating_flow_ids:
                arrows[flow] += [at, coroutine(uuid)]
        elif category == "wake":
            arrows[event.flow_ids[0]] = [tracks[uuid].thread.tid, at]

    order = [uuid for uuid in tracks if tracks[uuid].name.startswith("id ")]
    for uuid in order:
        if tracks[uuid].parent_uuid not in explicit:
            errors.append(f"track {uuid} is not in an ordered group")
    order.sort(key=lambda uuid: tracks[uuid].sibling_order_rank)
    return {
        "coroutines": [coroutine(uuid) for uuid in order],
        "stuck": sorted(stuck),
        "waits": {place: sum for place, sum in waits.items() if sum[0]},
        "runs": runs,
        "arrows": [arrow for arrow in arrows.values() if len(arrow) == 4],
        "errors": errors[:10],
    }


json.dump({path: read(path) for path in sys.argv[1:]}, sys.stdout)
