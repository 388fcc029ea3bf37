"""Relations between bounds that the code relies on: whoever changes one learns here what else
depends on it."""

from headgate import limits as most
from headgate.pipelines.bounds import PIPELINE_REQUEST_SECONDS_MAX


def test_pages_and_heads_fit_into_rows() -> None:
    """A page with one entry too many, and a head with its roots and changes, are one row each."""
    page = most.PAGE_BYTES_MAX + most.INDEX_KEY_BYTES_MAX + most.INDEX_VALUE_BYTES_MAX
    head = most.ROOTS_BYTES_MAX + most.CHANGES_INLINE_BYTES_MAX

    assert most.PAGE_MERGED_BYTES_MAX > 2 * most.PAGE_MERGE_BELOW_BYTES
    assert page < most.ROW_BYTES_MAX
    assert head < most.ROW_BYTES_MAX < most.BATCH_BYTES_MAX


def test_locations_fit_into_indexes() -> None:
    """A purge job names all locations of its table in one entry, its own and one for each path
    property among them."""
    assert most.LOCATION_BYTES_MAX < most.FILE_LOCATION_BYTES_MAX <= most.INDEX_KEY_BYTES_MAX
    assert 5 * most.LOCATION_BYTES_MAX <= most.RESERVED_BYTES_MAX
    assert most.RESERVED_BYTES_MAX + most.FILE_LOCATION_BYTES_MAX < most.INDEX_VALUE_BYTES_MAX


def test_leases_outlive_two_renewals() -> None:
    """One renewal may fail."""
    assert most.LEASE_MS > 2 * most.LEASE_RENEW_MS
    assert most.CLOCK_STEP_MS_MAX < most.CLOCK_BEHIND_MS_MAX


def test_operations_are_kept_for_whole_buckets() -> None:
    """A bucket ends as a whole."""
    assert most.OPERATION_LIFETIME_MS % most.OPERATION_BUCKET_MS == 0


def test_bodies_have_room_and_time() -> None:
    """A body of every kind fits, and ends before its request does."""
    pages = max(most.REFERENCES_ASKED_BYTES_MAX, most.PORTAGE_PAGE_BYTES)

    assert most.BODY_BYTES_MIN < 2 * most.TOKEN_CHARS_MAX < most.FORM_BYTES_MAX
    assert most.FORM_BYTES_MAX < most.SHORT_BODY_BYTES_MAX < most.BODY_BYTES_MAX
    assert 3 * pages < most.BODY_BYTES_MAX
    assert most.BODY_CREDIT_BYTES / most.BODY_PACE_BYTES_MIN < most.BODY_SECONDS_MAX
    assert most.BODY_SECONDS_MAX < most.REQUEST_SECONDS_MAX


def test_passwords_wait_within_the_limit_of_requests() -> None:
    """Each that waits takes the place of a request."""
    per_address = most.PASSWORDS_PER_ADDRESS_MAX

    assert most.PASSWORDS_PER_USER_AT_ONCE_MAX < per_address < most.PASSWORDS_WAITING_MAX
    assert 2 * most.PASSWORDS_WAITING_MAX < most.REQUESTS_MAX


def test_the_parts_of_a_time_limit_end_before_the_whole() -> None:
    """Work that a request waits for ends before the request, and that before its client gives
    up."""
    looks = most.CONNECTION_LOOK_SECONDS * most.CONNECTION_LOOKS_MAX
    ending = most.FINISH_SECONDS + most.GIVE_UP_SECONDS + most.CLOSE_SECONDS

    assert looks == most.HEADER_SECONDS < most.IDLE_SECONDS
    assert ending < most.STOP_SECONDS
    assert most.ENQUIRY_SECONDS < most.REQUEST_SECONDS_MAX < PIPELINE_REQUEST_SECONDS_MAX
    assert most.SLOW_JOB_SECONDS < most.PLAN_TASK_SECONDS_MAX < most.REQUEST_SECONDS_MAX


def test_the_least_grace_is_ten_times_what_clocks_and_commits_may_be_late() -> None:
    """What a sweep deletes is far older than what any commit may still refer to."""
    late_ms = max(most.CLOCK_BEHIND_MS_MAX, most.COMMIT_AGE_MS_MAX)

    assert 10 * late_ms <= most.SWEEP_GRACE_SECONDS_MIN * 1000
