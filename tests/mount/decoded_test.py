#!/usr/bin/env python3
"""Decoded views: records and the messages in them as JSON, beside their bytes."""
import base64
import hashlib
import json
import math
import os

import mounting

EXPECTATION = ".expect.json"


def is_equal(here, there):
    """Compares two JSON values; floats may differ in their last digits."""
    if isinstance(here, dict) and isinstance(there, dict):
        return here.keys() == there.keys() and all(is_equal(here[key], there[key]) for key in here)
    if isinstance(here, list) and isinstance(there, list):
        return len(here) == len(there) and all(map(is_equal, here, there))
    if isinstance(here, (int, float)) and isinstance(there, (int, float)) and not isinstance(here, bool):
        return math.isclose(here, there, rel_tol=1e-6)
    return type(here) is type(there) and here == there


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def metadata_members(metadata):
    """Returns the members of an event's JSON for its metadata, {key: value}: in base64, or of a large value the checksum."""
    shown, omitted = {}, 0
    for key, value in metadata.items():
        if value.startswith("sha256:"):
            omitted += 1
            continue
        try:
            shown[key] = base64.b64decode(value).decode()
        except UnicodeDecodeError:
            shown[key + "_base64"] = value
    return ({"metadata": shown} if shown else {}) | ({"metadata_omitted": omitted} if omitted else {})


class Decoded(mounting.Case):
    def mount_all(self, folder):
        """Mounts all samples of a format together. Returns (expectation, directory) of each that is a container."""
        expected = {}
        for number, path in enumerate(sorted(mounting.sample(folder).rglob(f"*{EXPECTATION}"))):
            source = self.folder / f"{folder}-{number:04}"
            source.symlink_to(str(path)[:-len(EXPECTATION)])
            if self.recordfs("info", source).returncode == 0:
                expected[source] = json.loads(path.read_text(encoding="utf-8"))
        mounted = self.mount(*expected)
        return [(value, mounted / source.name) for source, value in expected.items()]

    def documents_of(self, top, event):
        """Yields (expected entry, path of its JSON document) for each readable entry of an event."""
        if "bucket_offset" not in event:
            return
        chunk = top / f".views/chunks/{event['bucket_offset']:015}"
        if not chunk.exists():
            return
        ordinal = lines(chunk / "records.jsonl")[event["event_index"]]["ordinal"]
        for entry in event["entries"]:
            path = top / f".views/inside/{ordinal:09}/entries/{entry['id']}"
            try:
                found = hashlib.sha256(path.read_bytes()).hexdigest()
            except OSError:
                continue
            self.assertEqual(found, entry["sha256"], path)
            yield entry, path.with_name(path.name + ".json")

    def test_entries_of_proio_events_are_decoded_by_their_descriptors(self):
        seen = undecoded = 0
        for expected, top in self.mount_all("proio"):
            for event in expected.get("sample", []):
                for entry, document in self.documents_of(top, event):
                    found = json.loads(document.read_text(encoding="utf-8")) if document.exists() else None
                    if "json" in entry:
                        self.assertTrue(is_equal(found, entry["json"]), (expected["file"], document, found, entry["json"]))
                        seen += 1
                    elif found is not None:
                        self.assertIn("fields", found, document)
                        undecoded += 1
        self.assertGreater(seen, 800)
        self.assertGreater(undecoded, 10)

    def test_proio_events_list_their_tags_and_entries(self):
        top = self.mount(mounting.sample("proio/c03-example-none.proio")).point
        for event in mounting.expectation("proio/c03-example-none.proio")["sample"]:
            found = json.loads((top / f"records/{event['ordinal']}.json").read_text(encoding="utf-8"))
            self.assertEqual(found["tags"], event["tags"])
            self.assertEqual([entry["id"] for entry in found["entries"]], [entry["id"] for entry in event["entries"]])
            for here, there in zip(found["entries"], event["entries"]):
                self.assertEqual(here["type"], event["types"][str(there["type"])])
                self.assertTrue(is_equal(here["decoded"], there["json"]), (here, there))

    def test_json_of_proio_events_has_the_metadata_in_effect(self):
        seen = omitted = 0
        for expected, top in self.mount_all("proio"):
            for event in expected.get("sample", []):
                chunk = top / f".views/chunks/{event.get('bucket_offset', 0):015}"
                if "metadata" not in event or not chunk.exists():
                    continue
                line = lines(chunk / "records.jsonl")[event["event_index"]]
                if "decoded" not in line:
                    continue
                document = top / f"records/{line['ordinal']}.json"
                text = document.read_bytes()
                self.assertEqual(document.stat().st_size, len(text))
                self.assertEqual(json.loads(text), line["decoded"])
                members = metadata_members(event["metadata"])
                self.assertEqual({name: value for name, value in line["decoded"].items() if "metadata" in name}, members,
                                 (expected["file"], event["ordinal"]))
                seen += "metadata" in members
                omitted += "metadata_omitted" in members
        self.assertGreater(seen, 50)
        self.assertGreater(omitted, 0)

    def test_record_that_is_not_an_event_has_an_error_document(self):
        top = self.mount(mounting.sample("proio/x46-event-bad-proto.proio")).point
        errors = [found for found in map(lambda name: json.loads((top / f"records/{name}.json").read_text("utf-8")),
                                         os.listdir(top / "records")) if "error" in found]
        self.assertEqual(errors, [{"error": "the event is not a valid Event message"}])


if __name__ == "__main__":
    mounting.main()
