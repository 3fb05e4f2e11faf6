"""Which commit a run goes on from whose output is seen by others when it is committed."""

from larspark.feeds.live import LINES, DurableSink
from larspark.run.commits import Commit, Commits
from larspark.show.terminal import say


def decided_commit(commits: Commits, newest: Commit | None, sink: DurableSink) -> Commit | None:
    """The commit that counts: the last one whose lines others see, too."""
    number = sink.decided(say)
    if newest is None:
        return None
    there = sink.published(newest.lengths, say)
    if there is None:
        found = _by_number(commits, newest, number)
    else:
        found = _by_lines(commits, newest, max(there, default=0))
    if found is not None:
        sink.resume(found.lengths, there or frozenset())
    return found


def _by_lines(commits: Commits, newest: Commit, lines: int) -> Commit:
    """The last commit that has no more lines than are published."""
    found: Commit | None = newest
    while found is not None and found.lengths.get(LINES, 0) > lines:
        newest, found = found, commits.newest(at_most=found.number - 1)
    if found is None:
        missing = newest.lengths[LINES] - lines
        say(f"the broker has lost {missing:,} of the lines before the last commit")
    return found or newest


def _by_number(commits: Commits, newest: Commit, number: int | None) -> Commit | None:
    """The commit whose number the sink has, where its lines are gone."""
    if number is None:
        # The first commit has no lines, and may have been interrupted itself.
        first = commits.newest(at_most=1)
        if first is None:
            say("the broker has lost the last commit: lines may be written again")
        return first or newest
    found = newest if newest.number <= number else commits.newest(at_most=number)
    if found is None or found.number < number:
        say(f"commit {number} is missing: its lines are written again")
    return found
