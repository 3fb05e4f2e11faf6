"""The queue between readers and the reasoner: bounded, in order, and it ends in order."""

import threading

from larspark.feeds.live.inbox import Block, Inbox


def block(text: str) -> Block:
    return Block("here", 1, [text.encode()])


def test_who_brings_more_than_fits_waits_until_something_is_taken():
    inbox = Inbox(lambda: 0, limit=74)
    brought = threading.Semaphore(0)

    def bring() -> None:
        for text in ("a" * 10, "b" * 10, "c" * 10):
            inbox.put(block(text))
            brought.release()
        inbox.end()

    thread = threading.Thread(target=bring)
    thread.start()
    assert brought.acquire(timeout=300)
    # The first block has filled the queue: without a taker the second does not get in.
    assert not brought.acquire(timeout=0.2)
    assert inbox.fill == 1
    taken = []
    over = False
    while not over:
        blocks, _, over = inbox.take(10)
        taken += [found.lines[0][:1] for _, found in blocks]
    thread.join()
    assert taken == [b"a", b"b", b"c"]


def test_empty_lines_fill_the_queue_too():
    inbox = Inbox(lambda: 0, limit=1000)
    inbox.put(Block("here", 1, [b""] * 100))
    assert inbox.fill > 1


def test_what_a_waiting_reader_has_in_hand_still_comes_when_the_run_ends():
    inbox = Inbox(lambda: 0, limit=1)
    inbox.put(block("first"))
    thread = threading.Thread(target=lambda: (inbox.put(block("second")), inbox.end()))
    thread.start()
    inbox.stop()
    thread.join(300)
    blocks, _, over = inbox.take(0)
    assert [found.lines for _, found in blocks] == [[b"first"], [b"second"]]
    assert over


def test_blocks_are_stamped_when_they_enter_and_never_after_the_time_that_take_tells():
    times = iter([3, 4, 4, 7])
    inbox = Inbox(lambda: next(times))
    for text in "abc":
        inbox.put(block(text))
    blocks, now, over = inbox.take(0)
    assert [stamp for stamp, _ in blocks] == [3, 4, 4]
    assert (now, over) == (7, False)
