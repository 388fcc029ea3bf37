"""Questions about files that other catalogs may need: nobody waits long, and no work is lost."""

import asyncio
import gc
from collections.abc import Sequence

import pytest

from headgate.errors import Overloaded, StorageUnavailable
from headgate.kernel.records import PointerKey
from headgate.purge import enquiries as subject
from headgate.purge.enquiries import STALE_MAX, Enquiries
from headgate.purge.referrers import Referrers
from headgate.purge.surveyor import Shared

OWN = PointerKey("r", "cat/1/heads/main")
ANN = "ann"
PATHS = ["/w/a", "/w/b"]
NEEDED = Shared(["/w/b"])
STALE = Shared(is_stale=True)

Found = Shared | StorageUnavailable


class Looks(Referrers):
    """Looks at other catalogs, each of which finds what comes next; the last one stays.

    While `gate` is closed they take as long as that.
    """

    def __init__(self, *found: Found) -> None:
        self._found = list(found)
        self.asked: list[tuple[PointerKey, list[str]]] = []
        self.cancelled = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def elsewhere(
        self, own: PointerKey, paths: Sequence[str], principal: str, *, is_lenient: bool = False
    ) -> Shared:
        self.asked.append((own, list(paths)))
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        found = self._found.pop(0) if len(self._found) > 1 else self._found[0]
        if isinstance(found, StorageUnavailable):
            raise found
        return found


async def in_vain(
    enquiries: Enquiries, monkeypatch: pytest.MonkeyPatch, paths: Sequence[str] = PATHS
) -> None:
    """Ask, and do not wait until it is known."""
    with monkeypatch.context() as hasty:
        hasty.setattr(subject, "ENQUIRY_SECONDS", 0.0)
        assert await enquiries.elsewhere(OWN, paths, ANN) is None


async def settled(enquiries: Enquiries) -> None:
    """Let all that is under way end."""
    async with asyncio.timeout(10):
        while enquiries._under_way:
            await asyncio.sleep(0)


async def test_who_asks_hears_which_files_others_need() -> None:
    """Each time of the catalogs as they are then: answers are not kept."""
    looks = Looks(NEEDED, Shared())
    enquiries = Enquiries(looks)

    assert await enquiries.elsewhere(OWN, PATHS, ANN) == ["/w/b"]
    assert await enquiries.elsewhere(OWN, PATHS, ANN) == []
    assert looks.asked == [(OWN, PATHS), (OWN, PATHS)]


async def test_work_goes_on_when_nobody_waits_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks the same meanwhile waits for it too; other questions are looked into besides."""
    looks = Looks(NEEDED)
    looks.gate.clear()
    enquiries = Enquiries(looks)
    for _ in range(3):
        await in_vain(enquiries, monkeypatch)
    assert looks.asked == [(OWN, PATHS)]

    await in_vain(enquiries, monkeypatch, ["/w/c"])
    looks.gate.set()
    assert await enquiries.elsewhere(OWN, PATHS, ANN) == ["/w/b"]

    assert looks.asked == [(OWN, PATHS), (OWN, ["/w/c"])]
    assert looks.cancelled == 0


async def test_the_same_paths_of_another_catalog_are_another_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What counts for one as elsewhere is the other's own."""
    looks = Looks(NEEDED, Shared())
    looks.gate.clear()
    enquiries = Enquiries(looks)
    await in_vain(enquiries, monkeypatch)
    other = OWN._replace(name="cat/2/heads/main")
    looks.gate.set()

    assert await enquiries.elsewhere(other, PATHS, ANN) == []
    assert looks.asked == [(OWN, PATHS), (other, PATHS)]


async def test_a_caller_who_goes_away_does_not_end_the_work() -> None:
    """A client that hangs up takes nothing along with it."""
    looks = Looks(NEEDED)
    looks.gate.clear()
    enquiries = Enquiries(looks)
    caller = asyncio.create_task(enquiries.elsewhere(OWN, PATHS, ANN))
    while not looks.asked:
        await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    looks.gate.set()

    assert await enquiries.elsewhere(OWN, PATHS, ANN) == ["/w/b"]
    assert (len(looks.asked), looks.cancelled) == (1, 0)


async def test_a_look_that_is_stale_is_repeated() -> None:
    """Tables changed while they were read; what is found at last counts."""
    looks = Looks(*[STALE] * (STALE_MAX - 1), NEEDED)

    assert await Enquiries(looks).elsewhere(OWN, PATHS, ANN) == ["/w/b"]
    assert len(looks.asked) == STALE_MAX


async def test_looks_that_stay_stale_are_given_up() -> None:
    """Nobody is told that files are not needed when that is not known."""
    looks = Looks(STALE)

    with pytest.raises(StorageUnavailable, match=f"changed {STALE_MAX} times"):
        await Enquiries(looks).elsewhere(OWN, PATHS, ANN)
    assert len(looks.asked) == STALE_MAX


async def test_whoever_waits_hears_of_a_failure() -> None:
    """All of them; the next one who asks begins anew."""
    looks = Looks(StorageUnavailable("it is down"), NEEDED)
    looks.gate.clear()
    enquiries = Enquiries(looks)
    waiting = [asyncio.create_task(enquiries.elsewhere(OWN, PATHS, ANN)) for _ in range(2)]
    await asyncio.sleep(0)
    looks.gate.set()

    for one in waiting:
        with pytest.raises(StorageUnavailable, match="it is down"):
            await one
    assert await enquiries.elsewhere(OWN, PATHS, ANN) == ["/w/b"]
    assert len(looks.asked) == 2


async def test_a_failure_that_nobody_waits_for_is_not_logged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever asks again is told if it is still so."""
    complaints: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context["message"]))
    looks = Looks(StorageUnavailable("it is down"))
    looks.gate.clear()
    enquiries = Enquiries(looks)
    await in_vain(enquiries, monkeypatch)
    looks.gate.set()
    await settled(enquiries)
    gc.collect()  # asyncio complains when a task goes whose failure nobody looked at

    assert complaints == []


async def test_more_questions_than_can_be_answered_at_a_time_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also when nobody waits for the others any more; who asks one of these again joins it."""
    monkeypatch.setattr(subject, "ENQUIRIES_MAX", 2)
    looks = Looks(NEEDED)
    looks.gate.clear()
    enquiries = Enquiries(looks)
    for paths in (PATHS, ["/w/c"], PATHS):
        await in_vain(enquiries, monkeypatch, paths)
    with pytest.raises(Overloaded, match="2 are answered at a time"):
        await enquiries.elsewhere(OWN, ["/w/d"], ANN)
    looks.gate.set()
    await settled(enquiries)

    assert await enquiries.elsewhere(OWN, ["/w/d"], ANN) == ["/w/b"]
    assert [paths for _, paths in looks.asked] == [PATHS, ["/w/c"], ["/w/d"]]


async def test_one_principal_leaves_questions_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many it asks at a time; and no other one waits for its questions."""
    monkeypatch.setattr(subject, "ENQUIRIES_PER_PRINCIPAL_MAX", 2)
    looks = Looks(NEEDED)
    looks.gate.clear()
    enquiries = Enquiries(looks)
    for paths in (PATHS, ["/w/c"]):
        await in_vain(enquiries, monkeypatch, paths)
    with pytest.raises(Overloaded, match="2 of one user are answered at a time"):
        await enquiries.elsewhere(OWN, ["/w/d"], ANN)
    looks.gate.set()

    assert await enquiries.elsewhere(OWN, PATHS, "bob") == ["/w/b"]
    assert [paths for _, paths in looks.asked] == [PATHS, ["/w/c"], PATHS]


async def test_nothing_goes_on_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The children that read tables are closed next."""
    looks = Looks(NEEDED)
    looks.gate.clear()
    enquiries = Enquiries(looks)
    for paths in (PATHS, ["/w/c"]):
        await in_vain(enquiries, monkeypatch, paths)
    await enquiries.close()

    assert looks.cancelled == 2
    assert enquiries._under_way == {}
