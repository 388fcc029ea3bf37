"""Projects for Maven."""

from xml.etree import ElementTree as ET

from headgate.testing.maven import project

NAMESPACE = "{http://maven.apache.org/POM/4.0.0}"


def test_a_project_depends_on_what_it_is_told() -> None:
    """Each part of a coordinate has its element; a classifier may be left out."""
    root = ET.fromstring(project(("g:a:1", "g:b:2:tests")))

    found = [
        {part.tag.removeprefix(NAMESPACE): part.text for part in dependency}
        for dependency in root.iter(f"{NAMESPACE}dependency")
    ]
    assert found == [
        {"groupId": "g", "artifactId": "a", "version": "1"},
        {"groupId": "g", "artifactId": "b", "version": "2", "classifier": "tests"},
    ]
